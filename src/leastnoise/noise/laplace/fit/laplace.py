"""The least Laplace noise for a budget."""

from __future__ import annotations

from leastnoise.noise.common.fit import classic
from leastnoise.noise.laplace.law.laplace import Laplace
from leastnoise.noise.request import Request


def search(request: Request) -> Laplace:
    """Return the law of least scale."""
    scale = classic.laplace(request.dimension, request.budget)
    return Laplace(scale=scale, dimension=request.dimension)
