"""A private covariance matrix for scikit-learn, from one draw of noisy second moments.

Notation: n rows have d columns each; x is a row, m the vector of the columns' means, and z = (1,
x). S = Σ zzᵀ + N is the released matrix with its noise N. Q = (−m, I) centres the columns, and C =
Q S Qᵀ/n is their covariance matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np

from leastnoise.certificate.certificate import Certificate
from leastnoise.learn.correlations import find_intervals
from leastnoise.learn.fitting import PrivateModel, Spent, publish_moments, read_numbers
from leastnoise.learn.moments import Floats, NoisyMoments
from leastnoise.learn.scaler import check_bounds, require_bounds, to_unit


@dataclass(kw_only=True, eq=False, repr=False)
class EmpiricalCovariance(PrivateModel):
    """Means and covariances of all columns, with differential privacy by one draw of noise.

    The sums of the columns, of their squares and products are released together. The release is
    (`epsilon`, `delta`)-private in each row, as `certificate_` proves. Values outside the bounds
    are clipped without a warning. The limits are those that `LinearRegression` states.

    Args:
        epsilon: As in `LinearRegression`.
        delta: As in `LinearRegression`.
        noise: As in `LinearRegression`.
        noise_parameters: As in `LinearRegression`.
        neighbours: As in `LinearRegression`.
        ledger: As in `LinearRegression`.
        dataset: As in `LinearRegression`.
        unit: As in `LinearRegression`.
        bounds: Pair (low, high) for all columns, or one pair for each column. Public, not read off
            the data.

    Attributes:
        location_: Means, shape (d,).
        covariance_: Covariances, shape (d, d), divided by the number of rows as in scikit-learn.
            For columns scaled to [−1, 1], it is the nearest matrix with eigenvalues from 0 to d.
        correlation_: Correlations, shape (d, d); 0 if a variance is 0.
        correlation_low_: Lower ends of intervals, shape (d, d). Each interval holds the clipped
            rows' own correlation with probability 95 % or more, if no variance of theirs is 0.
        correlation_high_: Upper ends of these intervals, shape (d, d).
        location_standard_errors_: Standard errors of the means by the noise alone, shape (d,).
        standard_errors_: Standard errors of the covariances by the noise alone, shape (d, d), to
            first order. They describe the distance from the clipped rows' own covariances.
        n_features_in_: Number of columns.
        privacy_: The guarantee; prints as a sentence.
        certificate_: The proof.

    Examples:
        >>> import numpy as np
        >>> draws = np.random.default_rng(1)  # creates a table, no noise
        >>> X = draws.uniform(0, 10, (20_000, 1)) + draws.uniform(0, 10, (20_000, 3))
        >>> model = EmpiricalCovariance(epsilon=1, delta=0, bounds=(0, 20)).fit(X)
        >>> print(np.abs(model.correlation_ - np.corrcoef(X.T)).max() < 0.1)
        True

    """

    bounds: Any = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Release the moments of the columns, and charge the ledger if there is one.

        Args:
            X: Columns, shape (n, d).
            y: Ignored, for scikit-learn.

        Returns:
            The fitted model itself.

        Raises:
            ValueError: scikit-learn refuses X, or the bounds are malformed; nothing was spent.
            TypeError: X is sparse or holds objects other than numbers; nothing was spent.
            InvalidArgument: Another parameter is malformed; nothing was spent.
            Refused: No noise can serve, or the charge doesn't fit; nothing was spent.

        """
        del y
        X = read_numbers(self, X)
        low, high = check_bounds(require_bounds(self.bounds, name="bounds"), X.shape[1])
        columns = to_unit(X, low, high)
        published, spent = publish_moments(self, columns, constant=True, label="covariance")
        unit = estimate(published)
        halves = (high - low) / 2
        areas = np.outer(halves, halves)
        deviations = np.sqrt(np.diag(unit.covariance))
        scales = np.where(deviations > 0, deviations, np.inf)
        self.location_: Floats = (low + high) / 2 + halves * unit.means
        self.covariance_: Floats = areas * unit.covariance
        self.correlation_: Floats = np.clip(unit.covariance / np.outer(scales, scales), -1, 1)
        low, high = find_intervals(
            published, spent.certificate, counted=self.neighbours == "add-remove"
        )
        self.correlation_low_: Floats = np.minimum(low, self.correlation_)
        self.correlation_high_: Floats = np.maximum(high, self.correlation_)
        self.location_standard_errors_: Floats = halves * unit.mean_errors
        self.standard_errors_: Floats = areas * unit.errors
        self.privacy_: Spent = spent
        self.certificate_: Certificate = spent.certificate
        return self


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Estimate:
    """Means (d,) and covariances (d, d) of columns in [−1, 1].

    `mean_errors` and `errors` are the standard deviations of the noise in them.
    """

    means: Floats
    covariance: Floats
    mean_errors: Floats
    errors: Floats


def estimate(published: NoisyMoments) -> Estimate:
    """Estimate means and covariances of the columns from noisy moments with a constant.

    Eigenvalues are clipped to [0, d], the range for d columns in [−1, 1]. The result is the nearest
    matrix in this range. It is never further from the true matrix than without clipping. The
    standard deviations are to first order: noise moves n·C by Q N Qᵀ, and by −C times the noise of
    n if n isn't public.
    """
    rows = max(published.rows, 1.0)
    means = np.clip(published.sums[0, 1:] / rows, -1.0, 1.0)
    centre = np.column_stack([-means, np.eye(len(means))])
    moment = centre @ published.sums @ centre.T / rows
    # the noise of n affects every entry of N
    without_count = replace(published, count_variance=0.0)
    squares = np.array(
        [np.diag(centre @ without_count.spread(np.outer(row, row)) @ centre.T) for row in centre]
    )
    by_count = (centre * published.shared) @ centre.T - moment
    squares += published.count_variance * by_count**2
    of_means = published.noise[0, 1:] + published.count_variance * means**2
    eigenvalues, axes = np.linalg.eigh(moment)
    return Estimate(
        means=means,
        covariance=(axes * np.clip(eigenvalues, 0.0, len(means))) @ axes.T,
        mean_errors=np.sqrt(of_means) / rows,
        errors=np.sqrt(squares) / rows,
    )
