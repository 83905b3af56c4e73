"""`leastnoise release`: publish the statistics of a table, as a spec says."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leastnoise.cli import options, records
from leastnoise.cli import released as pages
from leastnoise.cli import spec as specs
from leastnoise.cli.commands import Command, Kind, argument, option
from leastnoise.cli.options import FILE, OUTPUT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leastnoise.tables.publish.release import Release, ReleasedTables

_PLAN = "Plan"
_ENGINES = ("duckdb", "polars", "spark", "sc://")
_READ = (
    "Read the rows with duckdb, polars, spark (the session that Spark's own settings describe) or "
    "a Spark Connect server at sc://host:port, whatever the spec says."
)


@click.command("release", cls=Command)
@argument("spec", Kind("SPEC", Path, files=True), "The spec of the release, a TOML file.")
@option(_PLAN, "--plan", None, "Show what would be released and how good; read no row.")
@option(
    _PLAN,
    "--assume",
    Kind("n=ROWS"),
    "Show errors that depend on it for groups of so many values.",
)
@option("Data", "--engine", Kind("NAME", complete=lambda: _ENGINES), _READ)
@option(OUTPUT, "--sign", FILE, "Sign the folder with this private key (Ed25519, PEM).")
@option(OUTPUT, "--report", None, "Write a page for people, too, beside the folder.")
@options.as_json
def command(
    *,
    spec: Path,
    plan: bool,
    assume: str | None,
    engine: str | None,
    sign: Path | None,
    report: bool,
    as_json: bool,
) -> None:
    """Publish a table's statistics, as a spec says.

    The output folder appears whole or not at all, with plan, certificate and spec.
    """
    from leastnoise.tables.publish.release import Release

    rows = None if assume is None else _rows(assume)
    # An engine that is named here is on no line of the file.
    with specs.located(spec, elsewhere=() if engine is None else ("data.engine",)):
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
    page = pages.path_of_page(folder / output.path) if report or output.report else None
    with records.stages("Planning", silent=as_json) as tell:
        released = release.run(progress=tell, sign=sign)
    if page is not None and released.path is not None:
        account = release.spec.privacy.ledger
        with _published(released, "its page"):
            ledger = account and folder / account.path
            pages.write_page(released.path, page, ledger=ledger, silent=as_json)
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
