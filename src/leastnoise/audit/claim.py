"""The claim about a mechanism, the mechanism under test, and the result of an audit."""

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
"""A function t ↦ P(X <= t) of the noise X, with an error of at most 1e-9."""


@final
@record()
class Claim:
    """The claimed (ε, δ), and optionally the claimed sensitivity and noise.

    More claims can be refuted in more ways. ε and δ alone are refuted by an event that is too
    likely on one of two neighbouring inputs. A claimed noise law can be refuted by its scale, which
    takes far fewer draws.

    Args:
        epsilon: Claimed ε.
        delta: Claimed δ.
        sensitivity: Claimed bound on the distance between the exact results of neighbouring inputs.
        noise: Claimed noise, a law of this library with its scale.
        distribution: Any other claimed noise: a function t ↦ P(X <= t) of one coordinate X of the
            noise, with an error of at most 1e-9.

    Raises:
        InvalidArgument: An argument has the wrong type or is out of range, or both `noise` and
            `distribution` are given.

    Examples:
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
        """The claim of a mechanism of this library, from its certificate.

        The noise is left out if a geometry maps it before the release.

        Args:
            mechanism: The mechanism.

        Returns:
            The claim.

        Raises:
            InvalidArgument: `mechanism` isn't a `Mechanism`, or its certificate has a
                `sampling_rate` below 1: an audit doesn't sample rows.

        """
        _validate.instance(mechanism, Mechanism, name="mechanism", like="a Mechanism")
        certificate = mechanism.certificate
        if certificate.sampling_rate != 1:
            raise InvalidArgument(
                name="mechanism",
                value=f"a mechanism with sampling_rate={decimal_text(certificate.sampling_rate)}",
                expected="sampling_rate=1, since an audit draws no samples",
                hint="Claim the guarantee without sampling: ln.Claim(epsilon=e, delta=d), where e "
                "is mechanism.compose(1, sampling_rate=1).epsilon(delta=d).upper.",
            )
        return cls(
            epsilon=certificate.budget.epsilon,
            delta=certificate.budget.delta,
            sensitivity=certificate.sensitivity,
            noise=certificate.noise if certificate.geometry is None else None,
        )

    def __repr__(self) -> str:
        text = _words.format_guarantee(self.epsilon, self.delta)
        if self.sensitivity is not None:
            text += f" under {_words.sensitivity(self.sensitivity)}"
        if self.noise is not None:
            text += f", {self.noise.name} noise of scale {_words.number(self.noise.scale)}"
        return _words.line("Claim", f"{text}{', a distribution' if self.distribution else ''}")


Verdict = Literal["violation", "nothing found", "not tried"]


@final
@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of one detector.

    Attributes:
        detector: Name of the detector.
        verdict: "violation", "nothing found" or "not tried".
        claim: The tested claim, as text; a violation refutes it.
        statement: The evidence, as a sentence.
        error: Largest probability of the verdict "violation" for a mechanism that keeps its claims.
        would_detect: A sentence on the size of a violation that would have been found with
            probability >= 99 %, by the same bounds and events; it may be empty.
        epsilon_lower: Lower bound on the mechanism's ε at the claimed δ; None if not tested.
        delta_lower: Lower bound on the mechanism's δ at the claimed ε; None if not tested.

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
    """The findings of all detectors.

    An audit can prove a violation, never privacy: an audit without violations proves nothing. `str`
    formats it as text for people.

    Attributes:
        claimed: The tested claim.
        draws: Number of outputs on each input.
        error: Largest probability that any finding is false.
        findings: One finding per detector.

    """

    claimed: Claim
    draws: int
    error: Fraction
    findings: tuple[Finding, ...]

    def __repr__(self) -> str:
        result = "a violation" if self.violated else "nothing found"
        names = [finding.detector for finding in self.findings if finding.verdict == "violation"]
        by = f" by {_words.list_names(names)}" if names else ""
        claim = _words.format_guarantee(self.claimed.epsilon, self.claimed.delta)
        draws = f"{self.draws:,} draws an input"
        return _words.line("Audit", f"{result}{by} against {claim} in {draws}")

    def __str__(self) -> str:
        return "\n".join(
            textwrap.fill(sentence, 100, subsequent_indent="  ", break_on_hyphens=False)
            for sentence in self.sentences()
        )

    @property
    def violated(self) -> bool:
        """True if a claim was refuted."""
        return any(finding.verdict == "violation" for finding in self.findings)

    @property
    def epsilon_lower(self) -> float:
        """A lower bound on ε at the claimed δ, wrong with probability at most `error`.

        It may be above 0 without a violation. It is 0 if no event gives a bound.
        """
        return max((finding.epsilon_lower or 0.0 for finding in self.findings), default=0.0)

    @property
    def delta_lower(self) -> float:
        """A lower bound on δ at the claimed ε, wrong with probability at most `error`.

        It may be above 0 without a violation. It is 0 if no event gives a bound.
        """
        return max((finding.delta_lower or 0.0 for finding in self.findings), default=0.0)

    def sentences(self) -> list[str]:
        """The findings as text.

        Returns:
            Paragraphs: the claim, one per detector, the lower bounds on ε and δ unless both are 0,
            and a conclusion if there is no violation.

        """
        claim = _words.format_guarantee(self.claimed.epsilon, self.claimed.delta)
        head = (
            f"Claimed: {claim}. {self.draws:,} draws on each of two inputs, which are taken to be "
        )
        head += "neighbours; any finding is false with probability at most "
        head += f"{_words.number(self.error)}."
        paragraphs = [head]
        for finding in self.findings:
            reach = f" {finding.would_detect}" if finding.would_detect else ""
            paragraphs.append(f"{finding.detector}: {finding.verdict}. {finding.statement}{reach}")
        if self.epsilon_lower or self.delta_lower:
            end = f"Proved: ε >= {_words.round_down(self.epsilon_lower)} at the claimed δ"
            paragraphs.append(
                f"{end}, δ >= {_words.round_down(self.delta_lower)} at the claimed ε."
            )
        if not self.violated:
            paragraphs.append("No violation was found, which doesn't prove privacy.")
        return paragraphs

    def to_record(self) -> dict[str, Any]:
        """The audit as plain types, for JSON.

        Returns:
            A dict that `json.dumps` writes.

        """
        return {
            "violated": self.violated,
            "epsilon": decimal_text(self.claimed.epsilon),
            "delta": decimal_text(self.claimed.delta),
            "draws": self.draws,
            "error": decimal_text(self.error),
            "epsilon_lower": self.epsilon_lower,
            "delta_lower": self.delta_lower,
            "findings": [asdict(finding) for finding in self.findings],
        }


# The mechanism under test, and its outputs on two neighbouring inputs.


Draw = Callable[[Any, int], Any]
"""A function (input, count) ↦ `count` outputs of the mechanism."""
DrawPair = Callable[[Any, int], "tuple[NDArray[np.float64], NDArray[np.float64]]"]
"""A function (input, count) ↦ `count` outputs of each of two simultaneous processes."""


@final
@dataclass(frozen=True, kw_only=True)
class Subject:
    """The input of every detector: the claim, two neighbouring inputs and the outputs on them.

    `outputs` are the outputs on the two inputs, of shape (draws, dimension) each. `draw` draws more
    of them, and `score` is the user's function of outputs. `error` is the largest probability of a
    false finding by the detector. `draw_pair` is set for a mechanism that is a command: it draws
    the outputs of two runs that start at the same time.
    """

    claim: Claim
    inputs: tuple[Any, Any]
    outputs: tuple[NDArray[np.float64], NDArray[np.float64]]
    draw: Draw
    error: Fraction
    score: Callable[[Any], Any] | None = None
    draw_pair: DrawPair | None = None

    @property
    def dimension(self) -> int:
        """The number of coordinates of an output."""
        return self.outputs[0].shape[1]

    def coordinates(self, most: int = 8) -> range:
        """The first coordinates, at most `most`; the others aren't tested."""
        return range(min(self.dimension, most))

    @property
    def draws(self) -> int:
        """The number of outputs on each input."""
        return self.outputs[0].shape[0]

    @property
    def first(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The first half of the outputs on each input, on which events are chosen."""
        half = self.draws // 2
        return self.outputs[0][:half], self.outputs[1][:half]

    @property
    def second(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The second half of the outputs on each input, on which events are tested."""
        half = self.draws // 2
        return self.outputs[0][half:], self.outputs[1][half:]

    @property
    def centres(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """The inputs as vectors of the outputs' dimension; None if they aren't such vectors."""
        first, second = (_as_vector(value, self.dimension) for value in self.inputs)
        return None if first is None or second is None else (first, second)


def _as_vector(value: Any, dimension: int) -> NDArray[np.float64] | None:
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        return None
    if array.dtype.kind not in "iuf" or array.size != dimension:
        return None
    return array.astype(np.float64).reshape(dimension)


def draw_outputs(draw: Draw, value: Any, count: int) -> NDArray[np.float64]:
    """Draw `count` outputs as floats of shape (count, dimension).

    Raises InvalidArgument for other outputs; the message never quotes them.
    """
    try:
        outputs = np.asarray(draw(value, count))
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        outputs = np.array(None)
    if outputs.dtype.kind not in "iufb" or outputs.ndim not in (1, 2) or outputs.shape[0] != count:
        raise InvalidArgument(
            name="mechanism",
            value=f"outputs of type {outputs.dtype.type.__name__} and shape {outputs.shape}",
            expected=f"mechanism(input, {count}) to return real numbers of shape ({count},) or "
            f"({count}, dimension)",
            hint="For a mechanism that returns one output per call, use batched=False.",
        )
    if outputs.shape[-1] == 0:
        raise InvalidArgument(name="mechanism", value="no numbers", expected="outputs of numbers")
    return np.ascontiguousarray(outputs.astype(np.float64).reshape(count, -1))
