"""PipelineDP: its engine on its local backend, with Laplace noise.

Gaussian noise would be more than three times as large at this δ. The conditions are sums of
disjoint cells: that is less noise than three counts that share the budget. A mean splits its share
evenly between sum and count, which the user can't change.
"""

import csv
import sys
from itertools import product

import pipeline_dp as pdp
from pipeline_dp.report_generator import ExplainComputationReport

with open(sys.argv[1], newline="") as file:
    census = [
        (
            row["person"],
            int(row["region"]),
            row["sex"],
            int(row["age"]),
            float(row["income"]),
            row["tenure"],
        )
        for row in csv.DictReader(file)
    ]
regions, edges = range(1, 21), [18, 30, 45, 60, 75]
accountant = pdp.NaiveBudgetAccountant(total_epsilon=1, total_delta=0, num_aggregations=4)
engine = pdp.DPEngine(accountant, pdp.LocalBackend())


def aggregate(group, groups, metric, **bounds):
    explanation = ExplainComputationReport()
    result = engine.aggregate(
        census,
        pdp.AggregateParams(
            metrics=[metric],
            noise_kind=pdp.NoiseKind.LAPLACE,
            max_partitions_contributed=1,
            max_contributions_per_partition=1,
            **bounds,
        ),
        pdp.DataExtractors(
            privacy_id_extractor=lambda row: row[0],
            partition_extractor=group,
            value_extractor=lambda row: row[4],
        ),
        public_partitions=list(groups),
        out_explain_computation_report=explanation,
    )
    return result, explanation


count, mean = pdp.Metrics.COUNT, pdp.Metrics.MEAN
people, people_report = aggregate(lambda row: row[1:3], product(regions, "fm"), count)
income, income_report = aggregate(lambda row: row[1], regions, mean, min_value=0, max_value=150_000)
age, age_report = aggregate(lambda row: max(edge for edge in edges if edge <= row[3]), edges, count)
cells, cells_report = aggregate(
    lambda row: (row[3] >= 65, row[4] < 20_000, row[5] == "rent"),
    product([False, True], repeat=3),
    count,
)
accountant.compute_budgets()
people, income, age, cells = dict(people), dict(income), dict(age), dict(cells)
held = [sum(result.count for cell, result in cells.items() if cell[i]) for i in range(3)]

# What follows is the benchmark's own: it isn't counted as code of this release.

import re

from benchmarks.side_by_side.report import Stds, report, seconds_since_start

seconds = seconds_since_start()


def stds(explanation) -> list[float]:
    text = explanation.text()
    return [
        2**0.5 * float(scale) for scale in re.findall(r"Laplace mechanism: +parameter=(\S+)", text)
    ]


size_std, total_std = stds(income_report)
report(
    package="pipeline-dp",
    delta="0",
    one_row="enforced",
    seconds=seconds,
    stds=Stds(
        count=stds(people_report)[0],
        total=total_std,
        size=size_std,
        band=stds(age_report)[0],
        condition=2 * stds(cells_report)[0],  # of four cells
    ),
)
