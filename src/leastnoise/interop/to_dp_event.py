"""A mechanism as a `DpEvent` of dp-accounting, where one says exactly the same."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from leastnoise import _validate
from leastnoise.accounting.composition import Composition
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.exact import float_at_least
from leastnoise.interop.extra import require
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.noise.releases import Releases

if TYPE_CHECKING:
    from dp_accounting.dp_event import DpEvent


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
    event = kinds[noise.name](_float_at_most(multiplier))
    if part.sampling_rate == 1:
        return event
    return events.PoissonSampledDpEvent(float_at_least(part.sampling_rate), event)


def _float_at_most(number: Fraction) -> float:
    nearest = float(number)
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, 0.0)
