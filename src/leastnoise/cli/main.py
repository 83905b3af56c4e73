"""The entry point: the commands, and which error ends with which exit code."""

from __future__ import annotations

import io
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from leastnoise import __version__
from leastnoise.cli import (
    audit,
    calibrate,
    commands,
    compare,
    compose,
    demo,
    init,
    ledger,
    options,
    profile,
    release,
    report,
    schema,
    verify,
)
from leastnoise.cli.layout import say
from leastnoise.errors import InvalidInput, LeastnoiseError

REFUSED, MALFORMED, INTERNAL = 1, 2, 70

app = typer.Typer(
    name="leastnoise",
    cls=options.Group,
    help="The least noise that a differential-privacy guarantee allows: found, proved, sampled.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for _command in (
    calibrate, compare, profile, compose, init, schema, release, verify, report, audit,
    demo,
):  # fmt: skip
    app.command(_command.__name__.rpartition(".")[2], cls=options.Command)(_command.command)
app.add_typer(ledger.app, name="ledger")


def _print_version(asked: bool) -> None:
    if asked:
        say(f"leastnoise {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    pass


def main() -> NoReturn:
    """Run the command line: exit 0 done, 1 refused, 2 malformed input, 70 an internal error."""
    # A terminal that lacks a symbol gets a "?" for it, not an error after the work is done.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    code: object = None
    try:
        code = app(standalone_mode=False)
    except typer.Abort:  # of a prompt
        code = REFUSED
    except commands.UsageError as error:
        _fail(commands.complaint(error), MALFORMED)
    except InvalidInput as error:
        _fail(f"leastnoise: {error}", MALFORMED)
    except LeastnoiseError as error:
        _fail(f"leastnoise: {error}", REFUSED)
    except OSError as error:  # of stdout, or a temporary folder; strerror holds no data
        _fail(f"leastnoise: Input or output failed: {error.strerror}.", MALFORMED)
    # Python's own report of an unforeseen error would print its message, which could quote data:
    # here alone everything is caught, and only its kind and place are shown.
    except Exception as error:  # noqa: BLE001 (so that no message is shown)
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.lineno}"
        said = f"leastnoise: Internal error ({type(error).__name__} at {where}). Please report it."
        _fail(said, INTERNAL)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> NoReturn:
    with suppress(OSError):  # nobody reads: the exit code still says it
        say(message, err=True, lines=True)
    sys.exit(code)
