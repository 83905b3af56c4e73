"""`leastnoise init`, `schema` and `limits`: a first spec, and the cost of limits."""

from __future__ import annotations

import json
import shlex
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leastnoise import _words
from leastnoise.cli import options, records, terminal
from leastnoise.cli.command import MANY, REQUIRED, Command, OptionType, argument, option
from leastnoise.cli.options import FILE, NAME, OUTPUT, QUERY

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from leastnoise.tables.publish.try_limits import Trials


@click.command(cls=Command)
@argument(
    "source",
    OptionType("SOURCE...", files=True),
    "Where the rows are: files, a pattern of file names, a folder or a database, as in "
    "data.source.",
    MANY,
)
@option(QUERY, "--table", NAME, "The table, if the source is a database.")
@option(OUTPUT, "--output", FILE, "The spec to write, which must not exist yet.", Path("spec.toml"))
def init(*, source: tuple[str, ...], table: str | None, output: Path) -> None:
    """Write a first spec for a source, which you then complete.

    Only the names and types of the columns are used. No row is read. The first line of a CSV is
    read, and must name the columns.
    """
    from leastnoise.errors import InvalidInput
    from leastnoise.tables.rows import starter

    with terminal.stages("Reading the columns of the source"):
        text = starter.text(list(source), table=table, folder=output.parent)
    try:
        with output.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        why = "It was not changed. Choose another file with --output FILE."
        raise InvalidInput(f"{output} exists already. {why}") from None
    except (OSError, ValueError) as error:  # ValueError for a NUL in the path
        why = getattr(error, "strerror", None) or "no file can have that name"
        raise InvalidInput(f"--output {output} can't be written: {why}.") from None
    spec, released = shlex.quote(str(output)), shlex.quote(str(output.parent / starter.OUTPUT))
    for line in (  # TODO is the mark in the user's new file
        f"Written to {output}. Open entries are marked TODO. Next:",
        f"  1. Fill in {output}, from public knowledge and never from the data.",
        f"  2. leastnoise release {spec} --plan",
        "     lists missing entries, and the sizes of errors; it reads no row.",
        f"  3. leastnoise release {spec}",
        f"  4. leastnoise verify {released}",
        f"  5. leastnoise report {released}    (one page that anyone can read)",
    ):
        terminal.say(line)


@click.command(cls=Command)
def schema() -> None:
    """Print the JSON Schema of a release's spec.

    With this schema, a text editor can complete and explain the keys of a spec, and mark mistakes.
    """
    from leastnoise.tables.parse.spec_text import json_schema

    terminal.say(json.dumps(json_schema(), indent=2, ensure_ascii=False), lines=True)


NO_OUTPUT = ("output", 'Missing: the directory of the release. Write [output] with path = "out"')
"""The problem (key, message) of a spec that is to be published but lacks [output]."""


@contextmanager
def locate_problems(
    file: Path, *, elsewhere: Collection[str] = (), publishes: bool = False
) -> Iterator[None]:
    """Add FILE:LINE to the problems of a SpecError from the block, where the line is known.

    `file` is the spec. The keys in `elsewhere` were set by options, so they have no line. If the
    command `publishes`, a missing section [output] is added to the problems.
    """
    from leastnoise import _files
    from leastnoise.errors import SourceError, SpecError

    try:
        yield
    except SpecError as error:
        from leastnoise.tables.parse import spec_text
        from leastnoise.tables.spec.values import LARGEST_SPEC

        try:
            text = _files.read_text(file, most=LARGEST_SPEC)
        except SourceError:  # the file was removed meanwhile
            raise error from None
        problems = [*error.problems]
        if publishes and NO_OUTPUT not in problems and _lacks_output(text):
            problems.append(NO_OUTPUT)
        lines = spec_text.lines(text, problems, elsewhere=elsewhere)
        locations = ["" if line is None else f"{file}:{line}" for line in lines]
        raise SpecError(problems, locations=locations) from None


def _lacks_output(text: str) -> bool:
    """True if the spec is well-formed TOML without a section [output]."""
    from leastnoise.errors import SpecError
    from leastnoise.tables.parse.spec_file import parse_toml

    try:
        return "output" not in parse_toml(text)
    except SpecError:
        return False


_LIMIT = "Limit"
_WARNING = (
    "NOT PRIVATE: these numbers are exact, without noise. Publish none of them unless the file "
    "itself is public."
)
_CHOOSE = (
    "Choose limits with a file that is public, or that has no rows of the protected persons. A "
    "limit that is chosen from their rows reveals something about them."
)
_ERRORS = (
    "noise: its standard deviation. bias: the change of the file's numbers by limits and bounds. "
    "total: the root of the sum of both squares. For several groups, each is the root mean square."
)
_SIZE = "Noise is the same in a larger file. The bias of counts and sums grows with its rows."


@click.command("limits", cls=Command)
@argument("spec", OptionType("SPEC", Path, files=True), "The spec of a release, a TOML file.")
@option(
    _LIMIT,
    "--try tried",
    OptionType("LIMIT=VALUES"),
    "The limit with the values to compare: max_rows=5,10,20 (or max_groups, max_rows_per_group), "
    "or bounds.COLUMN=0..100,0..200.",
    REQUIRED,
)
@option(
    _LIMIT, "--sample", FILE, "A file of rows that are public, or that you may look at.", REQUIRED
)
@options.as_json
def limits(*, spec: Path, tried: str, sample: Path, as_json: bool) -> None:
    """Compare values of a limit: the noise, and the bias that the limit causes.

    The comparison shows exact numbers of the sample, so don't publish it. No ledger is charged.
    """
    from leastnoise.tables.publish.try_limits import key_of, try_limits

    name, _, values = tried.partition("=")
    key = key_of(name)
    if not as_json:
        terminal.print_sentences([_WARNING])
    with (
        locate_problems(spec, elsewhere=[key, "data.source"]),
        terminal.stages("Planning", silent=as_json) as tell,
    ):
        trials = try_limits(spec, name=name, values=values.split(","), sample=sample, progress=tell)
    if as_json:
        records.print_json(_record(trials, name))
    else:
        _show(trials, name, sample)


def _record(trials: Trials, name: str) -> dict[str, Any]:
    tried = [
        {name: records.finite(value) for name, value in vars(trial).items()}
        | {"total": records.finite(trial.total)}
        for trial in trials.trials
    ]
    others = list(trials.not_compared)
    return {
        "private": False,
        "warning": _WARNING,
        "limit": name,
        "tried": tried,
        "not_compared": others,
    }


def _show(trials: Trials, name: str, sample: Path) -> None:
    rows: list[tuple[str, ...]] = []
    before = ("", "")
    for trial in trials.trials:
        named = (trial.query, trial.statistic)
        numbers = map(_words.number, (trial.noise, trial.bias, trial.total))
        first = named if named != before else ("", "")
        rows.append((*first, trial.value, *numbers, "least" if trial.least else ""))
        before = named
    heads = ("query", "statistic", name, "noise", "bias", "total", "")
    terminal.print_table(f"Errors on {sample.name}, exact", heads, rows)
    sentences = [_WARNING, _CHOOSE, _ERRORS, _SIZE]
    if trials.not_compared:
        sentences.append(f"Not compared: {_words.join_names(trials.not_compared)}.")
    terminal.print_sentences(sentences)
