"""The subject of a statement about noise: its shifts, draws, samples and neighbours."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, cast

from leastnoise import _validate
from leastnoise._words import format_guarantee, line, number, sensitivity
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.geometry import Geometry
from leastnoise.guarantees.sensitivity import (
    NEIGHBOURS,
    Neighbours,
    Sensitivity,
    ShiftBounds,
    check_sensitivity,
)
from leastnoise.noise.base import Noise
from leastnoise.noise.question import Releases

if TYPE_CHECKING:
    from leastnoise.certificate.certificate import Certificate


def check_subject(budget: object, noise: object, sensitivity: object, geometry: object) -> None:
    """Raise InvalidArgument unless all have the right types, and the noise fits the geometry."""
    hint = 'Write Budget(epsilon="1", delta="1e-5").'
    _validate.instance(budget, Budget, name="budget", like="a Budget", hint=hint)
    _validate.instance(noise, Noise, name="noise", like="a noise law like Gaussian(scale=4)")
    check_sensitivity(sensitivity)
    checked = _validate.instance(
        geometry, (Geometry, type(None)), name="geometry", like="a Geometry, or None"
    )
    if checked is not None and isinstance(noise, Noise):
        _check_dimension(noise, checked)


def _check_dimension(noise: Noise, geometry: Geometry) -> None:
    """Raise InvalidArgument unless the noise has the dimension of the geometry's map."""
    if noise.dimension != geometry.noise_dimension:
        raise InvalidArgument(
            name="noise",
            value=f"{noise.name} noise of dimension {noise.dimension}",
            expected=f"noise of dimension {geometry.noise_dimension}, as {geometry.kind} needs",
        )


def one_release(
    noise: Noise, sensitivity: Sensitivity, geometry: Geometry | None, rate: Fraction
) -> Releases:
    """The draws of noise that one person affects in one release.

    Raises NotApplicable like `check_sampling` and `shifts_of`.
    """
    check_sampling(type(noise), sensitivity, geometry, rate)
    shifts = shifts_of(type(noise), sensitivity, geometry)
    draws = geometry.draws(sensitivity) if geometry else 1
    neighbours = neighbours_of(sensitivity, rate)
    return Releases(
        noise=noise, shifts=shifts, compositions=draws, sampling_rate=rate, neighbours=neighbours
    )


def neighbours_of(sensitivity: Sensitivity, rate: Fraction) -> Neighbours | None:
    """The neighbours that a statement is about; None if neither sensitivity nor sampling says."""
    return sensitivity.stated_neighbours if rate == 1 else "add-remove"


def additional_neighbours(implied: Neighbours | None, stated: object) -> Neighbours | None:
    """The neighbours that a certificate states beyond the `implied` ones; None if nothing more.

    Raises InvalidArgument if `stated` is no relation, or contradicts the implied one.
    """
    if stated is None:
        return None
    relation = cast("Neighbours", _validate.one_of(stated, NEIGHBOURS, name="neighbours"))
    if implied not in {None, relation}:
        why = f"{implied}, which the sensitivity or the sampling is about"
        raise InvalidArgument(name="neighbours", value=relation, expected=why)
    return None if relation == implied else relation


def check_sampling(
    family: type[Noise], sensitivity: Sensitivity, geometry: Geometry | None, rate: Fraction
) -> None:
    """Raise NotApplicable if subsampling isn't proved.

    The pairs of theory/accounting.md §4 don't cover a replaced record, and several draws from one
    sample are not several samples.
    """
    if rate == 1:
        return
    if sensitivity.stated_neighbours == "replace-one":
        why = "subsampling is proved for records that are added or removed, not replaced"
        raise NotApplicable(family=family.name, why=why)
    if geometry and geometry.draws(sensitivity) > 1:
        why = "several draws of one sample aren't proved under subsampling"
        raise NotApplicable(family=family.name, why=why)


def shifts_of(
    family: type[Noise], sensitivity: Sensitivity, geometry: Geometry | None
) -> ShiftBounds:
    """The shifts that the noise must hide.

    Raises NotApplicable if the geometry doesn't fit them.
    """
    if geometry is None:
        return ShiftBounds.of(sensitivity)
    shifts = geometry.shifts(sensitivity)
    if shifts is None:
        raise NotApplicable(
            family=family.name,
            why=f"the geometry {geometry.kind} doesn't fit {sensitivity.kind} sensitivity",
        )
    return shifts


# Certificates as text.


def line_of(certificate: Certificate) -> str:
    """Format a certificate as one line; see `statement`."""
    noise = f"{noise_of(certificate)} noise of scale {number(certificate.noise.scale)}"
    status = "proved" if certificate.proved else "not yet verified"
    return line("Certificate", f"{status}: {noise}, {statement(certificate)}")


def noise_of(certificate: Certificate) -> str:
    """The name of the noise, and the kind of the geometry if any, as in "l2 (count-ellipse)"."""
    name, geometry = certificate.noise.name, certificate.geometry
    return name if geometry is None else f"{name} ({geometry.kind})"


def statement(certificate: Certificate) -> str:
    """The certificate's statement as text: guarantee (rounded up), sensitivity and releases."""
    text = format_guarantee(certificate.budget.epsilon, certificate.budget.delta)
    text += f" under {sensitivity(certificate.sensitivity)}"
    if certificate.dimension > 1:
        text += f", dimension {certificate.dimension:,}"
    if certificate.compositions > 1:
        text += f", for {certificate.compositions:,} releases"
    if certificate.sampling_rate != 1:
        text += f", sampled at {number(certificate.sampling_rate)}"
    return text
