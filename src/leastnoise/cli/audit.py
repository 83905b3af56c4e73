"""`leastnoise audit`: what the outputs of a mechanism refute."""

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

    from leastnoise.audit.claim import Claim, Draw, Together

_FUNCTION = (
    "The mechanism: a function that takes an input and a count, and returns so many outputs."
)
_PROGRAM = (
    "The mechanism is a command that prints an output a line; {value} stands for the input, "
    "{count} for how many."
)
_INPUT = (
    "One of the two inputs, which differ in one person: a number, or numbers between commas; "
    "repeatable. 0 and the sensitivity if left out."
)
_DETECTOR = (
    "Look for this alone: distinguishing, noise, sensitivity, precision, reachability or repeats; "
    "repeatable."
)


def _detectors() -> tuple[str, ...]:
    from leastnoise.audit.audit import DETECTORS

    return tuple(DETECTORS)


@click.command("audit", cls=Command)
@argument("target", OptionType("[MODULE:FUNCTION]"), _FUNCTION, None)
@options_of(
    "Mechanism",
    ("--command program", OptionType("COMMAND"), _PROGRAM),
    ("--one-a-call", None, "The function takes an input, and returns one output."),
    ("--timeout", SECONDS, "How many seconds a run of the command may take.", 600.0),
)
@options.budget
@options.query
@options_of(
    NOISE,
    ("--noise", options.FAMILY, "The noise family that is claimed, if one is."),
    ("--scale", NUMBER, "Scale of that noise, an exact decimal."),
)
@options.parameters
@options_of(
    SEARCH,
    ("--input inputs", OptionType("VALUE"), _INPUT, MANY),
    ("--draws", INTEGER, "How many outputs are drawn on each input.", 10**6),
    ("--error", NUMBER, "The probability, at most, of finding what isn't there.", "1e-9"),
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

    It is run on two inputs that differ in one person, and is to keep ε and δ, and the noise and
    sensitivity that are claimed. Exit code 1 if a violation is found. If none is, that proves
    nothing.
    """
    from leastnoise.audit.audit import examine, one_by_one, prepare
    from leastnoise.audit.program import ProgramUnderTest
    from leastnoise.errors import InvalidArgument

    if (target is None) == (program is None):
        raise InvalidArgument(
            name="MODULE:FUNCTION",
            value="nothing" if target is None else "beside --command",
            expected="a function or a --command, one of them",
        )
    if query.release_n and not inputs:  # neighbours differ in two numbers: in which is unknown here
        raise InvalidArgument(name="--release-n", value=True, expected="--input, twice, beside it")
    claim = _claim(epsilon, delta, query, noise=noise, scale=scale, parameters=parameters)
    draw: Draw
    together: Together | None = None
    if program is not None:
        run = ProgramUnderTest(command=program, seconds=timeout)
        draw, together = run.draw, run.together
    else:
        function = _guarded(_function(target or ""))
        draw = one_by_one(function) if one_a_call else function
    plan = prepare(
        claim,
        inputs=[_input(text) for text in inputs] or None,
        draws=draws,
        error=error,
        detectors=list(detector) or None,
        dimension=query.coordinates,
    )
    done = examine(draw, plan, together=together)
    if as_json:
        records.print_json(done.to_record())
    else:
        terminal.print_sentences(done.sentences())
    if done.violated:
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
    """Return the function that MODULE:FUNCTION names; modules of the working folder are found."""
    from leastnoise.audit.twice import function_at
    from leastnoise.errors import InvalidArgument

    module, _, name = target.partition(":")
    if not (module and name):
        raise InvalidArgument(
            name="MODULE:FUNCTION", value=repr(target[:60]), expected="such as noise.laplace:draw"
        )
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = function_at(module, name)
    except KeyboardInterrupt:  # the user's
        raise
    except BaseException as error:  # noqa: BLE001 (it may raise anything, with data in it)
        raise _failed("can't be imported", error) from None
    if not callable(found):
        raise InvalidArgument(
            name="MODULE:FUNCTION", value=repr(target[:60]), expected="the name of a function"
        )
    return found


def _guarded(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, whose exceptions are told apart from ours and never shown.

    One that exits the process, or stops it by what no one else catches, has not been examined: an
    exit code of its own would say otherwise.
    """

    @functools.wraps(draw)
    def hide_values(*arguments: Any) -> Any:
        try:
            return draw(*arguments)
        except KeyboardInterrupt:  # the user's
            raise
        except BaseException as error:  # noqa: BLE001 (its message may hold data)
            raise _failed("failed", error) from None

    return hide_values


def _failed(what: str, error: BaseException) -> Exception:
    from leastnoise.errors import InvalidInput

    return InvalidInput(f"The function {what}: {terminal.place_of(error)}.")


def _input(text: str) -> Any:
    """Return a number, a vector of the numbers between commas, or the text itself."""
    import numpy as np

    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        return text
    return numbers[0] if len(numbers) == 1 else np.array(numbers)
