"""What a certificate says, in a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastnoise._words import line, number, private, sensitivity

if TYPE_CHECKING:
    from leastnoise.certificate.certificate import Certificate


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
    said = private(certificate.budget.epsilon, certificate.budget.delta)
    said += f" under {sensitivity(certificate.sensitivity)}"
    if certificate.dimension > 1:
        said += f", dimension {certificate.dimension:,}"
    if certificate.compositions > 1:
        said += f", for {certificate.compositions:,} releases"
    if certificate.sampling_rate != 1:
        said += f", sampled at {number(certificate.sampling_rate)}"
    return said
