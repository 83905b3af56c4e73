"""`leastnoise limits`: what values of a limit would cost, on a file that may be looked at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leastnoise import _words
from leastnoise.cli import options, records, terminal
from leastnoise.cli import spec as specs
from leastnoise.cli.commands import REQUIRED, Command, Kind, argument, option
from leastnoise.cli.options import FILE

if TYPE_CHECKING:
    from leastnoise.tables.publish.try_limits import Trials

_LIMIT = "Limit"
_WARNING = (
    "NOT PRIVATE: these numbers are exact, with no noise in them. Publish none of them unless the "
    "file itself is public."
)
_CHOOSE = (
    "Choose limits by a file that is public, or that says nothing of those who are protected: a "
    "limit that is chosen by their rows tells of them."
)
_ERRORS = (
    "noise: its standard deviation. bias: how far limits and bounds move what the file gives. "
    "total: the root of the sum of both squares. Of several groups, each is the root mean square."
)
_SIZE = "Noise is the same in a larger file. The bias of counts and sums grows with its rows."


@click.command("limits", cls=Command)
@argument("spec", Kind("SPEC", Path, files=True), "The spec of a release, a TOML file.")
@option(
    _LIMIT,
    "--try tried",
    Kind("LIMIT=VALUES"),
    "max_rows=5,10,20 (or max_groups, max_rows_per_group), or bounds.COLUMN=0..100,0..200.",
    REQUIRED,
)
@option(_LIMIT, "--sample", FILE, "Rows that are public, or that you may look at.", REQUIRED)
@options.as_json
def command(*, spec: Path, tried: str, sample: Path, as_json: bool) -> None:
    """Compare values of a limit: noise, and what the limit takes away.

    The numbers are exact ones of the sample, and not private. No ledger is charged.
    """
    from leastnoise.tables.publish.try_limits import key_of, try_limits

    name, _, values = tried.partition("=")
    key = key_of(name)
    if not as_json:
        terminal.print_sentences([_WARNING])
    with (
        specs.locate_problems(spec, elsewhere=[key, "data.source"]),
        terminal.stages("Planning", silent=as_json) as tell,
    ):
        found = try_limits(spec, name=name, values=values.split(","), sample=sample, progress=tell)
    if as_json:
        records.print_json(_record(found, name))
    else:
        _show(found, name, sample)


def _record(found: Trials, name: str) -> dict[str, Any]:
    tried = [
        {name: records.finite(value) for name, value in vars(one).items()}
        | {"total": records.finite(one.total)}
        for one in found.tried
    ]
    others = list(found.others)
    return {
        "private": False,
        "warning": _WARNING,
        "limit": name,
        "tried": tried,
        "not_compared": others,
    }


def _show(found: Trials, name: str, sample: Path) -> None:
    rows: list[tuple[str, ...]] = []
    before = ("", "")
    for one in found.tried:
        named = (one.query, one.statistic)
        numbers = map(_words.number, (one.noise, one.bias, one.total))
        first = named if named != before else ("", "")
        rows.append((*first, one.value, *numbers, "least" if one.least else ""))
        before = named
    heads = ("query", "statistic", name, "noise", "bias", "total", "")
    terminal.print_table(f"Errors on {sample.name}, exact", heads, rows)
    said = [_WARNING, _CHOOSE, _ERRORS, _SIZE]
    if found.others:
        said.append(f"Not compared: {_words.in_turn(found.others)}.")
    terminal.print_sentences(said)
