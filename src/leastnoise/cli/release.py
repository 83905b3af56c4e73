"""`leastnoise release`: publish the statistics of a table, as a spec says."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leastnoise.cli import completion, options, records, spec_errors
from leastnoise.cli import report as pages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leastnoise.tables.publish.release import Release, ReleasedTables

_PLAN = "Plan"


def command(
    *,
    spec: Annotated[
        Path, typer.Argument(metavar="SPEC", help="The spec of the release, a TOML file.")
    ],
    plan: Annotated[
        bool,
        typer.Option(
            "--plan",
            help="Show what would be released and how good; read no row.",
            rich_help_panel=_PLAN,
        ),
    ] = False,
    assume: Annotated[
        str | None,
        typer.Option(
            metavar="n=ROWS",
            help="Show errors of means for groups of so many rows.",
            rich_help_panel=_PLAN,
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar=options.NAME,
            autocompletion=completion.one_of("duckdb", "polars", "spark", "sc://"),
            rich_help_panel="Data",
            help="Read the rows with duckdb, polars, spark (the session that Spark's own settings "
            "describe) or a Spark Connect server at sc://host:port, whatever the spec says.",
        ),
    ] = None,
    sign: Annotated[
        Path | None,
        typer.Option(
            metavar=options.FILE,
            help="Sign the folder with this private key (Ed25519, PEM).",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    report: Annotated[
        bool,
        typer.Option(
            "--report",
            help="Write a page for people, too, beside the folder.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Publish a table's statistics, as a spec says.

    The output folder appears whole or not at all, with plan, certificate and spec.
    """
    from leastnoise.tables.publish.release import Release

    rows = None if assume is None else _rows(assume)
    # An engine that is named here is on no line of the file.
    with spec_errors.located(spec, elsewhere=() if engine is None else ("data.engine",)):
        release = Release.from_toml(spec, assume=rows, engine=engine)
        if plan:
            _plan(release, as_json=as_json)
        else:
            _publish(release, spec.parent, sign=sign, report=report, as_json=as_json)


def _plan(release: Release, *, as_json: bool) -> None:
    with records.stages("Planning", silent=as_json) as tell:
        planned = release.plan(progress=tell)
        needed = release.needed_epsilon()
    if not as_json:
        least = release.spec.privacy.epsilon == "least"
        records.print_plan(planned, least=least, needed=needed)
    admitted = release.afford(planned)
    if as_json:
        more = {} if needed is None else {"needed_epsilon": float(needed)}
        records.print_json(planned.to_record() | more)
    elif admitted is not None:
        records.say(f"The ledger would admit it, by the filter {admitted}.")


def _publish(
    release: Release, folder: Path, *, sign: Path | None, report: bool, as_json: bool
) -> None:
    """Publish, with paths of the spec relative to `folder`."""
    from leastnoise.errors import SpecError

    if release.spec.output is None:
        raise SpecError([("output", "Say where the release goes: [output] path = …")])
    output = release.spec.output
    page = pages.new_page(folder / output.path) if report or output.report else None
    with records.stages("Planning", silent=as_json) as tell:
        released = release.run(progress=tell, sign=sign)
    if page is not None and released.path is not None:
        account = release.spec.privacy.ledger
        with _published(released, "its page"):
            ledger = account and folder / account.path
            pages.write(released.path, page, ledger=ledger, silent=as_json)
    with _published(released, "standard output"):
        _show(released, as_json=as_json, page=page)


@contextmanager
def _published(released: ReleasedTables, what: str) -> Iterator[None]:
    """Say that the release is published if what comes after it can't be written."""
    from leastnoise.errors import InvalidInput

    try:
        yield
    except (OSError, SystemExit, InvalidInput):  # rich exits where the reader of a pipe is gone
        raise InvalidInput(
            f"The release is published in {released.path}, but {what} can't be written."
        ) from None


def _rows(assume: str) -> int:
    from leastnoise.errors import InvalidArgument

    name, _, rows = assume.partition("=")
    if name.strip() != "n" or not rows.strip().isascii() or not rows.strip().isdigit():
        raise InvalidArgument(name="assume", value=assume, expected="rows of a group, like n=4000")
    return int(rows)


def _show(released: ReleasedTables, *, as_json: bool, page: Path | None) -> None:
    if as_json:
        record = {"path": str(released.path), "tables": list(released.tables)}
        record |= {} if page is None else {"report": str(page)}
        records.print_json(record | {"plan": released.plan.to_record()})
        return
    for table in released.tables.values():
        records.print_released(table)
    said = [f"Written to {released.path}. Check it with: leastnoise verify {released.path}"]
    records.print_sentences(said if page is None else [*said, f"Its page is {page}."])
