"""Least squares from noisy second moments. All of it is post-processing of published numbers.

Notation: x is a row's d features and y its target; z = (1, x, y), or (x, y) without a constant. S =
Σ zzᵀ + N is the released matrix with noise N. Q = (−m, I) centres the variables, where m has their
means; Q = I without a constant. C = Q S Qᵀ. A is the part of C for the features, b the part for
features with the target, and A = U diag(w) Uᵀ with eigenvalues w.

Noise may leave A with meaningless or negative eigenvalues. The noise Q N Qᵀ in A has a norm of
about 2√v, where v = ‖E[(Q N Qᵀ)²]‖ and E is the mean. (For Gaussian noise of equal variances, the
expected norm is at most that.) Eigenvalues below 4√v are raised to 4√v. In these directions
features vary too little. There coefficients are shrunk towards 0, so that noise stays below a
quarter of a feature's scale. Other eigenvalues are unchanged, so that well-determined coefficients
have no bias.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from leastnoise.learn.moments import Floats, NoisyMoments

_NORMS = 4.0  # the smallest eigenvalue, in units of √v; the norm of the noise is about 2


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class RegressionEstimate:
    """Estimated coefficients of a linear regression with d features.

    Attributes:
        weights: Coefficients, shape (d + 1,), the intercept first (0 without one).
        covariance: Covariance of their errors, shape (d + 1, d + 1).
        hidden: Number of directions of the features that noise hides.
    """

    weights: Floats
    covariance: Floats
    hidden: int


def solve(published: NoisyMoments, *, constant: bool, ridge: float) -> RegressionEstimate:
    """Regress the last variable on the others.

    Args:
        published: Noisy second moments of all variables.
        constant: True if the variables have a constant first.
        ridge: Number that is added to the sums of squares of features about their means.

    Returns:
        Coefficients, with the covariance of their errors to first order: from the residual
        variance, assumed equal for all rows, and from the noise. It doesn't include the bias of a
        ridge or of a raised eigenvalue.

    """
    sums, rows = published.sums, max(published.rows, 1.0)
    others = len(sums) - constant  # the number of variables beside the constant
    mean = np.clip(sums[0, 1:] / rows, -1.0, 1.0) if constant else np.zeros(others)
    centre = np.eye(others)
    if constant:
        centre = np.column_stack([-mean, centre])
    features = centre[:-1]
    noise = features @ published.spread(features.T @ features) @ features.T
    floor = _NORMS * np.sqrt(np.linalg.eigvalsh(noise)[-1])
    centred = centre @ sums @ centre.T
    eigenvalues, axes = np.linalg.eigh(centred[:-1, :-1])
    inverse = (axes / (np.maximum(eigenvalues, floor) + ridge)) @ axes.T
    slopes = inverse @ centred[:-1, -1]
    intercept = mean[-1] - slopes @ mean[:-1]

    residual = np.append(-slopes, 1.0)  # times z it is y − intercept − slopes·x
    solving = np.zeros((others, len(sums)))  # maps sums of z times the residual to coefficients
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
        hidden=int((eigenvalues < floor).sum()),
    )
