"""OpenDP: six questions of an office by its Context over Polars frames, with Laplace noise.

OpenDP finds no limit privately. It keeps the first ten medicines of a person, since a random choice
ends with an error of Polars; nobody has more. Its noisy top k is a measurement without a Context.
It takes half of ε, and the counts of the selected items take the other half.
"""

import sys
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


def ask(table, loss=None, unit=one_person, parts=1):
    return dp.Context.compositor(
        data=pl.read_parquet(folder / f"{table}.parquet").lazy(),
        privacy_unit=unit,
        privacy_loss=loss or dp.loss_of(epsilon=1.0),
        split_evenly_over=parts,
        margins=[dp.polars.Margin(max_length=1_000_000)],
    )


def by_key(table, keys, value):
    names = [" ".join(map(str, row)) for row in table.select(keys).rows()]
    return dict(zip(names, table[value].to_list(), strict=True))


def count(query, keys, expected):
    counts = query.group_by(keys).agg(dp.len(signed=True)).with_keys(expected)
    return by_key(counts.release().collect(), keys, "len")


def persons():
    return count(ask("medicines", parts=2).query().truncate_per_group(1), ["region", "sex"], cells)


def taken():
    query = ask("medicines", parts=2).query().truncate_num_groups(10, by=["medicine"], keep="first")
    return count(query.truncate_per_group(1, by=["medicine"]), ["medicine"], medicines)


def again():
    query = ask("visits").query().group_by("person").agg(pl.col("emergency").sum().alias("n"))
    table = query.filter(pl.col("n") >= 2).select(dp.len(signed=True)).release().collect()
    return {"n": table["len"][0]}


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


def medians():
    unit, loss = dp.unit_of(contributions=1), dp.loss_of(epsilon=1.0, delta=1e-6)
    chosen = pl.col("cost").fill_nan(0.0).fill_null(0.0).dp.median(candidates=grid)
    query = ask("costs", loss=loss, unit=unit).query().group_by("code")
    return by_key(query.agg(dp.len(signed=True), chosen).release().collect(), ["code"], "cost")


def rho():
    query = ask("persons", loss=dp.loss_of(rho=0.1), unit=dp.unit_of(contributions=1)).query()
    return count(query, ["region", "sex"], cells)


questions = {
    "persons": persons,
    "medicines": taken,
    "again": again,
    "top": top,
    "medians": medians,
    "rho": rho,
}

# What follows is the benchmark's own.

from benchmarks.side_by_side.report import report_answers

report_answers("opendp", questions, lambda item: questions[item](), runs=int(sys.argv[2]))
