"""leastnoise: one plan for the whole release, from one specification."""

import sys

import leastnoise as ln

path, delta = sys.argv[1:]
regions, sexes = list(range(1, 21)), ["f", "m"]
release = ln.Release(
    data={
        "source": path,
        "types": {"person": "int", "region": "int", "sex": "text"}
        | {"age": "int", "income": "int", "tenure": "text"},
    },
    privacy={"unit": "person", "epsilon": "1", "delta": delta},
    contribution={"max_rows": 1},
    columns={"income": {"bounds": [0, 150_000]}},
    query=[
        {"name": "people", "statistics": ["count"], "group_by": {"region": regions, "sex": sexes}},
        {"name": "income", "statistics": ["mean(income)"], "group_by": {"region": regions}},
        {"name": "age", "histogram": {"column": "age", "edges": [18, 30, 45, 60, 75, 100]}},
        {
            "name": "conditions",
            "conditions": {
                "retired": {"age": {"min": 65}},
                "low_income": {"income": {"below": 20_000}},
                "renting": {"tenure": {"among": ["rent"]}},
            },
        },
    ],
)
tables = release.run().tables

# What follows is the benchmark's own: it isn't counted as code of this release.

from benchmarks.side_by_side.report import Stds, report, seconds_since_start

seconds = seconds_since_start()
people, income, age, conditions = release.plan().noisy_parts
noise = income.noise_errors[0].std  # of the sum over half the bounds' width, and of the count
report(
    package="leastnoise",
    delta=delta,
    one_row="enforced",
    seconds=seconds,
    stds=Stds(
        count=people.errors[0].std,
        total=75_000 * noise,
        size=noise,
        band=age.errors[0].std,
        condition=conditions.errors[0].std,
    ),
)
