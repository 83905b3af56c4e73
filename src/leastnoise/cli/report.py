"""`leastnoise report`: a release as one page for people."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from leastnoise.cli import options, records


def command(
    *,
    path: Annotated[Path, typer.Argument(metavar=options.FOLDER, help="The folder of a release.")],
    output: Annotated[
        Path | None,
        typer.Option(
            metavar=options.FILE,
            help="Where the page goes: FOLDER-report.html if left out.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar=options.FILE,
            help="Say what is left in this ledger, which is checked.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
) -> None:
    """Write a page that anyone can read about a release.

    It is verified first. The page is one HTML file that loads nothing from anywhere.
    """
    target = new_page(path) if output is None else _new(output)
    write(path, target, ledger=ledger)
    records.say(f"Written to {target}.")


def new_page(folder: Path) -> Path:
    """Return where the page about `folder` goes; raises InvalidInput if it can't go there."""
    folder = folder.absolute()
    return _new(folder.with_name(f"{folder.name}-report.html"))


def write(folder: Path, target: Path, *, ledger: Path | None = None, silent: bool = False) -> None:
    """Write the page about a release, whole or not at all."""
    from leastnoise.mechanism.output import write_file
    from leastnoise.report.page import report

    with records.stages("Verifying the release", silent=silent):
        page = report(folder, ledger=ledger)
    write_file(target, page)


def _new(target: Path) -> Path:
    from leastnoise.errors import InvalidInput
    from leastnoise.mechanism.output import try_file

    if os.path.lexists(target):  # a Path raises for a name that is too long
        raise InvalidInput(f"{target} exists: move it away, or name another with --output.")
    try_file(target)
    return target
