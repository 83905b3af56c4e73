"""`leastnoise standardise`: rates of a release, weighted by a standard population."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from leastnoise import _words
from leastnoise.cli import options, records, terminal
from leastnoise.cli.command import REQUIRED, Command, OptionType, argument, option
from leastnoise.cli.options import FOLDER, NAME

if TYPE_CHECKING:
    from collections.abc import Sequence

_RATES = "Rates"
_WEIGHTS = (
    "A column of the query with a weight for each key or band, such as age=0.22,0.61,0.17. Let "
    "the weights sum to 1, or to 100,000 for a rate per 100,000."
)
_NOTE = (
    "Each interval holds the rate without noise with at least 95 %. The rates cost no budget: they "
    "are computed from published numbers."
)
_USUAL = [10**power for power in range(10)]  # sums of shares for a rate per person, per 1,000, …


@click.command("standardise", cls=Command)
@argument("folder", FOLDER, "The folder of a release.")
@option(
    _RATES,
    "--query",
    NAME,
    (
        "The query whose rates are weighted. It must have exactly one ratio, such as ratio(sum(x), "
        "count)."
    ),
    REQUIRED,
)
@option(_RATES, "--weights", OptionType("COLUMN=WEIGHTS"), _WEIGHTS, REQUIRED)
@options.as_json
def command(*, folder: Path, query: str, weights: str, as_json: bool) -> None:
    """Weight the rates of a release by a standard population.

    The release is verified first. The result has one rate for each group of the columns without
    weights.
    """
    from leastnoise.tables.publish.standardise import standardise_rates

    column, shares = _split(weights)
    with terminal.stages("Verifying the release", silent=as_json):
        table = standardise_rates(folder, query=query, weights={column: shares})
    if as_json:
        rows = zip(*table.columns.values(), strict=True)
        listed = [dict(zip(table.columns, map(records.finite, row), strict=True)) for row in rows]
        records.print_json({"name": table.name, "rows": listed})
        return
    records.print_released(table)
    terminal.print_sentences([_NOTE, *_describe_sum(shares)])


def _split(weights: str) -> tuple[str, list[str]]:
    """Split COLUMN=WEIGHTS into column and weights. Raises InvalidArgument for a missing part."""
    from leastnoise.errors import InvalidArgument, show_value

    column, _, numbers = map(str.strip, weights.partition("="))
    shares = [number.strip() for number in numbers.split(",")]
    expected = "COLUMN=WEIGHTS, such as age=0.22,0.61,0.17"
    if not column or not numbers:
        raise InvalidArgument(name="--weights", value=show_value(weights), expected=expected)
    if "" in shares:
        hint = f"Weight {shares.index('') + 1} is empty: a comma stands between two weights."
        raise InvalidArgument(
            name="--weights", value=show_value(weights), expected=expected, hint=hint
        )
    return column, shares


def _describe_sum(shares: Sequence[str]) -> list[str]:
    """A list of one sentence about the sum of the weights.

    The list is empty if the sum, as it would be shown, is 1, 10, … or 10⁹.
    """
    from leastnoise.guarantees.exact import exact

    total = _words.number(sum(exact(share, name="--weights") for share in shares))
    if total in map(_words.number, _USUAL):
        return []
    note = f"The weights sum to {total}, so each rate is {total} times a weighted mean. Give shares"
    return [f"{note} that sum to 1, or to 100,000 for a rate per 100,000."]
