"""OpenDP: its Context over a Polars frame, with noise for pure privacy.

Gaussian noise under zCDP would be nearly twice as large at these ε and δ. Sum and length are asked
for one by one, as its documentation advises, with two thirds of their share for the sum (the best
split at the true means is 0.63 to 0.37). The conditions are sums of disjoint cells: that is less
noise than three counts that share the budget.
"""

import sys

import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")
middle = 75_000
regions = pl.DataFrame({"region": range(1, 21)})
sexes = pl.DataFrame({"sex": ["f", "m"]})
bands = pl.DataFrame({"band": ["[-inf, 30)", "[30, 45)", "[45, 60)", "[60, 75)", "[75, inf)"]})
conditions = ["retired", "low_income", "renting"]
cells = pl.DataFrame({conditions[0]: [False, True]})
for name in conditions[1:]:
    cells = cells.join(pl.DataFrame({name: [False, True]}), how="cross")
context = dp.Context.compositor(
    data=pl.scan_csv(sys.argv[1]),
    privacy_unit=dp.unit_of(contributions=1),
    privacy_loss=dp.loss_of(epsilon=1.0),
    split_evenly_over=4,
    margins=[dp.polars.Margin(max_length=1_000_000)],
)
people_query = (
    context.query()
    .group_by("region", "sex")
    .agg(dp.len(signed=True))
    .with_keys(regions.join(sexes, how="cross"))
)
income_query = (
    context.query()
    .with_columns(above=pl.col("income") - middle)
    .group_by("region")
    .agg(
        pl.col("above").dp.sum((-middle, middle), scale=middle),
        dp.len(signed=True, scale=2.0),  # the scales are relative to each other
    )
    .with_keys(regions)
)
age_query = (
    context.query()
    .with_columns(band=pl.col("age").cut([30, 45, 60, 75], left_closed=True).cast(pl.String))
    .group_by("band")
    .agg(dp.len(signed=True))
    .with_keys(bands)
)
conditions_query = (
    context.query()
    .with_columns(
        retired=pl.col("age") >= 65,
        low_income=pl.col("income") < 20_000,
        renting=pl.col("tenure") == "rent",
    )
    .group_by(conditions)
    .agg(dp.len(signed=True))
    .with_keys(cells)
)
people = people_query.release().collect()
means = income_query.release().collect().with_columns(mean=middle + pl.col("above") / pl.col("len"))
ages = age_query.release().collect()
cell_counts = conditions_query.release().collect()
held = {name: cell_counts.filter(name)["len"].sum() for name in conditions}

# What follows is the benchmark's own: it isn't counted as code of this release.

from benchmarks.side_by_side.report import Stds, geometric_std, report, seconds_since_start

seconds = seconds_since_start()


def scales(query) -> dict[str, float]:
    stated = query.summarize()
    assert set(stated["distribution"]) == {"Integer Laplace"}
    return dict(zip(stated["column"], stated["scale"], strict=True))


income_scales = scales(income_query)
report(
    package="opendp",
    delta="0",
    one_row="trusted",
    seconds=seconds,
    stds=Stds(
        count=geometric_std(scales(people_query)["len"]),
        total=geometric_std(income_scales["above"]),
        size=geometric_std(income_scales["len"]),
        band=geometric_std(scales(age_query)["len"]),
        condition=2 * geometric_std(scales(conditions_query)["len"]),  # of four cells
    ),
)
