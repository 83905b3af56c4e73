"""The least Gaussian noise for a budget."""

from __future__ import annotations

from leastnoise.noise.common.fit import classic
from leastnoise.noise.gaussian.law import Gaussian
from leastnoise.noise.request import Request


def search(request: Request) -> Gaussian:
    """Return the law of least scale."""
    scale = classic.gaussian(request.dimension, request.budget)
    return Gaussian(scale=scale, dimension=request.dimension)
