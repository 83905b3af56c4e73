"""What is claimed of a mechanism, the mechanism under test, and what an audit found."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from leastnoise import _validate, _words
from leastnoise._record import field, instance_of, optional, record, takes
from leastnoise.errors import InvalidArgument, show_value
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import decimal_text, exact
from leastnoise.guarantees.fields import FractionField
from leastnoise.guarantees.sensitivity import Sensitivity
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.noise.base import Noise

if TYPE_CHECKING:
    from numpy.typing import NDArray

Distribution = Callable[[float], float]
"""t ↦ P(X <= t), to within 1e-9."""


@final
@record()
class Claim:
    """(ε, δ)-differential privacy and, where it is claimed too, how: the sensitivity and the noise.

    The more is claimed, the more can be refuted. ε and δ alone are refuted by an event that is too
    likely on one of two neighbouring inputs. With `noise`, a law of this library, its scale can be
    refuted as well, which takes far fewer draws; `distribution` does that for any other noise: a
    function t ↦ P(X <= t), to within 1e-9, of one coordinate. `sensitivity` says how far neighbours
    are apart.

    Raises InvalidArgument for what isn't a budget, a sensitivity, a noise or a function, and for
    both a noise and a distribution.

    >>> Claim(epsilon="0.1")
    <Claim: 0.1-DP>
    """

    epsilon: FractionField = field(converter=takes(exact))
    delta: FractionField = field(converter=takes(exact), default=0)
    sensitivity: Sensitivity | None = field(
        converter=optional(instance_of(Sensitivity, like="a sensitivity, such as L1(1)")),
        default=None,
    )
    noise: Noise | None = field(
        converter=optional(instance_of(Noise, like="a Noise, such as Laplace(scale=1)")),
        default=None,
    )
    distribution: Distribution | None = None

    def _check_together(self) -> None:
        Budget(epsilon=self.epsilon, delta=self.delta)
        if self.distribution is not None and not callable(self.distribution):
            raise InvalidArgument(
                name="distribution",
                value=show_value(self.distribution),
                expected="distribution to be a function of t that returns P(X <= t)",
            )
        if self.noise is not None and self.distribution is not None:
            raise InvalidArgument(
                name="distribution",
                value="a function",
                expected="a noise or a distribution, not both",
            )

    @classmethod
    def of(cls, mechanism: Mechanism) -> Claim:
        """Return the claim of a mechanism of this library: all that is in its certificate.

        The noise is left out where a geometry maps it to other numbers than are released. Raises
        InvalidArgument for what is no `Mechanism`.
        """
        _validate.instance(mechanism, Mechanism, name="mechanism", like="a Mechanism")
        certificate = mechanism.certificate
        return cls(
            epsilon=certificate.budget.epsilon,
            delta=certificate.budget.delta,
            sensitivity=certificate.sensitivity,
            noise=certificate.noise if certificate.geometry is None else None,
        )

    def __repr__(self) -> str:
        said = _words.format_guarantee(self.epsilon, self.delta)
        if self.sensitivity is not None:
            said += f" under {_words.sensitivity(self.sensitivity)}"
        if self.noise is not None:
            said += f", {self.noise.name} noise of scale {_words.number(self.noise.scale)}"
        return _words.line("Claim", f"{said}{', a distribution' if self.distribution else ''}")


Verdict = Literal["violation", "nothing found", "not tried"]


@final
@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one detector tested, and what came out.

    `claim` is the sentence that was tested; it is refuted if `verdict` is "violation", and then
    `statement` says by what. Of a mechanism that keeps its claims, that has a probability of at
    most `error`. `would_detect` says how large a violation would have been found with a probability
    of 99 % at least, by the same bounds at the same events. `epsilon_lower` and `delta_lower` are
    bounds of the mechanism's own ε at the claimed δ, and δ at the claimed ε, if they were bounded.
    """

    detector: str
    verdict: Verdict
    claim: str
    statement: str
    error: float
    would_detect: str = ""
    epsilon_lower: float | None = None
    delta_lower: float | None = None

    def __repr__(self) -> str:
        return _words.line("Finding", f"{self.detector}: {self.verdict}. {self.statement}")


@final
@dataclass(frozen=True, kw_only=True)
class Audit:
    """The findings of all detectors, which together are false with probability at most `error`.

    Whether one of them is a violation is `violated`. That none is proves nothing: an audit can
    prove a violation, never privacy. `str` of it is a text for people.
    """

    claimed: Claim
    draws: int
    error: Fraction
    findings: tuple[Finding, ...]

    def __repr__(self) -> str:
        said = "a violation" if self.violated else "nothing found"
        names = [one.detector for one in self.findings if one.verdict == "violation"]
        by = f" by {_words.list_names(names)}" if names else ""
        claim = _words.format_guarantee(self.claimed.epsilon, self.claimed.delta)
        return _words.line("Audit", f"{said}{by} against {claim} in {self.draws:,} draws an input")

    def __str__(self) -> str:
        return "\n".join(
            textwrap.fill(sentence, 100, subsequent_indent="  ", break_on_hyphens=False)
            for sentence in self.sentences()
        )

    @property
    def violated(self) -> bool:
        """Whether a claim was refuted."""
        return any(one.verdict == "violation" for one in self.findings)

    @property
    def epsilon_lower(self) -> float:
        """A proved lower bound of ε at the claimed δ; 0 if none was found."""
        return max((one.epsilon_lower or 0.0 for one in self.findings), default=0.0)

    @property
    def delta_lower(self) -> float:
        """A proved lower bound of δ at the claimed ε; 0 if none was found."""
        return max((one.delta_lower or 0.0 for one in self.findings), default=0.0)

    def sentences(self) -> list[str]:
        """Return the findings in sentences, a paragraph for each detector."""
        claim = _words.format_guarantee(self.claimed.epsilon, self.claimed.delta)
        head = f"Claimed: {claim}. {self.draws:,} draws on each of two inputs; "
        head += f"all findings hold but for a probability of {_words.number(self.error)}."
        said = [head]
        for one in self.findings:
            reach = f" {one.would_detect}" if one.would_detect else ""
            said.append(f"{one.detector}: {one.verdict}. {one.statement}{reach}")
        if self.epsilon_lower or self.delta_lower:
            end = f"Proved: ε >= {_words.round_down(self.epsilon_lower)} at the claimed δ"
            said.append(f"{end}, δ >= {_words.round_down(self.delta_lower)} at the claimed ε.")
        if not self.violated:
            said.append("No violation was found, which doesn't prove privacy.")
        return said

    def to_record(self) -> dict[str, Any]:
        """Return all of it as plain types, for JSON."""
        return {
            "violated": self.violated,
            "epsilon": decimal_text(self.claimed.epsilon),
            "delta": decimal_text(self.claimed.delta),
            "draws": self.draws,
            "error": decimal_text(self.error),
            "epsilon_lower": self.epsilon_lower,
            "delta_lower": self.delta_lower,
            "findings": [asdict(one) for one in self.findings],
        }


# The mechanism under test, and its outputs on two neighbouring inputs.


Draw = Callable[[Any, int], Any]
"""(input, count) ↦ that many outputs."""
Together = Callable[[Any, int], "tuple[NDArray[np.float64], NDArray[np.float64]]"]
"""(input, count) ↦ the outputs of two processes at the same time."""


@final
@dataclass(frozen=True, kw_only=True)
class Subject:
    """What every detector is given.

    `outputs` are those on the two inputs, of shape (draws, dimension) each. `error` is the
    probability that the detector may err with. A mechanism that is a command has `together`.
    """

    claim: Claim
    inputs: tuple[Any, Any]
    outputs: tuple[NDArray[np.float64], NDArray[np.float64]]
    draw: Draw
    error: Fraction
    score: Callable[[Any], Any] | None = None
    together: Together | None = None

    @property
    def dimension(self) -> int:
        """Numbers in one output."""
        return self.outputs[0].shape[1]

    def coordinates(self, most: int = 8) -> range:
        """Return those of the first `most` coordinates that there are: not all are looked at."""
        return range(min(self.dimension, most))

    @property
    def draws(self) -> int:
        """Outputs on each input."""
        return self.outputs[0].shape[0]

    @property
    def first(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The half of the outputs on which events are chosen."""
        half = self.draws // 2
        return self.outputs[0][:half], self.outputs[1][:half]

    @property
    def second(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The half on which they are tested."""
        half = self.draws // 2
        return self.outputs[0][half:], self.outputs[1][half:]

    @property
    def centres(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """The inputs as vectors of the outputs' dimension, None if they aren't numbers."""
        found = [_as_vector(one, self.dimension) for one in self.inputs]
        return None if found[0] is None or found[1] is None else (found[0], found[1])


def _as_vector(value: Any, dimension: int) -> NDArray[np.float64] | None:
    try:
        found = np.asarray(value)
    except ValueError:  # rows of several lengths
        return None
    if found.dtype.kind not in "iuf" or found.size != dimension:
        return None
    return found.astype(np.float64).reshape(dimension)


def draw_outputs(draw: Draw, value: Any, count: int) -> NDArray[np.float64]:
    """Return `count` outputs as floats of shape (count, dimension).

    Raises InvalidArgument for outputs that aren't that; it names their shape alone.
    """
    try:
        found = np.asarray(draw(value, count))
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        found = np.array(None)
    if found.dtype.kind not in "iufb" or found.ndim not in (1, 2) or found.shape[0] != count:
        raise InvalidArgument(
            name="mechanism",
            value=f"outputs of type {found.dtype.type.__name__} and shape {found.shape}",
            expected=f"mechanism(input, {count}) to return real numbers of shape ({count},) or "
            f"({count}, dimension)",
            hint="For a mechanism that returns one output a call, say batched=False.",
        )
    if found.shape[-1] == 0:
        raise InvalidArgument(name="mechanism", value="no numbers", expected="outputs of numbers")
    return np.ascontiguousarray(found.astype(np.float64).reshape(count, -1))
