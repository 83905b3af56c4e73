"""`leastnoise series`: a series with running totals between its releases."""

from __future__ import annotations

from pathlib import Path

import click

from leastnoise import _words
from leastnoise.cli import options, records, terminal
from leastnoise.cli.command import Command, CommandGroup, OptionType, argument
from leastnoise.cli.options import FILE, FOLDER
from leastnoise.cli.spec import locate_problems

_spec = argument("spec", FILE, "The spec of the series.")


@click.group("series", cls=CommandGroup)
def group() -> None:
    """Show the progress of a series, sum its releases, or restart its running totals."""


@group.command(cls=Command)
@_spec
@options.as_json
def show(*, spec: Path, as_json: bool) -> None:
    """Show which releases of a series are published, and the next step. Nothing is changed."""
    from leastnoise.errors import Refused
    from leastnoise.tables.publish import running_totals
    from leastnoise.tables.publish.release import Release

    with locate_problems(spec):
        release = Release.from_toml(spec)
        standing = release.standing()
    series = release.spec.series
    if standing is None or series is None:
        raise Refused("The spec has no section [series], so there is no series to show.")
    published = standing.release_number - 1
    restarts = [] if standing.begun is None else list(standing.begun.restarts)
    problem = None
    if series.totals and running_totals.is_complete(release.spec, spec.parent, standing):
        following = "No release is left. Another series needs another name in [series]."
    elif series.totals:
        try:
            step = running_totals.find_step(release.spec, spec.parent, standing)
            action = "finish" if step.finish else "draw"
            following = (
                f"The next call of leastnoise release will {action} release {step.number:,}."
            )
        except Refused as error:
            problem = following = str(error)
    else:
        following = standing.in_words()
    if as_json:
        records.print_json(
            {
                "series": series.name,
                "releases": series.releases,
                "published": published,
                "restarts": restarts,
                "problem": problem,
            }
        )
        return
    sentences = [f"{published:,} of {series.releases:,} releases are published."]
    if restarts:
        before = _words.join_names([f"release {number:,}" for number in restarts])
        sentences.append(f"The series was restarted before {before}: totals begin anew there.")
    terminal.print_sentences([*sentences, following] if series.totals else [following])


@group.command("sum", cls=Command)
@argument("folder", FOLDER, "The folder that contains the folders of the releases.")
@argument("first", OptionType("FIRST", int), "The number of the first release of the sum.")
@argument("last", OptionType("LAST", int), "The number of the last release of the sum.")
@options.as_json
def sum_(*, folder: Path, first: int, last: int, as_json: bool) -> None:
    """Sum the counts of consecutive releases, and compute the exact 95 % interval of each sum.

    The releases are verified first. Anyone who has the published folders can compute these sums.
    """
    from leastnoise.tables.publish.verify_series import sum_releases

    tables = sum_releases(folder, first, last)
    if as_json:
        records.print_json({table.name: dict(table.columns) for table in tables})
        return
    for table in tables:
        records.print_released(table)


@group.command(cls=Command)
@_spec
def restart(*, spec: Path) -> None:
    """Begin the running totals anew, if the state file is lost or damaged.

    A restart costs no epsilon, because no row counts twice. A restart is refused while the state
    file is good. Never restart because of numbers that were drawn: choosing among draws breaks the
    guarantee.
    """
    from leastnoise.tables.publish.release import Release

    with locate_problems(spec):
        release = Release.from_toml(spec)
        first = release.restart()
    terminal.print_sentences(
        [f"The running totals will begin anew with release {first:,}. No epsilon was charged."]
    )
