"""OpenDP: sixteen everyday questions by its Context over Polars frames, with Laplace noise.

Quotients are computed from sums and counts that OpenDP releases. Their shares follow its
documentation: the sum of a mean has two thirds, and the three numbers of a standard deviation have
a third each. Unlisted postcodes have OpenDP's threshold plus one: opendp/opendp, issue 2922. Totals
are sums of a contingency table of the cells, which has less noise than one of all tables;
cumulative counts come from its tree of ten branches, made consistent; a level has a third of ε.

A query is resolved once, since its search for a scale tries about a thousand measurements in 2 to
4 s of a processor. Each release calls the measurement again, with fresh noise. Totals take
12 s a release, so that there are fewer releases of them.
"""

import itertools
import math
import sys
from functools import cache
from pathlib import Path

import numpy as np
import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")
file = Path(sys.argv[1])
persons = pl.scan_parquet(file)
visits = pl.scan_parquet(file.with_name("visits.parquet"))
regions = pl.DataFrame({"region": [f"R{index:02d}" for index in range(1, 21)]})
sexes = pl.DataFrame({"sex": ["f", "m"]})
months = pl.DataFrame({"month": list(range(1, 13))})
labels = [str(band) for band in range(6)]
conditions = ["retired", "low", "smokes"]
cells = pl.DataFrame({conditions[0]: [False, True]})
for name in conditions[1:]:
    cells = cells.join(pl.DataFrame({name: [False, True]}), how="cross")
middle, grid = 75_000.0, [10.0 * k for k in range(15_001)]
income = pl.col("income")


def ask(data, unit=None):
    context = dp.Context.compositor(
        data=data,
        privacy_unit=unit or dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=1_000_000)],
    )
    return context.query()


resolved = {}


def release(name, query, data=persons):
    if name not in resolved:
        resolved[name] = query.resolve()
    return resolved[name](data).collect()


def by_key(table, keys, value):
    names = [" ".join(map(str, row)) for row in table.select(keys).rows()]
    return dict(zip(names, table[value].to_list(), strict=True))


def count(name, query, keys, expected, *, data=persons):
    counted = query.group_by(keys).agg(dp.len(signed=True)).with_keys(expected)
    return by_key(release(name, counted, data), keys, "len")


def means():
    stored = ask(persons).filter(income.is_not_null()).with_columns(above=income - middle)
    table = release(
        "means",
        stored.group_by("region")
        .agg(
            pl.col("above").fill_null(0.0).fill_nan(0.0).dp.sum((-middle, middle), scale=middle),
            dp.len(signed=True, scale=2.0),  # the scales are relative to each other
        )
        .with_keys(regions),
    )
    return by_key(
        table.with_columns(mean=middle + pl.col("above") / pl.col("len")), ["region"], "mean"
    )


def rates():
    table = release(
        "rates",
        ask(persons)
        .group_by("region")
        .agg(pl.col("smoker").dp.sum((0, 1)), dp.len(signed=True))
        .with_keys(regions),
    )
    return by_key(
        table.with_columns(rate=1_000 * pl.col("smoker") / pl.col("len")), ["region"], "rate"
    )


def medians():
    chosen = income.fill_nan(0.0).fill_null(0.0).dp.median(candidates=grid)
    kept = ask(persons).filter(income.is_not_null())
    table = release("medians", kept.group_by("region").agg(chosen).with_keys(regions))
    return by_key(table, ["region"], "income")


def deciles():
    kept = ask(persons).filter(income.is_not_null())
    values = income.fill_nan(0.0).fill_null(0.0)
    tenths = [values.dp.quantile(k / 10, candidates=grid).alias(str(k)) for k in range(1, 10)]
    return release("deciles", kept.select(tenths)).row(0, named=True)


def spread():
    above = (income - middle).clip(-middle, middle)
    kept = ask(persons).filter(income.is_not_null())
    kept = kept.with_columns(above=above, squared=above * above - middle**2 / 2)
    sums = [
        pl.col("above").fill_null(0.0).fill_nan(0.0).dp.sum((-middle, middle)),
        pl.col("squared").fill_null(0.0).fill_nan(0.0).dp.sum((-(middle**2) / 2, middle**2 / 2)),
    ]
    above, squared, n = release("spread", kept.select([*sums, dp.len(signed=True)])).row(0)
    return {"std": math.sqrt((squared + n * middle**2 / 2 - above**2 / n) / (n - 1))}


def postcodes():
    space = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    counts = dp.t.make_count_by(*space)

    def at(threshold):
        return counts >> dp.m.then_laplace_threshold(scale=1.0, threshold=threshold)

    least = next(index for index in range(1, 100) if at(index).map(1)[1] <= 1e-6)
    return at(least + 1)(persons.collect()["postcode"].to_list())


def adults():
    return count("adults", ask(persons).filter(pl.col("age") >= 18), ["region"], regions)


def ages():
    band = pl.col("age").cut([18, 30, 45, 60, 75], left_closed=True, labels=labels)
    query = ask(persons).with_columns(band=band.cast(pl.String))
    return count("ages", query, ["band"], pl.DataFrame({"band": labels}))


def overlapping():
    query = ask(persons).with_columns(
        retired=pl.col("age") >= 65, low=income < 20_000, smokes=pl.col("smoker") == 1
    )
    table = release(
        "conditions",
        query.with_columns(low=pl.col("low").fill_null(value=False))
        .group_by(conditions)
        .agg(dp.len(signed=True))
        .with_keys(cells),
    )
    stored = {name: table.filter(pl.col(name))["len"].sum() for name in conditions}
    return {"retired": stored["retired"], "low": stored["low"], "smoker": stored["smokes"]}


one_person = dp.unit_of(contributions=1, identifier=pl.col("person"))


def visits_by_month():
    query = ask(visits, one_person).truncate_per_group(20)
    return count("months", query, ["month"], months, data=visits)


def patients():
    query = ask(visits, one_person).filter(pl.col("emergency") == 1).truncate_per_group(1)
    return {"n": release("patients", query.select(dp.len(signed=True)), visits)["len"][0]}


def margins():
    keys = {"region": regions["region"].to_list(), "sex": ["f", "m"], "age": list(range(10))}
    ages = pl.col("age").floordiv(10).clip(upper_bound=9)
    cells = dp.mbi.Fixed(queries=[dp.mbi.Count(by=tuple(keys), weight=1.0)])
    asked = ask(persons.select("region", "sex", age=ages))
    table = asked.contingency_table(keys=keys, algorithm=cells).release()
    results = {}
    for by in (by for size in range(4) for by in itertools.combinations(keys, size)):
        counts = table.project(by) if by else table.project(("sex",)).sum()
        used = np.asarray(counts)[tuple(slice(len(keys[name])) for name in by)]
        rows = itertools.product(*(keys[name] for name in by))
        for key, value in zip(rows, used.ravel(), strict=True):
            results[f"{' '.join(by)}|{' '.join(map(str, key))}"] = float(value)
    return results


def cumulative():
    below = persons.filter(income <= 150_000).select((income // 150).clip(upper_bound=999))
    bins = below.collect()["income"].cast(pl.Int32).to_list()
    space = dp.vector_domain(dp.atom_domain(T="i32")), dp.symmetric_distance()
    tree = dp.t.make_count_by_categories(*space, categories=list(range(1_000)), null_category=False)
    tree = tree >> dp.t.then_b_ary_tree(leaf_count=1_000, branching_factor=10)
    if "cumulative" not in resolved:
        resolved["cumulative"] = dp.binary_search_chain(
            lambda scale: tree >> dp.m.then_laplace(scale), 1, 1.0
        )
    noisy = resolved["cumulative"](bins)
    leaves = dp.t.make_consistent_b_ary_tree(branching_factor=10)(noisy)[:1_000]
    return {str(k): value for k, value in enumerate(np.cumsum(leaves))}


def levels():
    named = persons.with_columns(state=pl.col("county") // 60)
    context = dp.Context.compositor(
        data=named,
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=3,
        margins=[dp.polars.Margin(max_length=1_000_000)],
    )
    sizes = {"county": 3_000, "state": 50}
    total = release("nation", context.query().select(dp.len(signed=True)), named)
    results = {"nation|all": total["len"][0]}
    for by, size in sizes.items():
        counts = count(by, context.query(), [by], pl.DataFrame({by: list(range(size))}), data=named)
        results |= {f"{by}|{key}": value for key, value in counts.items()}
    return results


kinds = ["none", "part", "full"]


def each_week(scale):
    space = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    counts = dp.t.make_count_by_categories(
        *space, categories=kinds, null_category=False, MO=dp.L2Distance["i32"]
    )
    return counts >> dp.m.then_gaussian(scale)


@cache
def week():
    def spent(scale):
        year = dp.c.make_composition([each_week(scale)] * 52)
        return dp.c.make_zCDP_to_approxDP(year).map(1).epsilon(1e-6) <= 1.0

    return each_week(dp.binary_search(spent, bounds=(1.0, 200.0)))


def weeks():
    return dict(zip(kinds, week()(persons.collect()["work"].to_list()), strict=True))


questions = {
    "cells": lambda: count(
        "cells", ask(persons), ["region", "sex"], regions.join(sexes, how="cross")
    ),
    "means": means,
    "medians": medians,
    "deciles": deciles,
    "spread": spread,
    "rates": rates,
    "postcodes": postcodes,
    "adults": adults,
    "ages": ages,
    "conditions": overlapping,
    "months": visits_by_month,
    "patients": patients,
    "margins": margins,
    "cumulative": cumulative,
    "levels": levels,
    "weeks": weeks,
}

# What follows is the benchmark's own.

from benchmarks.side_by_side.report import report_answers

report_answers(
    "opendp",
    questions,
    lambda item: questions[item](),
    runs=int(sys.argv[2]),
    fewer={"margins": 4},
)
