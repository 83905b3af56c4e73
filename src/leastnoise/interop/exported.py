"""A mechanism for dp-accounting: as a `DpEvent` where one says exactly the same, or by its losses.

`to_dp_event` names the mechanism, `to_pld` makes a privacy loss distribution of it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

from leastnoise import _validate
from leastnoise.accounting.composition import Composition
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.exact import float_at_least, float_at_most
from leastnoise.interop.domination import dominating_laws
from leastnoise.interop.extra import require
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.noise.releases import Releases

if TYPE_CHECKING:
    from dp_accounting.dp_event import DpEvent

    from leastnoise.interop.proved_pld import ProvedPld


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
    from leastnoise.interop.proved_pld import ProvedPld  # noqa: PLC0415 - it needs the extra

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
