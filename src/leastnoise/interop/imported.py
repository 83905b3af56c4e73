"""Privacy loss distributions of dp-accounting, composed with a proved allowance for rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from leastnoise import _validate
from leastnoise.accounting.composition import enclose_between, solve_epsilon
from leastnoise.balls.convolution import Convolution, Part, tilt_for
from leastnoise.balls.core import float_above, float_below, precision
from leastnoise.balls.losses import BITS, LossLattice
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import Exact
from leastnoise.guarantees.interval import Interval
from leastnoise.interop.extra import require

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution


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
