"""`leastnoise init`: a first spec for a source, to be filled in."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from leastnoise.cli import options, records


def command(
    *,
    source: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="What a spec has for data.source: files, a pattern, a folder or a database.",
        ),
    ],
    table: Annotated[
        str | None,
        typer.Option(
            metavar=options.NAME,
            help="The table, if the source is a database.",
            rich_help_panel=options.QUERY,
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            metavar=options.FILE,
            help="The spec to write, which must not exist yet.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = Path("spec.toml"),
) -> None:
    """Write a first spec for a source, to be filled in.

    From the names and types of its columns alone: no row is read, but for the first line of a CSV,
    which has to be a header.
    """
    from leastnoise.errors import InvalidInput
    from leastnoise.tables.rows import starter

    with records.stages("Reading the columns of the source"):
        text = starter.text(source, table=table, folder=output.parent)
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
        records.say(line)
