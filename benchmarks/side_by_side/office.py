"""Further questions of offices, asked of each library: the third table of `make side-by-side`.

    python -m benchmarks.side_by_side.office

The tables are synthetic: 5,000 persons in 20 regions with their medicines, visits and costs, and
2,000 items of which a person holds any number. A person is added or removed, for ε = 1, with δ =
1e-6 where groups aren't listed; a budget in ρ is 0.1. An error is the root mean square, over all
answers and releases, of published minus true values. It includes the bias of limits.

"–" means that a library has no such feature. Work by the program that calls a library doesn't
count: such a program can count a person's rows first, or convert a file of SPSS. With diffprivlib,
ten rounds of its permute-and-flip would be a top ten.
"""

from __future__ import annotations

import platform
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.side_by_side.environments import Library, ask_all
from benchmarks.side_by_side.everyday import Answers, error
from benchmarks.timing import print_rows

RUNS = 10
PERSONS, ITEMS, TOP, DAYS = 5_000, 2_000, 10, 365
LARGEST = 14
"""The number of largest codes whose medians are compared: each library publishes other codes."""
LIBRARIES = (
    Library(name="leastnoise", script="with_leastnoise_office", arguments=(str(RUNS),)),
    Library(
        name="OpenDP",
        script="with_opendp_office",
        requirements=("opendp[polars]==0.16.0",),
        arguments=(str(RUNS),),
    ),
    Library(
        name="PipelineDP",
        script="with_pipelinedp_office",
        requirements=("pipeline-dp==0.3.1", "pandas", "pyarrow"),
        arguments=(str(RUNS),),
    ),
)
QUESTIONS = {
    "persons": "Persons by region and sex, beside 400 medicines",
    "medicines": "Medicines of at most 10 a person, beside these persons",
    "months": "Persons by month of their visits, the limit found privately",
    "again": "Persons with two emergencies or more",
    "top": "Ten commonest of 2,000 items, any number a person: recall",
    "medians": "Median cost of the 14 largest codes, which nobody listed",
    "logs": "Geometric mean of cost",
    "hours": "Persons by hour of their arrival",
    "running": "Running totals of visits over 365 days, at most 12 a person",
    "rho": "Count by region and sex, ρ = 0.1",
}
WITHOUT_ERRORS = {
    "Interval of an age-standardised rate": ("howto/linear-questions.md", ""),
    "Interval of a correlation": ("learning.md", ""),
    "Small cells suppressed, with totals that add up": ("howto/margins.md", ""),
    "Workbook with intervals and notes; SDMX-CSV": ("howto/workbooks.md", ""),
    "Rows from files of SPSS, Stata and SAS, with labels": ("howto/statistical-files.md", ""),
    "From R": ("howto/r.md", "its package for R"),
    "A page in the browser for a first release": ("howto/design.md", "DP Wizard"),
}
"""Features for which no error is measured: the page in docs/, and what OpenDP has."""


def write(folder: Path) -> dict[str, pd.DataFrame]:
    """Write the tables, and return them by name."""
    draw = np.random.default_rng(20261128)
    region, sex = draw.integers(1, 21, PERSONS), draw.choice(["f", "m"], PERSONS)
    persons = pd.DataFrame({"person": np.arange(PERSONS), "region": region, "sex": sex})
    popular = draw.dirichlet(np.full(400, 0.5))
    taken = [
        (person, int(medicine))
        for person, count in enumerate(draw.integers(1, 11, PERSONS).tolist())
        for medicine in draw.choice(400, count, replace=False, p=popular)
    ]
    medicines = pd.DataFrame(taken, columns=["person", "medicine"])
    who = np.repeat(np.arange(PERSONS), np.minimum(draw.geometric(0.4, PERSONS), 12))
    visits = pd.DataFrame(
        {
            "person": who,
            "month": draw.integers(1, 13, len(who)),
            "emergency": (draw.random(len(who)) < 0.3).astype(int),
        }
    )
    later = np.random.default_rng(20261129)
    visits["day"] = later.integers(0, DAYS, len(visits))
    code = draw.zipf(1.3, PERSONS) % 300
    cost = np.clip(np.round(np.exp(draw.normal(4.5 + 0.01 * (code % 40), 0.6))), 0, 1_000)
    codes = [f"C{value:03d}" for value in code.tolist()]
    costs = pd.DataFrame({"person": np.arange(PERSONS), "code": codes, "cost": cost})
    costs["seen"] = pd.Timestamp(2026, 1, 1) + pd.to_timedelta(
        later.integers(0, 24 * 60 * DAYS, PERSONS), unit="min"
    )
    sizes = np.rint(378 * (np.arange(1, ITEMS + 1) / TOP) ** -0.9).astype(int).tolist()
    items = pd.DataFrame(
        [
            (int(person), item)
            for item, size in enumerate(sizes)
            for person in draw.choice(PERSONS, size, replace=False)
        ],
        columns=["person", "item"],
    )
    tables = {
        "persons": persons,
        "medicines": medicines.merge(persons, on="person"),
        "visits": visits,
        "costs": costs,
        "items": items,
    }
    for name, table in tables.items():
        table.to_parquet(folder / f"{name}.parquet", index=False)
    return tables


def true_answers(tables: dict[str, pd.DataFrame]) -> dict[str, Answers]:
    """The true answers, by question and by the name of the answer."""
    cells = tables["persons"].groupby(["region", "sex"]).size()
    cells = cells.set_axis([f"{region} {sex}" for region, sex in cells.index])
    emergencies = tables["visits"].groupby("person")["emergency"].sum()
    largest = tables["items"]["item"].value_counts().nlargest(TOP)
    codes = tables["costs"]["code"].value_counts().nlargest(LARGEST).index
    series: dict[str, pd.Series[float]] = {
        "persons": cells,
        "medicines": tables["medicines"]["medicine"]
        .value_counts()
        .reindex(range(400), fill_value=0),
        "months": tables["visits"].drop_duplicates(["person", "month"]).groupby("month").size(),
        "again": pd.Series({"n": (emergencies >= 2).sum()}),
        "top": largest,
        "medians": tables["costs"].groupby("code")["cost"].median()[codes],
        "logs": pd.Series({"mean": np.exp(np.log(tables["costs"]["cost"]).mean())}),
        "hours": tables["costs"].groupby(tables["costs"]["seen"].dt.hour).size(),
        "running": tables["visits"]["day"].value_counts().sort_index().cumsum(),
        "rho": cells,
    }
    return {
        name: {str(key): float(value) for key, value in answers.items()}
        for name, answers in series.items()
    }


def in_words(question: str, releases: list[Answers] | None, true: Answers) -> str:
    """An error, or a recall, as text; "–" if the library doesn't answer the question."""
    if releases is None:
        return "–"
    if question == "top":
        return f"{np.mean([len(chosen.keys() & true.keys()) / TOP for chosen in releases]):.2f}"
    compared = [{key: x for key, x in answers.items() if key in true} for answers in releases]
    text = f"{error([answers for answers in compared if answers], true):,.4g}"
    if question == "medians":
        text += f" ({np.mean([len(answers) for answers in releases]):.0f} published)"
    return text


def main() -> None:
    """Print one line per question."""
    print(f"Python {platform.python_version()}; {RUNS} releases each.")
    with tempfile.TemporaryDirectory() as folder:
        true = true_answers(write(Path(folder)))
        answers, names = ask_all(LIBRARIES, Path(folder) / "persons.parquet")
    rows = [
        (words, *(in_words(name, given.get(name), true[name]) for given in answers.values()))
        for name, words in QUESTIONS.items()
    ]
    for words, features in WITHOUT_ERRORS.items():
        by_library = dict(zip(("leastnoise", "OpenDP"), features, strict=True))
        rows.append((words, *(by_library.get(name) or "–" for name in answers)))
    print_rows(
        f"Root mean square errors of what offices ask, {PERSONS:,} persons",
        ("question", *names),
        rows,
    )


if __name__ == "__main__":
    main()
