"""OpenDP: eight questions of an office by its Context over Polars frames, with Laplace noise.

OpenDP finds no limit privately. It keeps the first ten medicines of a person, since a random choice
ends with an error of Polars; nobody has more. Its noisy top k is a measurement without a Context.
It takes half of ε, and the counts of the selected items take the other half. Running totals come
from its tree of ten branches, made consistent. It takes no logarithms.

A query is resolved once, since its search for a scale tries about a thousand measurements in 2 to
4 s of a processor. Each release is by a new compositor, with fresh noise.
"""

import sys
from itertools import accumulate
from pathlib import Path

import opendp.prelude as dp
import polars as pl
from opendp import measurements

dp.enable_features("contrib")
folder = Path(sys.argv[1]).parent
one_person = dp.unit_of(contributions=1, identifier=pl.col("person"))
regions, sexes = pl.DataFrame({"region": range(1, 21)}), pl.DataFrame({"sex": ["f", "m"]})
cells = regions.join(sexes, how="cross")
medicines = pl.DataFrame({"medicine": range(400)})
grid = [10.0 * k for k in range(101)]


def open_context(table, loss=None, unit=one_person, parts=1):
    return dp.Context.compositor(
        data=pl.read_parquet(folder / f"{table}.parquet").lazy(),
        privacy_unit=unit,
        privacy_loss=loss or dp.loss_of(epsilon=1.0),
        split_evenly_over=parts,
        margins=[dp.polars.Margin(max_length=1_000_000)],
    )


def count(query, keys, expected):
    return query.group_by(keys).agg(dp.len(signed=True)).with_keys(expected)


def persons(query):
    return count(query.truncate_per_group(1), ["region", "sex"], cells)


def taken(query):
    few = query.truncate_num_groups(10, by=["medicine"], keep="first")
    return count(few.truncate_per_group(1, by=["medicine"]), ["medicine"], medicines)


def again(query):
    visits = query.group_by("person").agg(pl.col("emergency").sum().alias("n"))
    return visits.filter(pl.col("n") >= 2).select(dp.len(signed=True))


def medians(query):
    chosen = pl.col("cost").fill_nan(0.0).fill_null(0.0).dp.median(candidates=grid)
    return query.group_by("code").agg(dp.len(signed=True), chosen)


def hours(query):
    seen = query.with_columns(hour=pl.col("seen").dt.hour().cast(pl.Int64))
    return count(seen, ["hour"], pl.DataFrame({"hour": range(24)}))


def rho(query):
    return count(query, ["region", "sex"], cells)


one_row = dp.unit_of(contributions=1)
approximate = dp.loss_of(epsilon=1.0, delta=1e-6)
questions = {
    "persons": (persons, {"table": "medicines", "parts": 2}),
    "medicines": (taken, {"table": "medicines", "parts": 2}),
    "again": (again, {"table": "visits"}),
    "medians": (medians, {"table": "costs", "loss": approximate, "unit": one_row}),
    "hours": (hours, {"table": "costs", "unit": one_row}),
    "rho": (rho, {"table": "persons", "loss": dp.loss_of(rho=0.1), "unit": one_row}),
}
resolved = {}


def release(name):
    ask, context_of = questions[name]
    context = open_context(**context_of)
    if name not in resolved:
        resolved[name] = ask(context.query()).resolve()
    table = context(resolved[name]).collect()
    keys = [key for key in ("region", "sex", "medicine", "code", "hour") if key in table.columns]
    values = table["cost" if "cost" in table.columns else "len"].to_list()
    names = [" ".join(map(str, row)) for row in table.select(keys).rows()] if keys else ["n"]
    return dict(zip(names, values, strict=True))


sizes = pl.read_parquet(folder / "items.parquet").group_by("item").len()
scores = dict(sizes.rows())
top_ten = measurements.make_noisy_top_k(
    dp.vector_domain(dp.atom_domain(T=int)),
    dp.linf_distance(T=int, monotonic=True),
    dp.max_divergence(),
    k=10,
    scale=20.0,
)
assert top_ten.map(1) < 0.5 + 1e-9


def top():
    return dict.fromkeys(map(str, top_ten([scores.get(item, 0) for item in range(2_000)])), 1)


days = pl.read_parquet(folder / "visits.parquet")["day"].cast(pl.Int32).to_list()
space = dp.vector_domain(dp.atom_domain(T="i32")), dp.symmetric_distance()
counts = dp.t.make_count_by_categories(*space, categories=list(range(365)), null_category=False)
tree = counts >> dp.t.then_b_ary_tree(leaf_count=365, branching_factor=10)
noisy_tree = dp.binary_search_chain(lambda scale: tree >> dp.m.then_laplace(scale), 12, 1.0)
consistent = dp.t.make_consistent_b_ary_tree(branching_factor=10)


def running():
    totals = accumulate(consistent(noisy_tree(days))[:365])
    return {str(day): total for day, total in enumerate(totals)}


# What follows is the benchmark's own.

from benchmarks.side_by_side.report import report_answers

without_context = {"top": top, "running": running}
report_answers(
    "opendp",
    [*questions, *without_context],
    lambda item: without_context[item]() if item in without_context else release(item),
    runs=int(sys.argv[2]),
)
