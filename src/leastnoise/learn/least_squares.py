"""Least squares from noisy second moments, all of it after the noise: from published numbers alone.

notation: z = (1, x, y) or (x, y), S = Σ zzᵀ + N, Q = (−mean, I) or I what centres, C = Q S Qᵀ,
A and b its parts of features and of features with the target, U diag(w) Uᵀ = A.

Noise may leave A with eigenvalues that say nothing, or below 0. Its part that is noise, Q N Qᵀ,
has a norm of about 2√v, v = ‖E[(Q N Qᵀ)²]‖ (for Gaussian noise of like variances at most, in
expectation). Eigenvalues below 4√v are raised to that: there features vary too little, and
coefficients are drawn to 0 along these directions, so that noise stays below a quarter of a
feature's scale. Others stay as they are, so that what is well known has no bias.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from leastnoise.learn.moments import Floats, NoisyMoments

_NORMS = 4.0  # eigenvalues at least, in √v; the norm of noise is at most about 2


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class RegressionEstimate:
    """Coefficients, the intercept first (0 if there is none), and the covariance of their errors.

    `hidden` says how many directions of the features noise hides.
    """

    weights: Floats
    covariance: Floats
    hidden: int


def solve(published: NoisyMoments, *, constant: bool, ridge: float) -> RegressionEstimate:
    """Return the coefficients of the last variable on the others, and how far they may be off.

    `ridge` is added to the sums of squares of features about their means. The covariance is to
    first order: residual variance, the same for all rows, and noise; the bias of a ridge or of a
    raised eigenvalue isn't in it.
    """
    sums, rows = published.sums, max(published.rows, 1.0)
    others = len(sums) - constant  # variables beside the constant
    mean = np.clip(sums[0, 1:] / rows, -1.0, 1.0) if constant else np.zeros(others)
    centre = np.eye(others)
    if constant:
        centre = np.column_stack([-mean, centre])
    features = centre[:-1]
    noise = features @ published.spread(features.T @ features) @ features.T
    floor = _NORMS * np.sqrt(np.linalg.eigvalsh(noise)[-1])
    centred = centre @ sums @ centre.T
    found, axes = np.linalg.eigh(centred[:-1, :-1])
    inverse = (axes / (np.maximum(found, floor) + ridge)) @ axes.T
    slopes = inverse @ centred[:-1, -1]
    intercept = mean[-1] - slopes @ mean[:-1]

    residual = np.append(-slopes, 1.0)  # of z: it gives y − intercept − slopes·x
    solving = np.zeros((others, len(sums)))  # what becomes of sums of z times that residual
    solving[1:] = inverse @ features
    about_mean = np.zeros((others, others))
    about_mean[1:, 1:] = inverse
    if constant:
        residual = np.append(-intercept, residual)
        solving[0, 0] = about_mean[0, 0] = 1 / rows
    shift = np.eye(others)
    shift[0, 1:] = -mean[:-1]
    left = max(float(residual @ sums @ residual), 0.0) / max(rows - len(residual) + 1, 1.0)
    by_noise = solving @ published.spread(np.outer(residual, residual)) @ solving.T
    return RegressionEstimate(
        weights=np.append(intercept, slopes),
        covariance=shift @ (left * about_mean + by_noise) @ shift.T,
        hidden=int((found < floor).sum()),
    )
