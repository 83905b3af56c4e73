"""Export to and import from dp-accounting: events, and privacy loss distributions.

`to_dp_event` returns a `DpEvent` if one describes a mechanism exactly. `to_pld` returns a
distribution that bounds its losses, and warns when dp-accounting's own arithmetic stops being a
bound. `from_pld` composes such distributions with a proved allowance for rounding. dp-accounting is
imported when one of these functions is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast, final

import numpy as np

from leastnoise import _validate
from leastnoise.accounting.composition import Composition, enclose_between, solve_epsilon
from leastnoise.balls.convolution import Convolution, Part, tilt_for
from leastnoise.balls.core import float_above, float_below, precision
from leastnoise.balls.losses import BITS, LossLattice
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import Exact, Interval, float_at_least, float_at_most
from leastnoise.interop.domination import dominating_laws
from leastnoise.interop.extra import require
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.noise.question import Releases

if TYPE_CHECKING:
    from dp_accounting.dp_event import DpEvent
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    from leastnoise.interop.proved_pld import ProvedPld


def to_dp_event(releases: Mechanism | Composition) -> DpEvent:
    """Describe a mechanism or a composition as a `DpEvent` of dp-accounting.

    Only Gaussian and Laplace noise have events: `GaussianDpEvent(σ/Δ₂)` and `LaplaceDpEvent(b/Δ₁)`,
    for the standard deviation σ, the Laplace scale b, and the l2 and l1 sensitivities Δ₂ and Δ₁. A
    Poisson sample becomes a `PoissonSampledDpEvent`, several releases of one mechanism (or several
    draws that one person affects) a `SelfComposedDpEvent`, and several mechanisms a
    `ComposedDpEvent`. For one release of several use `mechanism.compose(1)`. Multipliers are
    rounded down to floats and sampling rates up, so that no event promises more than the mechanism.
    An event is a description: the quality of a bound depends on dp-accounting's accountant, and it
    holds for the neighbours of the declared sensitivity.

    Args:
        releases: A mechanism, with all releases of its certificate, or a composition.

    Returns:
        The event.

    Raises:
        NotApplicable: There is no event for the noise; use `to_pld`. (`MixtureOfGaussiansDpEvent`
            is about random sensitivities, not about `gaussian-mixture` noise.)
        MissingExtra: dp-accounting isn't installed.
    """
    events = require("dp_accounting.dp_event")
    like = "a Mechanism or a Composition"
    _validate.instance(releases, (Mechanism, Composition), name="releases", like=like)
    if isinstance(releases, Mechanism):
        return _several(events, releases.certificate.releases)
    parts = [_several(events, part) for part in releases.parts]
    return parts[0] if len(parts) == 1 else events.ComposedDpEvent(parts)


def _several(events: Any, part: Releases) -> DpEvent:
    event = _event_of_one(events, part)
    return event if part.compositions == 1 else events.SelfComposedDpEvent(event, part.compositions)


def _event_of_one(events: Any, part: Releases) -> DpEvent:
    noise = part.noise
    kinds = {
        "gaussian": events.GaussianDpEvent,
        "laplace": events.LaplaceDpEvent,
    }
    if noise.name not in kinds:
        raise NotApplicable(
            family=noise.name,
            why="dp-accounting has no event for such noise; use interop.to_pld",
        )
    multiplier = noise.scale / noise.worst_shift(part.shifts.outer)
    event = kinds[noise.name](float_at_most(multiplier))
    if part.sampling_rate == 1:
        return event
    return events.PoissonSampledDpEvent(float_at_least(part.sampling_rate), event)


def to_pld(
    releases: Mechanism | Composition, *, interval: float = 1e-4, points: int | None = None
) -> ProvedPld:
    """Export a `PrivacyLossDistribution` whose δ is nowhere below the δ of `releases`.

    Several releases are convolved here, with a proved allowance for rounding.

    The masses are proved. In real arithmetic, everything that dp-accounting computes from them is
    an upper bound, for both pairs of subsampled releases and under any further composition.
    dp-accounting's own arithmetic is *not* part of the promise. Sums of doubles may get the last
    digits wrong. Its convolutions leave errors of about 1e-16 in every mass, which exceed a small
    δ, so the result's `compose` warns (`NotABound`). Compose here, or with `from_plds`, if that
    matters.

    For noise whose worst shift varies with ε, the exported δ is the supremum over all shifts, so
    that dp-accounting may compose the distribution.

    Args:
        releases: A mechanism, with all releases of its certificate, or a composition.
            `mechanism.compose(1)` is one release.
        interval: Losses are multiples of this float. dp-accounting only composes distributions of
            equal intervals.
        points: Approximate number of losses on either side of 0; 480 if None.

    Returns:
        The distribution.

    Raises:
        MissingExtra: dp-accounting isn't installed.
        NotApplicable: The composition isn't proved.
        InvalidArgument: `interval` isn't in (0, 1], or is too small for losses of that size; or
            `points` is out of range.

    Source:
        theory/accounting.md §1 B, E; Doroshenko et al. (2022).
    """
    require("dp_accounting")
    proved_pld = require("leastnoise.interop.proved_pld").ProvedPld
    step = _validate.real(interval, name="interval")
    if not 0 < step <= 1:
        raise InvalidArgument(name="interval", value=step, expected="0 < interval <= 1")
    if points is not None:
        points = _validate.whole(points, name="points", most=10**6)
    removed, added = dominating_laws(_composition(releases), interval=Fraction(step), points=points)
    pld = proved_pld.create_from_rounded_probability(
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
    """Imported laws of privacy losses, each with its number of compositions.

    The intervals of its methods are exact consequences of the imported masses. leastnoise hasn't
    proved anything about a mechanism: the upper ends bound its loss if the masses do, which is
    proved for masses from `to_pld`.

    Attributes:
        removed: Laws for a removed record, as pairs of a lattice and a count.
        added: Laws for an added record.
    """

    removed: tuple[Part, ...]
    added: tuple[Part, ...]

    def delta(self, *, epsilon: Exact) -> Interval:
        """Enclose the larger δ(epsilon) of the two directions.

        Args:
            epsilon: Privacy budget ε ≥ 0.

        Returns:
            An interval that contains δ.

        """
        at = Budget(epsilon=epsilon, delta="0.5").epsilon
        sides = [_delta(parts, at) for parts in self._directions]
        return Interval(max(side.lower for side in sides), max(side.upper for side in sides))

    def epsilon(self, *, delta: Exact) -> Interval:
        """Enclose the larger ε(delta) of the two directions.

        Args:
            delta: Privacy budget δ, > 0.

        Returns:
            An interval that contains ε.

        Raises:
            NotApplicable: `delta` or more lies at infinity, or `delta` is 0.

        """
        wanted = Budget(epsilon=1, delta=delta).delta
        sides = [_epsilon(parts, wanted) for parts in self._directions]
        return Interval(max(side.lower for side in sides), max(side.upper for side in sides))

    @property
    def _directions(self) -> tuple[tuple[Part, ...], ...]:
        return (self.removed,) if self.added is self.removed else (self.removed, self.added)


def from_pld(pld: PrivacyLossDistribution) -> ImportedLosses:
    """Import the losses of one distribution; see `from_plds`.

    Args:
        pld: The distribution.

    Returns:
        Its losses.

    """
    return from_plds([(pld, 1)])


def from_plds(plds: Sequence[tuple[PrivacyLossDistribution, int]]) -> ImportedLosses:
    """Import the losses of several distributions together.

    The masses are used without proof. Negative masses, which Fourier transforms leave, count as 0,
    so that δ only grows. To compose with mechanisms of leastnoise, export these by `to_pld` with
    the same interval.

    Args:
        plds: Pairs of a distribution and its number of compositions.

    Returns:
        The losses of all together.

    Raises:
        InvalidArgument: There is no distribution, a count is below 1, a distribution is optimistic
            (it bounds nothing from above), masses aren't probabilities, or intervals differ.
    """
    counted = _check_pairs(plds)
    # dp-accounting offers no other access to a distribution's masses
    removed = tuple((_lattice(pld._pmf_remove), count) for pld, count in counted)  # noqa: SLF001
    _check_step(removed)
    if all(pld._symmetric for pld, _ in counted):  # noqa: SLF001
        return ImportedLosses(removed=removed, added=removed)
    added = tuple((_lattice(pld._pmf_add), count) for pld, count in counted)  # noqa: SLF001
    return ImportedLosses(removed=removed, added=added)


def _check_pairs(plds: object) -> tuple[tuple[PrivacyLossDistribution, int], ...]:
    kind = require("dp_accounting.pld.privacy_loss_distribution").PrivacyLossDistribution
    like = "pairs of a PrivacyLossDistribution and a count"
    pairs = tuple(
        (
            _validate.instance(pld, kind, name="plds", like=like),
            _validate.whole(count, name="counts"),
        )
        for pld, count in _validate.pairs(plds, name="plds", like=like)
    )
    if not pairs:
        raise InvalidArgument(name="plds", value="none", expected="at least one distribution")
    return pairs


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
            expected="distributions with equal intervals",
            hint="Call to_pld with the same interval for all distributions.",
        )


def _delta(parts: Sequence[Part], epsilon: Fraction) -> Interval:
    below, above = Convolution.of(parts, tilt_for(parts, epsilon)).delta(epsilon)
    with precision(BITS):
        return Interval(max(0.0, float_below(below)), min(1.0, float_above(above)))


def _epsilon(parts: Sequence[Part], delta: Fraction) -> Interval:
    solved = solve_epsilon(lambda tilt: parts, delta)  # noqa: ARG005
    return enclose_between(solved, solved, delta)
