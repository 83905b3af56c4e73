"""To and from dp-accounting: events, and privacy loss distributions.

`to_dp_event` returns a `DpEvent` where one says exactly the same as a mechanism, `to_pld` a
distribution that bounds its losses, and that says where its own arithmetic stops being a bound.
`from_pld` composes such distributions with a proved allowance for rounding. The only module that
can't be imported without dp-accounting.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast, final

import numpy as np
from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

from leastnoise import _validate
from leastnoise.accounting.composition import Composition, enclose_between, solve_epsilon
from leastnoise.balls.convolution import Convolution, Part, tilt_for
from leastnoise.balls.core import float_above, float_below, precision
from leastnoise.balls.losses import BITS, LossLattice
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import Exact, Interval, float_at_least, float_at_most
from leastnoise.interop.domination import dominating_laws
from leastnoise.interop.extra import NotABound, require
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.noise.question import Releases

if TYPE_CHECKING:
    from dp_accounting.dp_event import DpEvent

_WHY = (
    "dp-accounting convolves in floats: its errors of about 1e-16 in every mass are not accounted "
    "for, and are all that is left of a small delta. Compose in leastnoise (Mechanism.compose, or "
    "interop.from_plds) for a bound."
)


@final
class ProvedPld(PrivacyLossDistribution):
    """What `to_pld` returns. What comes of composing it is an ordinary distribution."""

    def compose(
        self,
        privacy_loss_distribution: PrivacyLossDistribution,
        tail_mass_truncation: float = 1e-15,
    ) -> PrivacyLossDistribution:
        """Warns that the result is no bound."""
        warnings.warn(_WHY, NotABound, stacklevel=2)
        return super().compose(privacy_loss_distribution, tail_mass_truncation)

    def self_compose(
        self, num_times: int, tail_mass_truncation: float = 1e-15
    ) -> PrivacyLossDistribution:
        """Warns that the result is no bound."""
        warnings.warn(_WHY, NotABound, stacklevel=2)
        plain = PrivacyLossDistribution(
            self._pmf_remove, None if self._symmetric else self._pmf_add
        )
        return plain.self_compose(num_times, tail_mass_truncation)


def to_dp_event(releases: Mechanism | Composition) -> DpEvent:
    """Return the event of a composition, or of all releases that a mechanism is certified for.

    A mechanism for k releases, or one of which a person reaches k draws, is a `SelfComposedDpEvent`
    with that count, each of a Poisson sample of its own if the certificate is of samples. The event
    of one of k releases is that of `mechanism.compose(1)`.

    Gaussian and Laplace noise, of Poisson samples too, have events: `GaussianDpEvent(σ/Δ₂)` and
    `LaplaceDpEvent(b/Δ₁)`, in `PoissonSampledDpEvent`, `SelfComposedDpEvent` and `ComposedDpEvent`.
    Multipliers are rounded down to floats and sampling rates up, so that no event promises more
    than the mechanism does. An event is a description; what an accountant of dp-accounting makes of
    it is as good as that accountant, and for the neighbours that the sensitivity was declared for.

    Raises NotApplicable for other noise, for which there is no event (`MixtureOfGaussiansDpEvent`
    is about random sensitivities, not about the noise `gaussian-mixture`): use `to_pld`. Raises
    MissingExtra without dp-accounting.
    """
    events = require("dp_accounting.dp_event")
    like = "a Mechanism or a Composition"
    _validate.instance(releases, (Mechanism, Composition), name="releases", like=like)
    if isinstance(releases, Mechanism):
        return _several(events, releases.certificate.releases)
    found = [_several(events, part) for part in releases.parts]
    return found[0] if len(found) == 1 else events.ComposedDpEvent(found)


def _several(events: Any, part: Releases) -> DpEvent:
    event = _one(events, part)
    return event if part.compositions == 1 else events.SelfComposedDpEvent(event, part.compositions)


def _one(events: Any, part: Releases) -> DpEvent:
    noise = part.noise
    kinds = {
        "gaussian": events.GaussianDpEvent,
        "laplace": events.LaplaceDpEvent,
    }
    if noise.name not in kinds:
        raise NotApplicable(
            family=noise.name,
            why="dp-accounting has no event for such noise; interop.to_pld exports what it costs",
        )
    multiplier = noise.scale / noise.worst_shift(part.shifts.outer)
    event = kinds[noise.name](float_at_most(multiplier))
    if part.sampling_rate == 1:
        return event
    return events.PoissonSampledDpEvent(float_at_least(part.sampling_rate), event)


def to_pld(
    releases: Mechanism | Composition, *, interval: float = 1e-4, points: int | None = None
) -> ProvedPld:
    """Return a `PrivacyLossDistribution` whose δ is nowhere below that of `releases`.

    A composition is all of its releases together, and a mechanism all that it is certified for,
    convolved here with a proved allowance for rounding; `mechanism.compose(1)` is one of them.
    Losses lie at multiples of `interval` (a float; dp-accounting only composes those of one
    interval, and its default is 1e-4), at about `points` of them on either side of 0 (480 if you
    don't say).

    The masses are proved: with real arithmetic, everything that dp-accounting works out of them is
    an upper bound, for subsampled releases of both pairs, and under any further composition. What
    is *not* promised is dp-accounting's own arithmetic. Sums of doubles may take the last digits to
    the wrong side; its convolutions leave errors of about 1e-16 in every mass, which are all that
    is left of a small δ, so that composing warns (`NotABound`). Compose here, or with `from_plds`,
    where that matters.

    Noise whose worst shift varies with ε is exported with the supremum of δ over the shifts, so
    that it may be composed by dp-accounting.

    Raises MissingExtra without dp-accounting, NotApplicable for compositions that aren't proved,
    InvalidArgument for an interval that is not positive or too small for losses of that size.
    theory/accounting.md §1 B, E; Doroshenko et al. (2022).
    """
    require("dp_accounting")

    step = _validate.real(interval, name="interval")
    if not 0 < step <= 1:
        raise InvalidArgument(name="interval", value=step, expected="0 < interval <= 1")
    if points is not None:
        points = _validate.whole(points, name="points", most=10**6)
    removed, added = dominating_laws(_composition(releases), interval=Fraction(step), points=points)
    pld = ProvedPld.create_from_rounded_probability(
        removed.masses,
        removed.infinity,
        step,
        rounded_probability_mass_function_add=added.masses if added else None,
        infinity_mass_add=added.infinity if added else None,
        symmetric=added is None,
    )
    return cast("ProvedPld", pld)


def _composition(releases: Mechanism | Composition) -> Composition:
    if isinstance(releases, Mechanism):
        return Composition(parts=(releases.certificate.releases,))
    like = "a Mechanism or a Composition"
    return _validate.instance(releases, Composition, name="releases", like=like)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class ImportedLosses:
    """The laws of losses that were imported, each with how often it counts.

    Intervals contain what these laws, taken as the exact reals that their floats are, amount to:
    nothing that leastnoise proved of a mechanism. If the masses bound a mechanism's loss from above
    (those of `to_pld` are proved to), then the upper ends do too.
    """

    removed: tuple[Part, ...]
    added: tuple[Part, ...]

    def delta(self, *, epsilon: Exact) -> Interval:
        """Return an interval that contains the larger δ(epsilon) of the two directions."""
        at = Budget(epsilon=epsilon, delta="0.5").epsilon
        found = [_delta(parts, at) for parts in self._directions]
        return Interval(max(one.lower for one in found), max(one.upper for one in found))

    def epsilon(self, *, delta: Exact) -> Interval:
        """Return an interval that contains the larger ε(delta) of the two directions.

        Raises NotApplicable if there is none, as more than `delta` lies at infinity.
        """
        wanted = Budget(epsilon=1, delta=delta).delta
        found = [_epsilon(parts, wanted) for parts in self._directions]
        return Interval(max(one.lower for one in found), max(one.upper for one in found))

    @property
    def _directions(self) -> tuple[tuple[Part, ...], ...]:
        return (self.removed,) if self.added is self.removed else (self.removed, self.added)


def from_pld(pld: PrivacyLossDistribution) -> ImportedLosses:
    """Return the losses of `pld`, alone; see `from_plds`."""
    return from_plds([(pld, 1)])


def from_plds(plds: Sequence[tuple[PrivacyLossDistribution, int]]) -> ImportedLosses:
    """Return the losses of all of `plds` together: pairs of one and how often it counts.

    The masses are taken at their word; negative ones, which Fourier transforms leave, count as 0,
    so that δ only grows. Mechanisms of leastnoise join in through `to_pld` at the same interval.

    Raises InvalidArgument for no distribution, counts below 1, an optimistic one (whose numbers
    bound nothing from above), masses that aren't probabilities, and different intervals.
    """
    found = _counted(plds)
    # dp-accounting has no other way to read a distribution's masses
    removed = tuple((_lattice(pld._pmf_remove), count) for pld, count in found)  # noqa: SLF001
    _check_step(removed)
    if all(pld._symmetric for pld, _ in found):  # noqa: SLF001
        return ImportedLosses(removed=removed, added=removed)
    added = tuple((_lattice(pld._pmf_add), count) for pld, count in found)  # noqa: SLF001
    return ImportedLosses(removed=removed, added=added)


def _counted(plds: object) -> tuple[tuple[PrivacyLossDistribution, int], ...]:
    kind = require("dp_accounting.pld.privacy_loss_distribution").PrivacyLossDistribution
    like = "pairs of a PrivacyLossDistribution and a count"
    found = tuple(
        (
            _validate.instance(pld, kind, name="plds", like=like),
            _validate.whole(count, name="counts"),
        )
        for pld, count in _validate.pairs(plds, name="plds", like=like)
    )
    if not found:
        raise InvalidArgument(name="plds", value="none", expected="at least one distribution")
    return found


def _lattice(pmf: Any) -> LossLattice:
    dense = pmf.to_dense_pmf()
    if not dense._pessimistic_estimate:  # noqa: SLF001
        raise InvalidArgument(
            name="pessimistic_estimate", value=False, expected="a pessimistic distribution"
        )
    masses = np.maximum(np.asarray(dense._probs, dtype=np.float64), 0.0)  # noqa: SLF001
    infinity = float(dense._infinity_mass)  # noqa: SLF001
    if not (np.all(np.isfinite(masses)) and np.any(masses > 0) and 0 <= infinity < 1):
        raise InvalidArgument(
            name="pld",
            value=f"masses up to {masses.max(initial=0.0)}, and {infinity} at infinity",
            expected="probabilities, not all of them at infinity",
        )
    inside = np.flatnonzero(masses)
    return LossLattice(
        step=Fraction(dense._discretization),  # noqa: SLF001
        origin=Fraction(0),
        first=int(dense._lower_loss + inside[0]),  # noqa: SLF001
        masses=masses[inside[0] : inside[-1] + 1],
        infinity=infinity,
    )


def _check_step(parts: Sequence[Part]) -> None:
    steps = sorted({float(lattice.step) for lattice, _ in parts})
    if len(steps) > 1:
        raise InvalidArgument(
            name="interval",
            value=steps,
            expected="distributions of one interval",
            hint="Give to_pld the interval of the others.",
        )


def _delta(parts: Sequence[Part], epsilon: Fraction) -> Interval:
    below, above = Convolution.of(parts, tilt_for(parts, epsilon)).delta(epsilon)
    with precision(BITS):
        return Interval(max(0.0, float_below(below)), min(1.0, float_above(above)))


def _epsilon(parts: Sequence[Part], delta: Fraction) -> Interval:
    found = solve_epsilon(lambda tilt: parts, delta)  # noqa: ARG005
    return enclose_between(found, found, delta)
