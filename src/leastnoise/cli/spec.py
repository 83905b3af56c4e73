"""`leastnoise init` and `leastnoise schema`: a spec to begin with, and what one may hold."""

from __future__ import annotations

import json
import shlex
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leastnoise.cli import terminal
from leastnoise.cli.commands import MANY, Command, Kind, argument, option
from leastnoise.cli.options import FILE, NAME, OUTPUT, QUERY

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


@click.command(cls=Command)
@argument(
    "source",
    Kind("SOURCE...", files=True),
    "What a spec has for data.source: files, a pattern, a folder or a database.",
    MANY,
)
@option(QUERY, "--table", NAME, "The table, if the source is a database.")
@option(OUTPUT, "--output", FILE, "The spec to write, which must not exist yet.", Path("spec.toml"))
def init(*, source: tuple[str, ...], table: str | None, output: Path) -> None:
    """Write a first spec for a source, to be filled in.

    From the names and types of its columns alone: no row is read, but for the first line of a CSV,
    which has to be a header.
    """
    from leastnoise.errors import InvalidInput
    from leastnoise.tables.rows import starter

    with terminal.stages("Reading the columns of the source"):
        text = starter.text(list(source), table=table, folder=output.parent)
    try:
        with output.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        why = "It is left as it is: name another file with --output FILE."
        raise InvalidInput(f"Expected no file at {output}, found one. {why}") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        why = getattr(error, "strerror", None) or "no file can have that name"
        raise InvalidInput(f"--output {output} can't be written: {why}.") from None
    spec, released = shlex.quote(str(output)), shlex.quote(str(output.parent / starter.OUTPUT))
    for line in (  # TODO is the mark in the user's new file
        f"Written to {output}: what it leaves open is marked TODO. Next:",
        f"  1. Fill in {output}, from public knowledge and never from the data.",
        f"  2. leastnoise release {spec} --plan",
        "     says what is missing, and how large errors will be; it reads no row.",
        f"  3. leastnoise release {spec}",
        f"  4. leastnoise verify {released}",
        f"  5. leastnoise report {released}    (one page that anyone can read)",
    ):
        terminal.say(line)


@click.command(cls=Command)
def schema() -> None:
    """Print the JSON Schema of a release's spec.

    An editor that knows it completes keys, explains them, and marks what can't be right.
    """
    from leastnoise.tables.parse.spec_schema import json_schema

    terminal.say(json.dumps(json_schema(), indent=2, ensure_ascii=False), lines=True)


@contextmanager
def locate_problems(file: Path, *, elsewhere: Collection[str] = ()) -> Iterator[None]:
    """Let every problem of the spec in `file` start with FILE:LINE, where the line is known.

    Keys `elsewhere` were given by options, and are on no line.
    """
    from leastnoise import _files
    from leastnoise.errors import SourceError, SpecError

    try:
        yield
    except SpecError as error:
        from leastnoise.tables.parse import spec_lines
        from leastnoise.tables.spec.values import LARGEST_SPEC

        try:
            text = _files.read_text(file, most=LARGEST_SPEC)
        except SourceError:  # the file went away meanwhile
            raise error from None
        found = spec_lines.lines(text, error.problems, elsewhere=elsewhere)
        places = ["" if line is None else f"{file}:{line}" for line in found]
        raise SpecError(error.problems, places=places) from None
