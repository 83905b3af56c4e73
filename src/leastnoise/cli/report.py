"""`leastnoise report`: a release as one page for people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    *,
    path: Annotated[Path, typer.Argument(metavar="DIR", help="The directory of a release.")],
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where the page goes: DIR-report.html if left out."),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Say what is left in this ledger, which is checked."),
    ] = None,
) -> None:
    """Write a page that anyone can read about a release.

    It is verified first. The page is one HTML file that loads nothing from anywhere.
    """
    target = new_page(path) if output is None else _new(output)
    write(path, target, ledger=ledger)
    typer.echo(f"Written to {target}.")


def new_page(folder: Path) -> Path:
    """Return where the page about `folder` goes; raises InvalidInput if something is there."""
    folder = folder.absolute()
    return _new(folder.with_name(f"{folder.name}-report.html"))


def write(folder: Path, target: Path, *, ledger: Path | None = None) -> None:
    """Write the page about a release, whole or not at all."""
    from leastnoise.mechanism.output import write_file
    from leastnoise.report.page import report

    write_file(target, report(folder, ledger=ledger))


def _new(target: Path) -> Path:
    from leastnoise.errors import InvalidInput

    if target.exists():
        raise InvalidInput(f"{target} exists: move it away, or name another with --output.")
    return target
