"""`leastnoise standardise`: rates of a release, weighted by a standard population."""

from __future__ import annotations

from pathlib import Path

import click

from leastnoise.cli import options, records, terminal
from leastnoise.cli.command import REQUIRED, Command, OptionType, argument, option
from leastnoise.cli.options import FOLDER, NAME

_RATES = "Rates"
_WEIGHTS = "A column of the query, with a weight for each key or band, as age=0.22,0.61,0.17."
_NOTE = (
    "Each interval holds the rate without noise with at least 95 %. The rates cost no budget: they "
    "are computed from published numbers."
)


@click.command("standardise", cls=Command)
@argument("folder", FOLDER, "The folder of a release.")
@option(_RATES, "--query", NAME, "The query with one ratio and both of its parts.", REQUIRED)
@option(_RATES, "--weights", OptionType("COLUMN=WEIGHTS"), _WEIGHTS, REQUIRED)
@options.as_json
def command(*, folder: Path, query: str, weights: str, as_json: bool) -> None:
    """Weight the rates of a release by a standard population.

    The release is verified first. Each group of the other columns gets one rate.
    """
    from leastnoise.tables.publish.standardise import standardise_rates

    column, _, numbers = weights.partition("=")
    shares = {column.strip(): [number.strip() for number in numbers.split(",")]}
    with terminal.stages("Verifying the release", silent=as_json):
        table = standardise_rates(folder, query=query, weights=shares)
    if as_json:
        rows = zip(*table.columns.values(), strict=True)
        listed = [dict(zip(table.columns, map(records.finite, row), strict=True)) for row in rows]
        records.print_json({"name": table.name, "rows": listed})
        return
    records.print_released(table)
    terminal.print_sentences([_NOTE])
