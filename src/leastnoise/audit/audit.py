"""`audit_mechanism`: draw outputs on two neighbouring inputs, and run every detector on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

import numpy as np

from leastnoise import _validate
from leastnoise.audit.claim import Audit, Claim, Draw, DrawPair, Subject, draw_outputs
from leastnoise.audit.features import (
    detect_distinguishing,
    detect_precision,
    detect_reachability,
)
from leastnoise.audit.inputs import default_inputs
from leastnoise.audit.noise import detect_noise, detect_sensitivity
from leastnoise.audit.repeats import detect_repeats
from leastnoise.errors import InvalidArgument, show_value
from leastnoise.guarantees.exact import Exact, decimal_text, exact
from leastnoise.guarantees.geometry import CellGeometry
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.mechanism.rounding import add_noise
from leastnoise.noise.draw import has_independent_coordinates
from leastnoise.noise.registry import registered_family

if TYPE_CHECKING:
    from numpy.typing import NDArray

DETECTORS = MappingProxyType(
    {
        "distinguishing": detect_distinguishing,
        "noise": detect_noise,
        "sensitivity": detect_sensitivity,
        "precision": detect_precision,
        "reachability": detect_reachability,
        "repeats": detect_repeats,
    }
)


def audit_mechanism(
    mechanism: Mechanism | Callable[..., Any],
    claim: Claim | None = None,
    *,
    inputs: Sequence[Any] | None = None,
    draws: int = 10**6,
    error: Exact = "1e-9",
    detectors: Sequence[str] | None = None,
    score: Callable[[Any], Any] | None = None,
    batched: bool = True,
) -> Audit:
    """Run a mechanism on two neighbouring inputs, and report the claims that its outputs refute.

    If a mechanism keeps its claims, the audit reports a violation with probability at most `error`.
    The detectors share this error:

    | detector | refutes |
    |---|---|
    | `distinguishing` | (ε, δ), by an event that is too likely on one input |
    | `noise` | the claimed law of the noise, by how often outputs exceed thresholds |
    | `sensitivity` | the claimed sensitivity, by the centres of the outputs |
    | `precision` | (ε, δ), by the last bits of floats |
    | `reachability` | (ε, δ), by outputs that only one input can produce |
    | `repeats` | independent draws, in calls, forks, threads, processes and coordinates |

    A mechanism without findings isn't proved private (docs/audit.md). The audit draws no randomness
    itself. To test forks, this process is forked; a fork in which the mechanism raises an exception
    is left out.

    Args:
        mechanism: `mechanism(input, count)` returns `count` independent outputs, shape (count,) or
            (count, dimension). A `Mechanism` of this library is accepted too.
        claim: The claim to test; by default the claim of a `Mechanism`.
        inputs: Two neighbouring inputs, in the form that the mechanism accepts. The audit doesn't
            check that they are neighbours. By default 0 and a shift that the claimed sensitivity
            allows, such as its bound in one coordinate.
        draws: Number of outputs on each input, 100 to 10⁸.
        error: Largest probability of a false finding, 1e-100 to 0.5.
        detectors: Names of the detectors to use; all by default.
        score: `score(outputs)` maps outputs of shape (count, dimension) to one number each, on
            which the distinguishing test looks for events.
        batched: False if the mechanism is `mechanism(input)` and returns one output.

    Returns:
        The findings of all detectors.

    Raises:
        InvalidArgument: An argument is missing or malformed, outputs aren't numbers of the shape
            above, or the claim of a `Mechanism` holds for samples only (`Claim.of`).

    Examples:
        >>> import leastnoise as ln
        >>> honest = ln.calibrate("laplace", epsilon="0.5", sensitivity=ln.L1(1))
        >>> audit_mechanism(honest, draws=20_000)
        <Audit: nothing found against 0.5-DP in 20,000 draws an input>
        >>> audit = audit_mechanism(honest, ln.Claim(epsilon="0.4"), inputs=(0, 1), draws=200_000)
        >>> audit.violated, audit.epsilon_lower > 0.4
        (True, True)
    """
    if score is not None and not callable(score):
        raise InvalidArgument(
            name="score", value=show_value(score), expected="score to be a function of outputs"
        )
    batched = _validate.flag(batched, name="batched")
    claimed, draw, dimension = _read(mechanism, claim, batched=batched)
    plan = prepare(
        claimed,
        inputs=inputs,
        draws=draws,
        error=error,
        detectors=detectors,
        dimension=dimension,
    )
    return examine(draw, plan, score=score)


@final
@dataclass(frozen=True, kw_only=True)
class AuditPlan:
    """The checked arguments of an audit, as `prepare` returns them."""

    claim: Claim
    inputs: tuple[Any, Any]
    draws: int
    error: Fraction
    detectors: tuple[str, ...]


def prepare(
    claim: Claim,
    *,
    inputs: Sequence[Any] | None,
    draws: int,
    error: Exact,
    detectors: Sequence[str] | None,
    dimension: int,
) -> AuditPlan:
    """Check the arguments of an audit, and return them as an `AuditPlan`.

    Raises InvalidArgument, as `audit_mechanism` does.
    """
    return AuditPlan(
        claim=claim,
        inputs=_inputs_of(inputs, claim, dimension),
        draws=_validate.whole(draws, name="draws", least=100, most=10**8),
        error=_error_of(error),
        detectors=_names_of(detectors),
    )


def examine(
    draw: Draw,
    plan: AuditPlan,
    *,
    score: Callable[[Any], Any] | None = None,
    draw_pair: DrawPair | None = None,
) -> Audit:
    """Draw outputs on both inputs, run the detectors of the plan, and return their findings.

    `draw` returns outputs on one input. Raises InvalidArgument if they aren't numbers, or have
    different dimensions on the two inputs. `score` is the argument of `audit_mechanism`.
    `draw_pair` is set for a mechanism that is a command: it draws the outputs of two runs that
    start at the same time.
    """
    first, second = (draw_outputs(draw, value, plan.draws) for value in plan.inputs)
    if first.shape != second.shape:
        raise InvalidArgument(
            name="mechanism",
            value=f"outputs of {first.shape[1]:,} numbers, and of {second.shape[1]:,}",
            expected="outputs of the same dimension on both inputs",
        )
    subject = Subject(
        claim=plan.claim,
        inputs=plan.inputs,
        outputs=(first, second),
        draw=draw,
        error=plan.error / len(plan.detectors),
        score=score,
        draw_pair=draw_pair,
    )
    findings = tuple(DETECTORS[name](subject) for name in plan.detectors)
    return Audit(claimed=plan.claim, draws=plan.draws, error=plan.error, findings=findings)


def _error_of(error: Exact) -> Fraction:
    level = exact(error, name="error")
    if not Fraction(1, 10**100) <= level <= Fraction(1, 2):
        raise InvalidArgument(
            name="error",
            value=decimal_text(level),
            expected="1e-100 <= error <= 0.5",
            hint="error is the probability of a false finding; 1e-9 is the default.",
        )
    return level


def _names_of(detectors: Sequence[str] | None) -> tuple[str, ...]:
    if detectors is None:
        return tuple(DETECTORS)
    listed = _validate.items(detectors, name="detectors", like='names, such as ["precision"]')
    names = tuple(_validate.one_of(name, tuple(DETECTORS), name="detectors") for name in listed)
    if not names or len(set(names)) < len(names):
        raise InvalidArgument(
            name="detectors", value=f"{len(names)} names", expected="detectors, each named once"
        )
    return names


def _read(mechanism: Any, claim: Any, *, batched: bool) -> tuple[Claim, Draw, int]:
    """Return the claim, the function that draws outputs, and their dimension (1 if unknown).

    Raises InvalidArgument if `mechanism` can't be called, or if there is no claim to test.
    """
    is_mechanism = isinstance(mechanism, Mechanism)
    if claim is None and is_mechanism:
        claim = Claim.of(mechanism)
    hint = 'Write ln.Claim(epsilon="1").'
    claimed = _validate.instance(claim, Claim, name="claim", like="a Claim", hint=hint)
    if is_mechanism:
        return claimed, draws_of(mechanism), mechanism.certificate.dimension
    if not callable(mechanism):
        raise InvalidArgument(
            name="mechanism",
            value=show_value(mechanism),
            expected="mechanism to be a Mechanism, or a function of an input and a count",
        )
    known = 1 if claimed.noise is None else claimed.noise.dimension
    return claimed, mechanism if batched else draw_one_by_one(mechanism), known


def _inputs_of(inputs: Any, claim: Claim, dimension: int) -> tuple[Any, Any]:
    if inputs is None:
        pair = default_inputs(claim, dimension)
        if pair is None:
            raise InvalidArgument(
                name="inputs",
                value="None",
                expected="inputs, or a claim with a sensitivity for which a shift is known",
                hint="Give two neighbouring inputs, such as inputs=(0, 1).",
            )
        return pair
    pair = _validate.items(inputs, name="inputs", like="two neighbouring inputs, such as (0, 1)")
    if len(pair) != 2:
        raise InvalidArgument(
            name="inputs", value=f"{len(pair)} inputs", expected="two neighbouring inputs"
        )
    return pair[0], pair[1]


def draws_of(mechanism: Mechanism) -> Draw:
    """Return a function that draws outputs of `mechanism`.

    Where the noise allows it, all outputs are drawn at once, as one long vector. The same code as
    for a release draws and rounds them.
    """
    noise, certificate = mechanism.noise, mechanism.certificate
    family = registered_family(type(noise))
    plain = certificate.geometry is None
    if plain and has_independent_coordinates(noise):
        return lambda value, count: _as_one_vector(mechanism, value, count)
    # noise with a radius is drawn vector by vector, in one dimension too
    if plain and noise.dimension == 1 and family.radius is None and family.for_one_number is None:
        return lambda value, count: add_noise(
            noise,
            mechanism.grid,
            np.full(count, value, dtype=float),
            geometry=CellGeometry(count=count),
        )
    return lambda value, count: np.array([mechanism.release(value).values for _ in range(count)])


def _as_one_vector(mechanism: Mechanism, value: Any, count: int) -> NDArray[np.float64]:
    noise: Any = mechanism.noise  # every law is a record
    many = replace(noise, dimension=count * noise.dimension)
    values = np.tile(np.asarray(value, dtype=float).ravel(), count)
    return add_noise(many, mechanism.grid, values).reshape(count, noise.dimension)


def draw_one_by_one(mechanism: Callable[[Any], Any]) -> Draw:
    """Return a function that draws many outputs from a mechanism with one output per call."""
    return lambda value, count: np.array([mechanism(value) for _ in range(count)])
