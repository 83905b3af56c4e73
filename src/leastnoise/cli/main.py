"""The entry point: all commands, and the exit codes of errors."""

from __future__ import annotations

import io
import sys
from contextlib import suppress
from typing import NoReturn

import click

from leastnoise import __version__
from leastnoise.cli import (
    audit,
    calibrate,
    command,
    compare,
    demo,
    design,
    ledger,
    release,
    series,
    spec,
    standardise,
)
from leastnoise.cli.terminal import describe_location, say
from leastnoise.errors import InvalidInput, LeastnoiseError

REFUSED, MALFORMED, INTERNAL, INTERRUPTED = 1, 2, 70, 130


@click.group(
    "leastnoise",
    cls=command.CommandGroup,
    commands=[
        calibrate.command,
        compare.command,
        calibrate.profile,
        calibrate.compose,
        spec.init,
        design.command,
        spec.schema,
        release.command,
        release.verify,
        release.report,
        release.difference,
        standardise.command,
        spec.limits,
        audit.command,
        demo.command,
        ledger.group,
        series.group,
    ],
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(
    __version__, message="%(prog)s %(version)s", prog_name="leastnoise", help="Print the version."
)
def app() -> None:
    """Find, prove and sample the least noise that a differential-privacy guarantee allows."""


def main() -> NoReturn:
    """Run the command line.

    Exit codes: 0 done, 1 refused, 2 malformed input, 70 internal error, 130 interrupted.
    """
    # A terminal that lacks a symbol gets a "?" for it, not an error after the work is done.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    code: object = None
    try:
        code = app(standalone_mode=False)
    except click.Abort as error:
        interrupted = isinstance(error.__cause__, KeyboardInterrupt)
        code = INTERRUPTED if interrupted else REFUSED  # the user answered a prompt with no
    except click.UsageError as error:
        _fail(command.complaint(error), MALFORMED)
    except InvalidInput as error:
        _fail(f"leastnoise: {error}", MALFORMED)
    except LeastnoiseError as error:
        _fail(f"leastnoise: {error}", REFUSED)
    # an error from stdout or a temporary folder; strerror contains no data
    except OSError as error:
        _fail(f"leastnoise: Input or output failed: {error.strerror}.", MALFORMED)
    # Python's own report of an unforeseen error would print its message, which could quote data. So
    # every error is caught here, and only its type and line are shown.
    except Exception as error:  # noqa: BLE001 (so that no message is shown)
        _fail(
            f"leastnoise: Internal error ({describe_location(error)}). Please report it.", INTERNAL
        )
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> NoReturn:
    with suppress(OSError):  # a closed stream; the exit code still reports the failure
        say(message, err=True, lines=True)
    sys.exit(code)
