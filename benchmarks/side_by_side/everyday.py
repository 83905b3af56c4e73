"""Errors of each library's answers to sixteen everyday questions, asked one at a time.

python -m benchmarks.side_by_side.everyday

The tables are synthetic: 200,000 persons in 20 regions, and their visits in three years. ε = 1 for
an added or removed person, and δ = 1e-6 where groups aren't listed. An error is the root mean
square, over all answers and releases, of published minus true values. True values are about incomes
within the bounds, and about all visits, so that the error includes the bias of a limit on visits.
If an answer has several tables, whose names stand before a bar, the error is the geometric mean of
their errors.
"""

from __future__ import annotations

import itertools
import platform
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.side_by_side.environments import Library, ask_all
from benchmarks.timing import print_rows

RUNS = 10
PERSONS = 200_000
TOP_INCOME = 150_000
LIBRARIES = (
    Library(name="leastnoise", script="with_leastnoise_everyday", arguments=(str(RUNS),)),
    Library(
        name="OpenDP",
        script="with_opendp_everyday",
        requirements=("opendp[polars,mbi]==0.16.0",),
        arguments=(str(RUNS),),
    ),
    Library(
        name="diffprivlib",
        script="with_diffprivlib_everyday",
        requirements=("diffprivlib==0.6.6", "scikit-learn<1.7", "pandas", "pyarrow"),
        arguments=(str(RUNS),),
    ),
)
QUESTIONS = {
    "cells": "Count by region and sex",
    "means": "Mean income by region",
    "medians": "Median income by region",
    "deciles": "Nine deciles of income",
    "spread": "Standard deviation of income",
    "rates": "Smokers per 1,000 by region",
    "postcodes": "Counts of postcodes that nobody listed",
    "adults": "Adults by region",
    "ages": "Histogram of ages",
    "conditions": "Three conditions that overlap",
    "months": "Visits by month, at most 20 a person",
    "patients": "Persons with an emergency",
    "margins": "Counts by region, sex and age band, with all totals",
    "cumulative": "Persons up to each of 1,000 incomes",
    "levels": "Counts of 3,000 counties, 50 states and the nation",
    "weeks": "Three counts in each of 52 weeks, (1, 1e-6)-DP together",
}
INCOMES = [150.0 * k for k in range(1, 1_001)]
_BY = ("region", "sex", "age")
MARGINS = [[*by] for size in range(4) for by in itertools.combinations(_BY, size)]
Answers = Mapping[str, float]


def write(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Write persons.parquet and visits.parquet, and return both tables."""
    draw = np.random.default_rng(20261123)
    region = draw.choice(20, PERSONS, p=draw.dirichlet(np.full(20, 4.0)))
    age = np.clip(draw.gamma(4.5, 9.5, PERSONS), 0, 104).astype(int)
    income = np.round(np.exp(draw.normal(10.2 + 0.015 * region, 0.7, PERSONS)))
    income[draw.random(PERSONS) < 0.04] = np.nan
    persons = pd.DataFrame(
        {
            "person": np.arange(PERSONS),
            "region": [f"R{value + 1:02d}" for value in region.tolist()],
            "sex": draw.choice(["f", "m"], PERSONS),
            "age": age,
            "income": income,
            "postcode": [f"P{value:05d}" for value in (draw.zipf(1.25, PERSONS) % 9_000).tolist()],
            "smoker": (draw.random(PERSONS) < 0.22).astype(int),
        }
    )
    rate = (0.4 + age / 40) * 3 * draw.gamma(1, 1, PERSONS)
    who = np.repeat(np.arange(PERSONS), np.minimum(draw.poisson(rate), 60))
    visits = pd.DataFrame(
        {
            "person": who,
            "month": draw.integers(1, 13, len(who)),
            "emergency": (draw.random(len(who)) < 0.12).astype(int),
        }
    )
    persons["work"] = draw.choice(["none", "part", "full"], PERSONS)
    persons["county"] = draw.integers(0, 3_000, PERSONS)
    persons.to_parquet(folder / "persons.parquet", index=False)
    visits.to_parquet(folder / "visits.parquet", index=False)
    return persons, visits


def true_answers(persons: pd.DataFrame, visits: pd.DataFrame) -> dict[str, Answers]:
    """The true answers, by question and by the name of the answer."""
    stored = np.sort(persons["income"].dropna())
    below = np.searchsorted(stored, INCOMES[:-1]).tolist()
    below.append(int(np.searchsorted(stored, INCOMES[-1], side="right")))  # its upper edge, too
    persons = persons.assign(income=persons["income"].clip(upper=TOP_INCOME))
    income, by_region = persons["income"], persons.groupby("region")
    cells = persons.groupby(["region", "sex"]).size()
    bands = pd.cut(persons["age"], [0, 18, 30, 45, 60, 75, 105], right=False, labels=range(6))
    conditions = {
        "retired": persons["age"] >= 65,
        "low": income < 20_000,
        "smoker": persons["smoker"] == 1,
    }
    decades = persons.assign(
        age=(persons["age"] // 10).clip(upper=9), state=persons["county"] // 60, nation="all"
    )
    tables: dict[str, pd.Series[float]] = {
        "cells": cells.set_axis([f"{region} {sex}" for region, sex in cells.index]),
        "means": by_region["income"].mean(),
        "medians": by_region["income"].median(),
        "deciles": income.quantile([k / 10 for k in range(1, 10)]).set_axis(range(1, 10)),
        "spread": pd.Series({"std": income.std()}),
        "rates": 1_000 * by_region["smoker"].mean(),
        "postcodes": persons["postcode"].value_counts(),
        "adults": persons[persons["age"] >= 18].groupby("region").size(),
        "ages": bands.value_counts(),
        "conditions": pd.Series({name: rows.sum() for name, rows in conditions.items()}),
        "months": visits.groupby("month").size(),
        "patients": pd.Series({"n": visits[visits["emergency"] == 1]["person"].nunique()}),
        "margins": pd.concat([_counts(decades, by) for by in MARGINS]),
        "cumulative": pd.Series(dict(enumerate(below))),
        "levels": pd.concat([_counts(decades, [by]) for by in ("county", "state", "nation")]),
        "weeks": persons.groupby("work").size(),
    }
    return {
        name: {str(key): float(value) for key, value in table.items()}
        for name, table in tables.items()
    }


def _counts(rows: pd.DataFrame, by: list[str]) -> pd.Series[float]:
    """The counts of a table; the names of answers are the columns, a bar, and the keys."""
    counts = rows.groupby(by).size() if by else pd.Series({"": len(rows)})
    names = [" ".join(map(str, key if isinstance(key, tuple) else [key])) for key in counts.index]
    return counts.set_axis([f"{' '.join(by)}|{name}" for name in names])


def error(releases: list[Answers], true: Answers) -> float:
    """The root mean square of published minus true; for several tables, the geometric mean."""
    off: dict[str, list[float]] = {}
    for answers in releases:
        for key, value in answers.items():
            off.setdefault(key.rpartition("|")[0], []).append(value - true[key])
    return float(np.exp(np.mean([np.log(np.mean(np.square(these))) / 2 for these in off.values()])))


def shown(question: str, releases: list[Answers] | None, true: Answers) -> str:
    """An error as text; "–" if the library doesn't answer the question."""
    if releases is None:
        return "–"
    text = f"{error(releases, true):,.4g}"
    if question == "postcodes":
        text += f" ({np.mean([len(release) for release in releases]):.0f} published)"
    if len(releases) < RUNS:
        text += f" ({len(releases)} releases)"
    return text


def main() -> None:
    """Print one line per question."""
    print(f"Python {platform.python_version()}; {RUNS} releases each, or as many as stated.")
    with tempfile.TemporaryDirectory() as folder:
        true = true_answers(*write(Path(folder)))
        answers, names = ask_all(LIBRARIES, Path(folder) / "persons.parquet")
    print_rows(
        f"Root mean square errors of everyday questions about {PERSONS:,} persons",
        ("question", *names),
        [
            (
                words,
                *(shown(name, given.get(name), true[name]) for given in answers.values()),
            )
            for name, words in QUESTIONS.items()
        ],
    )


if __name__ == "__main__":
    main()
