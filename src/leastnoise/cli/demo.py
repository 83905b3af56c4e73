"""`leastnoise demo`: a complete release of a real table of health-care use."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path

import click

from leastnoise.cli import records, terminal
from leastnoise.cli.command import Command, OptionType, argument, option
from leastnoise.cli.options import FILE, OUTPUT

SPEC = """\
version = 1

[data]
source = "randhie.csv"
types = { zper = "int", plan = "int", mdvis = "int", totadm = "int" }

[privacy]
unit = "zper"              # a person, with all of her years
unit_name = "person"
neighbours = "add-remove"
epsilon = "1"
delta = "1e-6"

[contribution]
max_rows = 5               # the experiment lasted at most five years

[columns.mdvis]            # visits to a doctor in a year
bounds = [0, 20]
missing = "none"           # public: every row has a number of visits
label = "doctor visits"

[columns.totadm]
label = "hospital admissions"

[columns.plan]
label = "insurance plan"

[[query]]
name = "visits_by_plan"
importance = 3
assume = { n = 1000 }      # the plan shows a mean's error for groups of 1,000 values
statistics = ["count", "mean(mdvis)"]
group_by = { plan = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19] }

[[query]]
name = "admissions"
importance = 1
histogram = { column = "totadm", edges = [0, 1, 2, 3, 4, 9] }

[[query]]
name = "persons"
importance = 1

[query.conditions]              # a person may meet several conditions
admitted = { totadm = { min = 1 } }
ten_visits = { mdvis = { min = 10 } }
no_visit_in_a_year = { mdvis = { max = 0 } }
free_care = { plan = { among = [11] } }

[report]
title = "Doctor visits by insurance plan"
publisher = "The RAND Health Insurance Experiment, 1974 to 1982"

[output]
path = "out"
format = "csv"
"""

_ABOUT = (
    "The RAND Health Insurance Experiment: 5,912 persons in 18 insurance plans, with up to five "
    "years each. The column zper identifies a person. The budget ε = 1, δ = 1e-6 protects each "
    "person with all years."
)
_PLAN = "The plan: the statistics that will be released, and their errors. It reads no row."
_RELEASED = (
    "The released tables. In 95 % of all releases, the value without noise is between the two "
    "numbers. That value respects the spec's limits and bounds. The truth, without limits and "
    "bounds, is shown only because these data are public."
)
_BIAS = (
    "The 95 % are about the noise only; the intervals don't include the effect of limits and "
    "bounds. The mean of all visits in plan 11 is {mean:.4f}. With the bounds, a year of more than "
    "20 visits counts as 20, and the mean is {cut:.4f}; this mean is published, with noise. These "
    "data are public, so everyone sees the difference; for private data nobody does. Choose bounds "
    "that are wide enough by public knowledge, at the price of more noise."
)


@click.command("demo", cls=Command)
@argument(
    "directory",
    OptionType("[FOLDER]", Path, files=True),
    "Folder for the release; leastnoise-demo if left out.",
    Path("leastnoise-demo"),
)
@option(OUTPUT, "--table", FILE, "Copy the demo's table to this file as CSV, and publish nothing.")
def command(*, directory: Path, table: Path | None) -> None:
    """Publish statistics of a real table, and verify the release.

    The table has visits to doctors and hospital admissions in the RAND Health Insurance Experiment.
    """
    if table is not None:
        _copy(table)
        return
    from leastnoise.report import words
    from leastnoise.tables.publish.release import Release
    from leastnoise.tables.publish.verify import verify_directory

    source = find_table()
    spec = tomllib.loads(SPEC)
    spec["data"]["source"] = str(source)
    spec["output"]["path"] = str(directory.absolute())
    release = Release(**spec)
    terminal.print_sentences([_ABOUT])
    terminal.say()
    terminal.print_sentences([_PLAN])
    terminal.say()
    with terminal.stages("Planning") as tell:
        plan = release.plan(progress=tell)
    records.print_plan(plan)
    with terminal.stages("Releasing") as tell:
        released = release.run(progress=tell)
    terminal.print_sentences([_RELEASED])
    terminal.say()
    truths = _true_values(source)
    for released_table in released.tables.values():
        records.print_released(released_table, truth=truths[released_table.name])
    terminal.print_sentences([_BIAS.format(**_means_of_plan_11(source))])
    terminal.say()
    with terminal.stages("Proving the release again"):
        verified = verify_directory(directory)
    terminal.print_sentences(words.verified_release(verified, directory))
    terminal.say("Check it again:")
    terminal.say(f"  leastnoise verify {directory}")


def _copy(target: Path) -> None:
    """Copy the demo's table to `target`.

    Raises InvalidInput if that file exists or can't be written, or if the table isn't installed.
    """
    from leastnoise._files import try_file, write_file
    from leastnoise.errors import InvalidInput

    if target.exists():
        raise InvalidInput(f"{target} exists already. Move that file away, or choose another file.")
    try_file(target)
    write_file(target, find_table().read_bytes())
    terminal.say(f"Written to {target}.")


def find_table() -> Path:
    """The table's file in the installed statsmodels, found without importing statsmodels.

    Raises InvalidInput if it is missing.
    """
    from leastnoise.errors import InvalidInput

    package = importlib.util.find_spec("statsmodels")
    if package is not None and package.submodule_search_locations:
        root = Path(package.submodule_search_locations[0])
        path = root / "datasets" / "randhie" / "src" / "randhie.csv"
        if path.is_file():
            return path
    raise InvalidInput(
        "The demo's table is part of the package statsmodels, which isn't installed. Install it: "
        "pip install 'leastnoise[demo]'"
    )


def _means_of_plan_11(source: Path) -> dict[str, float]:
    """The means of visits in plan 11, without and with bounds; for public data only."""
    import duckdb

    sql = "SELECT avg(mdvis), avg(least(mdvis, 20)) FROM read_csv($source) WHERE plan = 11"
    ((mean, cut),) = duckdb.execute(sql, {"source": str(source)}).fetchall()
    return {"mean": mean, "cut": cut}


def _true_values(source: Path) -> dict[str, list[tuple[str, ...]]]:
    """The tables' values without noise, row by row; for public data only."""
    import duckdb

    queries = {
        "visits_by_plan": "SELECT count(*), round(avg(mdvis), 4) FROM read_csv($source)"
        " GROUP BY plan ORDER BY plan",
        "admissions": "SELECT count(*) FROM"
        " (SELECT least(totadm, 4) AS bin FROM read_csv($source)) GROUP BY bin ORDER BY bin",
        "persons": "SELECT count(DISTINCT zper) FILTER (held) FROM"
        " (SELECT zper, unnest([1, 2, 3, 4]) AS place,"
        " unnest([totadm >= 1, mdvis >= 10, mdvis <= 0, plan = 11]) AS held"
        " FROM read_csv($source)) GROUP BY place ORDER BY place",
    }
    return {
        name: [
            tuple(map(str, row)) for row in duckdb.execute(sql, {"source": str(source)}).fetchall()
        ]
        for name, sql in queries.items()
    }
