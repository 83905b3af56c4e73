"""`leastnoise audit`: find violations of a mechanism's claims in its outputs."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leastnoise.cli import options, records, terminal
from leastnoise.cli.command import MANY, Command, OptionType, argument, options_of
from leastnoise.cli.options import INTEGER, NOISE, NUMBER, SEARCH, SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from leastnoise.audit.claim import Claim, Draw, DrawPair

_FUNCTION = "The mechanism: a Python function of an input and a count n, which returns n outputs."
_PROGRAM = (
    "The mechanism is a command that prints one output per line; {value} stands for the input, "
    "{count} for the number of outputs."
)
_INPUT = (
    "One of the two inputs, which differ in one person: a number, or several separated by commas "
    "(1,2). Give this option twice, once for each input. If left out, the inputs are 0 and the "
    "sensitivity."
)
_DETECTOR = (
    "Use only this detector (may be repeated): distinguishing, noise, sensitivity, precision, "
    "reachability or repeats."
)


def _detectors() -> tuple[str, ...]:
    from leastnoise.audit.audit import DETECTORS

    return tuple(DETECTORS)


@click.command("audit", cls=Command)
@argument("target", OptionType("[MODULE:FUNCTION]"), _FUNCTION, None)
@options_of(
    "Mechanism",
    ("--command program", OptionType("COMMAND"), _PROGRAM),
    (
        "--one-a-call",
        None,
        "The function takes only an input, without a count, and returns one output.",
    ),
    ("--timeout", SECONDS, "Time limit in seconds for one run of the command.", 600.0),
)
@options.budget
@options.query
@options_of(
    NOISE,
    ("--noise", options.FAMILY, "The noise family that the mechanism claims to use."),
    ("--scale", NUMBER, "Scale of the claimed noise, an exact decimal."),
)
@options.parameters
@options_of(
    SEARCH,
    ("--input inputs", OptionType("VALUE"), _INPUT, MANY),
    ("--draws", INTEGER, "Number of outputs drawn for each input.", 10**6),
    ("--error", NUMBER, "Largest probability of a false finding.", "1e-9"),
    ("--detector", OptionType("NAME", complete=_detectors), _DETECTOR, MANY),
)
@options.as_json
def command(
    *,
    target: str | None,
    program: str | None,
    one_a_call: bool,
    timeout: float,
    epsilon: str,
    delta: str,
    query: options.QueryOptions,
    noise: str | None,
    scale: str | None,
    parameters: dict[str, str | int],
    inputs: tuple[str, ...],
    draws: int,
    error: str,
    detector: tuple[str, ...],
    as_json: bool,
) -> None:
    """Look for a violation of a mechanism's claims in its outputs.

    The mechanism runs on two inputs that differ in one person. The outputs are tested against the
    claimed ε, δ, noise and sensitivity. Exit code 1 if a violation is found. Finding no
    violation proves nothing.
    """
    from leastnoise.audit.audit import draw_one_by_one, examine, prepare
    from leastnoise.audit.program import ProgramUnderTest
    from leastnoise.errors import InvalidArgument

    if (target is None) == (program is None):
        raise InvalidArgument(
            name="MODULE:FUNCTION",
            value="nothing" if target is None else "beside --command",
            expected="either a function or a --command",
        )
    claim = _claim(epsilon, delta, query, noise=noise, scale=scale, parameters=parameters)
    draw: Draw
    draw_pair: DrawPair | None = None
    if program is not None:
        run = ProgramUnderTest(command=program, seconds=timeout)
        draw, draw_pair = run.draw, run.draw_pair
    else:
        function = _hide_errors(_function(target or ""))
        draw = draw_one_by_one(function) if one_a_call else function
    plan = prepare(
        claim,
        inputs=[_input(text) for text in inputs] or None,
        draws=draws,
        error=error,
        detectors=list(detector) or None,
        dimension=query.coordinates,
    )
    audit = examine(draw, plan, draw_pair=draw_pair)
    if as_json:
        records.print_json(audit.to_record())
    else:
        terminal.print_sentences(audit.sentences())
    if audit.violated:
        raise click.exceptions.Exit(1)


def _claim(
    epsilon: str,
    delta: str,
    query: options.QueryOptions,
    *,
    noise: str | None,
    scale: str | None,
    parameters: dict[str, str | int],
) -> Claim:
    from leastnoise.audit.claim import Claim
    from leastnoise.errors import InvalidArgument
    from leastnoise.noise.registry import family_named
    from leastnoise.selection.ask import fix_parameters

    sensitivity = query.declared()
    if noise is None and scale is None and not parameters:
        return Claim(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    if noise is None or scale is None:
        raise InvalidArgument(
            name="--scale" if scale is None else "--noise",
            value="nothing",
            expected="--noise and --scale together",
        )
    family = family_named(noise)
    shape: Any = fix_parameters(family, parameters)
    law = family.made_for(sensitivity, dimension=query.coordinates, scale=scale, parameters=shape)
    return Claim(epsilon=epsilon, delta=delta, sensitivity=sensitivity, noise=law)


def _function(target: str) -> Callable[..., Any]:
    """Import the function MODULE:FUNCTION; the module may be in the working folder."""
    from leastnoise.audit.twice import function_at
    from leastnoise.errors import InvalidArgument

    module, _, name = target.partition(":")
    if not (module and name):
        raise InvalidArgument(
            name="MODULE:FUNCTION", value=repr(target[:60]), expected="such as noise.laplace:draw"
        )
    sys.path.insert(0, str(Path.cwd()))
    try:
        function = function_at(module, name)
    except KeyboardInterrupt:  # Ctrl-C
        raise
    except BaseException as error:  # noqa: BLE001 (any error, whose message may contain data)
        raise _failure("can't be imported", error) from None
    if not callable(function):
        raise InvalidArgument(
            name="MODULE:FUNCTION", value=repr(target[:60]), expected="the name of a function"
        )
    return function


def _hide_errors(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the audited function: its exceptions become InvalidInput, without their messages.

    A message could quote data. SystemExit is replaced, too, since its exit code would look like a
    result of the audit. Only KeyboardInterrupt is passed on.
    """

    @functools.wraps(draw)
    def hide_values(*arguments: Any) -> Any:
        try:
            return draw(*arguments)
        except KeyboardInterrupt:  # Ctrl-C
            raise
        except BaseException as error:  # noqa: BLE001 (its message may contain data)
            raise _failure("failed", error) from None

    return hide_values


def _failure(what: str, error: BaseException) -> Exception:
    from leastnoise.errors import InvalidInput

    return InvalidInput(f"The function {what}: {terminal.describe_location(error)}.")


def _input(text: str) -> Any:
    """Read an input as a number or a vector (numbers with commas). Any other text stays a text."""
    import numpy as np

    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        return text
    return numbers[0] if len(numbers) == 1 else np.array(numbers)
