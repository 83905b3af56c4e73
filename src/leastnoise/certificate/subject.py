"""What a statement about noise is about: shifts, draws, samples, neighbours; and its words."""

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
    """Raise InvalidArgument unless each of what a statement is about is of its kind."""
    hint = 'Write Budget(epsilon="1", delta="1e-5").'
    _validate.instance(budget, Budget, name="budget", like="a Budget", hint=hint)
    _validate.instance(noise, Noise, name="noise", like="a noise law like Gaussian(scale=4)")
    check_sensitivity(sensitivity)
    found = _validate.instance(
        geometry, (Geometry, type(None)), name="geometry", like="one, or None"
    )
    if found is not None and isinstance(noise, Noise):
        _check_dimension(noise, found)


def _check_dimension(noise: Noise, geometry: Geometry) -> None:
    """Raise InvalidArgument unless the noise is for as many numbers as the geometry's map gives."""
    if noise.dimension != geometry.noise_dimension:
        raise InvalidArgument(
            name="noise",
            value=f"{noise.name} noise of dimension {noise.dimension}",
            expected=f"noise of dimension {geometry.noise_dimension}, as {geometry.kind} needs",
        )


def one_release(
    noise: Noise, sensitivity: Sensitivity, geometry: Geometry | None, rate: Fraction
) -> Releases:
    """Return the draws of noise that one person reaches in one release; raises NotApplicable."""
    check_sampling(type(noise), sensitivity, geometry, rate)
    shifts = shifts_of(type(noise), sensitivity, geometry)
    draws = geometry.draws(sensitivity) if geometry else 1
    neighbours = neighbours_of(sensitivity, rate)
    return Releases(
        noise=noise, shifts=shifts, compositions=draws, sampling_rate=rate, neighbours=neighbours
    )


def neighbours_of(sensitivity: Sensitivity, rate: Fraction) -> Neighbours | None:
    """Return the neighbours that a statement is about; None: whoever was meant."""
    return sensitivity.stated_neighbours if rate == 1 else "add-remove"


def stated_beside(own: Neighbours | None, stated: object) -> Neighbours | None:
    """Return what a certificate states of its neighbours beside its `own`; None: nothing more.

    Raises InvalidArgument for what is no relation, and for another than its own.
    """
    if stated is None:
        return None
    found = cast("Neighbours", _validate.one_of(stated, NEIGHBOURS, name="neighbours"))
    if own not in {None, found}:
        why = f"{own}, which the sensitivity or the sampling is about"
        raise InvalidArgument(name="neighbours", value=found, expected=why)
    return None if found == own else found


def check_sampling(
    family: type[Noise], sensitivity: Sensitivity, geometry: Geometry | None, rate: Fraction
) -> None:
    """Raise NotApplicable where subsampling isn't proved.

    The pairs of theory/accounting.md §4 are not those of a record that is replaced; and several
    draws of one sample are not several samples.
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
    """Return the shifts that the noise must hide; NotApplicable if the geometry isn't for them."""
    if geometry is None:
        return ShiftBounds.of(sensitivity)
    shifts = geometry.shifts(sensitivity)
    if shifts is None:
        raise NotApplicable(
            family=family.name,
            why=f"the geometry {geometry.kind} isn't one for that {sensitivity.kind} sensitivity",
        )
    return shifts


# The same in a few words.


def line_of(certificate: Certificate) -> str:
    """Return the certificate as one line; see `statement`."""
    noise = f"{noise_of(certificate)} noise of scale {number(certificate.noise.scale)}"
    status = "proved" if certificate.proved else "not yet verified"
    return line("Certificate", f"{status}: {noise}, {statement(certificate)}")


def noise_of(certificate: Certificate) -> str:
    """Return the noise, and how it is fitted to the sensitivity: "l2 (ellipse)"."""
    name, geometry = certificate.noise.name, certificate.geometry
    return name if geometry is None else f"{name} ({geometry.kind})"


def statement(certificate: Certificate) -> str:
    """Return the guarantee, rounded up, for what it holds, and how often."""
    said = format_guarantee(certificate.budget.epsilon, certificate.budget.delta)
    said += f" under {sensitivity(certificate.sensitivity)}"
    if certificate.dimension > 1:
        said += f", dimension {certificate.dimension:,}"
    if certificate.compositions > 1:
        said += f", for {certificate.compositions:,} releases"
    if certificate.sampling_rate != 1:
        said += f", sampled at {number(certificate.sampling_rate)}"
    return said
