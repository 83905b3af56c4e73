"""The least Gaussian noise for a budget."""

from __future__ import annotations

from leastnoise.noise.common import fit as common_fit
from leastnoise.noise.gaussian.law import Gaussian
from leastnoise.noise.question import Question


def search(question: Question) -> Gaussian:
    """Return the law of least scale."""
    scale = common_fit.gaussian(question.dimension, question.budget)
    return Gaussian(scale=scale, dimension=question.dimension)
