"""The least l2 noise for a budget."""

from __future__ import annotations

from leastnoise.noise.common.fit import classic
from leastnoise.noise.radial.law.spherical_laplace import SphericalLaplace
from leastnoise.noise.request import Request


def search(request: Request) -> SphericalLaplace:
    """Return the law of least scale."""
    scale = classic.spherical_laplace(request.dimension, request.budget)
    return SphericalLaplace(scale=scale, dimension=request.dimension)
