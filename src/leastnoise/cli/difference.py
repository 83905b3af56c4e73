"""`leastnoise difference`: what changed between two releases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leastnoise.cli import options, records, terminal
from leastnoise.cli.commands import Command, argument
from leastnoise.cli.options import FOLDER

if TYPE_CHECKING:
    from leastnoise.tables.publish.difference import ReleaseDifference


_INDEPENDENT = (
    "Both draws of noise are independent: variances add up. An interval is that of one number by "
    "itself, and of the noise alone."
)
_COST = (
    "About the same persons, both releases together cost what both cost; the difference costs "
    "nothing more."
)


@click.command("difference", cls=Command)
@argument("before", FOLDER, "The folder of the earlier release.")
@argument("after", FOLDER, "The folder of the later release.")
@options.as_json
def command(*, before: Path, after: Path, as_json: bool) -> None:
    """Subtract the earlier of two releases from the later one.

    Both are verified first, and have to have the same queries and keys.
    """
    from leastnoise.tables.publish.difference import subtract_releases

    with terminal.stages("Verifying both releases", silent=as_json):
        found = subtract_releases(before, after)
    if as_json:
        records.print_json(_record(found))
        return
    for table in found.tables.values():
        records.print_released(table)
    terminal.print_sentences(_said(found))


def _record(found: ReleaseDifference) -> dict[str, Any]:
    """Return it as JSON values; null stands for what no bound holds."""
    tables = [
        {
            "name": name,
            "confidence": table.confidence,
            "rows": [
                dict(zip(table.columns, map(records.finite, row), strict=True))
                for row in table.rows
            ],
        }
        for name, table in found.tables.items()
    ]
    return {"tables": tables, "notes": list(found.notes)}


def _said(found: ReleaseDifference) -> list[str]:
    from leastnoise.tables.publish.difference import UNION

    said = [_INDEPENDENT, _COST]
    if any(UNION in table.confidence.values() for table in found.tables.values()):
        said.insert(1, "Where an interval holds 90 %, it is enough that both of 95 % hold.")
    return [*said, *found.notes]
