"""`audit_mechanism`: draw on two neighbouring inputs, and let every detector look."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

import numpy as np

from leastnoise import _validate
from leastnoise.audit.claim import Audit, Claim, Draw, Subject, Together, draw_outputs
from leastnoise.audit.features import (
    detect_distinguishing,
    detect_precision,
    detect_reachability,
)
from leastnoise.audit.noise import detect_noise, detect_sensitivity
from leastnoise.audit.repeats import detect_repeats
from leastnoise.errors import InvalidArgument, shown
from leastnoise.guarantees.exact import Exact, decimal_text, exact, float_at_most
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
    """Run a mechanism on two neighbouring inputs and return what its outputs refute.

    `mechanism(input, count)` returns that many independent outputs, as an array of shape (count,)
    or (count, dimension). With `batched=False` it is `mechanism(input)` and returns one output. A
    `Mechanism` of this library is taken as it is, with what it claims.

    `inputs` are the two neighbours, of whatever kind the mechanism takes; left out, 0 and the
    claimed sensitivity. `draws` outputs are drawn on each. The probability that a mechanism that
    keeps its claims is found guilty of anything is at most `error`, shared out among the detectors:

    | detector | refutes |
    |---|---|
    | `distinguishing` | (ε, δ), by an event that is too likely on one input |
    | `noise` | the claimed law of the noise, by P(Y > u) at fixed u |
    | `sensitivity` | the claimed sensitivity, by where the outputs are centred |
    | `precision` | (ε, δ), by the last bits of floats |
    | `reachability` | (ε, δ), by outputs that only one input has |
    | `repeats` | that every draw is fresh: in calls, forks, threads, processes, coordinates |

    `detectors` names those to use, all if left out. `score(outputs)` returns a number for each of
    an array of outputs, of shape (count, dimension): what the distinguishing test looks at.

    No randomness is drawn here: all of it is the mechanism's. What is not promised: that a
    mechanism is private if nothing is found (docs/audit.md). A fork is tried by forking this
    process; what the mechanism raises in it is not caught.

    Raises InvalidArgument for arguments out of range, and for outputs that aren't numbers of the
    shape above.

    >>> import leastnoise as ln
    >>> honest = ln.calibrate("laplace", epsilon="0.5", sensitivity=ln.L1(1))
    >>> audit_mechanism(honest, draws=20_000)
    <Audit: nothing found against 0.5-DP in 20,000 draws an input>
    >>> found = audit_mechanism(honest, ln.Claim(epsilon="0.4"), inputs=(0, 1), draws=200_000)
    >>> found.violated, found.epsilon_lower > 0.4
    (True, True)
    """
    if score is not None and not callable(score):
        raise InvalidArgument(
            name="score", value=shown(score), expected="score to be a function of outputs"
        )
    one_a_call = not _validate.flag(batched, name="batched")
    claimed, draw, dimension = _read(mechanism, claim, one_a_call=one_a_call)
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
    """What is to be audited, checked: made by `prepare`."""

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
    """Return the plan; raises InvalidArgument. See `audit_mechanism`."""
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
    together: Together | None = None,
) -> Audit:
    """Draw on both inputs, run the detectors and return the audit."""
    one, other = (draw_outputs(draw, value, plan.draws) for value in plan.inputs)
    if one.shape != other.shape:
        raise InvalidArgument(
            name="mechanism",
            value=f"outputs of {one.shape[1]:,} numbers, and of {other.shape[1]:,}",
            expected="outputs of one dimension on both inputs",
        )
    subject = Subject(
        claim=plan.claim,
        inputs=plan.inputs,
        outputs=(one, other),
        draw=draw,
        error=plan.error / len(plan.detectors),
        score=score,
        together=together,
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
            hint="It is the probability of a false finding; 1e-9 is the default.",
        )
    return level


def _names_of(detectors: Sequence[str] | None) -> tuple[str, ...]:
    if detectors is None:
        return tuple(DETECTORS)
    listed = _validate.items(detectors, name="detectors", like='names, such as ["precision"]')
    names = tuple(_validate.one_of(one, tuple(DETECTORS), name="detectors") for one in listed)
    if not names or len(set(names)) < len(names):
        raise InvalidArgument(
            name="detectors", value=f"{len(names)} names", expected="detectors, each named once"
        )
    return names


def _read(mechanism: Any, claim: Any, *, one_a_call: bool) -> tuple[Claim, Draw, int]:
    """Return the claim, the function that draws outputs, and their dimension, 1 if unknown."""
    own = isinstance(mechanism, Mechanism)
    if claim is None and own:
        claim = Claim.of(mechanism)
    hint = 'Write ln.Claim(epsilon="1").'
    claimed = _validate.instance(claim, Claim, name="claim", like="a Claim", hint=hint)
    if own:
        return claimed, draws_of(mechanism), mechanism.certificate.dimension
    if not callable(mechanism):
        raise InvalidArgument(
            name="mechanism",
            value=shown(mechanism),
            expected="mechanism to be a Mechanism, or a function of an input and a count",
        )
    known = 1 if claimed.noise is None else claimed.noise.dimension
    return claimed, one_by_one(mechanism) if one_a_call else mechanism, known


def _inputs_of(inputs: Any, claim: Claim, dimension: int) -> tuple[Any, Any]:
    if inputs is None:
        found = default_inputs(claim, dimension)
        if found is None:
            raise InvalidArgument(
                name="inputs",
                value="None",
                expected="inputs, or a claim that names a sensitivity with a bound",
                hint="Give two neighbouring inputs, such as inputs=(0, 1).",
            )
        return found
    pair = _validate.items(inputs, name="inputs", like="two neighbouring inputs, such as (0, 1)")
    if len(pair) != 2:
        raise InvalidArgument(
            name="inputs", value=f"{len(pair)} of them", expected="inputs to be two neighbours"
        )
    return pair[0], pair[1]


def draws_of(mechanism: Mechanism) -> Draw:
    """Return a function that draws outputs of `mechanism`, many at a time where noise allows it.

    Independent draws of noise for one number, and those whose coordinates are independent, are the
    coordinates of one longer draw, by the same code and rounding as a release.
    """
    noise, certificate = mechanism.noise, mechanism.certificate
    family = registered_family(type(noise))
    plain = certificate.geometry is None
    if plain and has_independent_coordinates(noise):
        return lambda value, count: _as_one_vector(mechanism, value, count)
    # noise of a radius is drawn a vector at a time, in one dimension too
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


def one_by_one(mechanism: Callable[[Any], Any]) -> Draw:
    """Return a function that draws many outputs from one that returns one."""
    return lambda value, count: np.array([mechanism(value) for _ in range(count)])


def default_inputs(claim: Claim, dimension: int) -> tuple[Any, Any] | None:
    """Return 0 and Δ, or vectors that differ by Δ in one coordinate; None if Δ isn't known."""
    bound = getattr(claim.sensitivity, "bound", None)
    if bound is None:
        return None
    moved = np.zeros(dimension)
    moved[0] = float_at_most(bound)
    return (0.0, float(moved[0])) if dimension == 1 else (np.zeros(dimension), moved)
