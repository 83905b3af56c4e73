"""PipelineDP: six questions of an office, by its engine on the local backend, with Laplace noise.

Persons and medicines are two aggregations, which share ε evenly. The limit on months takes a tenth
of ε. PipelineDP has no values computed over a person's rows, no top ten, no running totals, and no
budget in ρ. Its extractors of groups and values are functions, which take hours and logarithms.
"""

import math
import sys
from itertools import product
from pathlib import Path

import pandas as pd
import pipeline_dp as pdp

folder = Path(sys.argv[1]).parent
backend = pdp.LocalBackend()
tables = {
    name: list(pd.read_parquet(folder / f"{name}.parquet").itertuples(index=False))
    for name in ("medicines", "visits", "costs")
}
cells, medicines, months = [*product(range(1, 21), "fm")], [*range(400)], [*range(1, 13)]


def extract(group, value=None):
    return pdp.DataExtractors(
        privacy_id_extractor=lambda row: row.person,
        partition_extractor=group,
        value_extractor=value or (lambda _: 0),
    )


def aggregate(table, group, *, metric, groups=None, most, epsilon, delta=0.0, count=1, **given):
    accountant = pdp.NaiveBudgetAccountant(
        total_epsilon=epsilon, total_delta=delta, num_aggregations=count
    )
    engine = pdp.DPEngine(accountant, backend)
    params = pdp.AggregateParams(
        metrics=[metric],
        noise_kind=pdp.NoiseKind.LAPLACE,
        max_partitions_contributed=most,
        max_contributions_per_partition=1,
        **{name: bound for name, bound in given.items() if name != "value"},
    )
    extractors = extract(group, given.get("value"))
    result = engine.aggregate(tables[table], params, extractors, public_partitions=groups)
    accountant.compute_budgets()
    return [(key, numbers[0]) for key, numbers in result]


persons_of = pdp.Metrics.PRIVACY_ID_COUNT


def persons():
    counts = aggregate(
        "medicines",
        lambda row: (row.region, row.sex),
        metric=persons_of,
        groups=cells,
        most=1,
        epsilon=0.5,
    )
    return {f"{region} {sex}": value for (region, sex), value in counts}


def taken():
    counts = aggregate(
        "medicines",
        lambda row: row.medicine,
        metric=persons_of,
        groups=medicines,
        most=10,
        epsilon=0.5,
    )
    return {str(medicine): value for medicine, value in counts}


def visited():
    engine = pdp.DPEngine(pdp.NaiveBudgetAccountant(total_epsilon=1, total_delta=0), backend)
    params = pdp.CalculatePrivateContributionBoundsParams(
        aggregation_noise_kind=pdp.NoiseKind.LAPLACE,
        aggregation_eps=0.9,
        aggregation_delta=0,
        calculation_eps=0.1,
        max_partitions_contributed_upper_bound=12,
    )
    month = extract(lambda row: row.month)
    (limits,) = engine.calculate_private_contribution_bounds(
        tables["visits"], params, month, months
    )
    counts = aggregate(
        "visits",
        lambda row: row.month,
        metric=persons_of,
        groups=months,
        most=limits.max_partitions_contributed,
        epsilon=0.9,
    )
    return {str(month): value for month, value in counts}


def medians():
    counts = aggregate(
        "costs",
        lambda row: row.code,
        metric=pdp.Metrics.PERCENTILE(50),
        most=1,
        epsilon=1,
        delta=1e-6,
        min_value=0,
        max_value=1_000,
        value=lambda row: row.cost,
    )
    return dict(counts)


def logs():
    ((_, mean),) = aggregate(
        "costs",
        lambda _: "all",
        metric=pdp.Metrics.MEAN,
        groups=["all"],
        most=1,
        epsilon=1,
        min_value=0,
        max_value=7,
        value=lambda row: math.log(row.cost),
    )
    return {"mean": math.exp(mean)}


def hours():
    counts = aggregate(
        "costs",
        lambda row: row.seen.hour,
        metric=persons_of,
        groups=[*range(24)],
        most=1,
        epsilon=1,
    )
    return {str(hour): value for hour, value in counts}


questions = {
    "persons": persons,
    "medicines": taken,
    "months": visited,
    "medians": medians,
    "logs": logs,
    "hours": hours,
}

# What follows is the benchmark's own.

from benchmarks.side_by_side.report import report_answers


def answers(question):
    return {key: float(value) for key, value in questions[question]().items()}


report_answers("pipeline-dp", questions, answers, runs=int(sys.argv[2]))
