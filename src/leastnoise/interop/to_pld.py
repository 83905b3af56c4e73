"""A mechanism as a privacy loss distribution of dp-accounting."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, cast

from leastnoise import _validate
from leastnoise.accounting.composition import Composition
from leastnoise.errors import InvalidArgument
from leastnoise.interop.domination import dominating_laws
from leastnoise.interop.extra import require
from leastnoise.mechanism.mechanism import Mechanism

_MOST_POINTS = 10**6

if TYPE_CHECKING:
    from leastnoise.interop.proved_pld import ProvedPld


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
    from leastnoise.interop.proved_pld import ProvedPld  # noqa: PLC0415 - it needs the extra

    step = _validate.real(interval, name="interval")
    if not 0 < step <= 1:
        raise InvalidArgument(name="interval", value=step, expected="0 < interval <= 1")
    if points is not None:
        points = _validate.whole(points, name="points", most=_MOST_POINTS)
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
