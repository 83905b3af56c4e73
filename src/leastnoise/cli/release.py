"""`leastnoise release`: publish the statistics of a table, as a spec says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leastnoise.cli import options


def command(
    *,
    spec: Annotated[Path, typer.Argument(help="The spec of the release, a TOML file.")],
    plan: Annotated[
        bool, typer.Option("--plan", help="Show what would be released and how good; read no row.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Publish a table's statistics under one budget, with their certificate."""
    raise NotImplementedError
