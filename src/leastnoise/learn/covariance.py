"""A private covariance matrix with the manners of scikit-learn, from one draw of second moments.

notation: S = Σ zzᵀ + N, z = (1, x); n the number of rows, Q = (−mean, I), C = Q S Qᵀ/n.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np

from leastnoise.certificate.certificate import Certificate
from leastnoise.learn.fitting import PrivateModel, Spent, publish_moments, read_numbers
from leastnoise.learn.moments import Floats, NoisyMoments
from leastnoise.learn.scaler import checked_bounds, stated, to_unit


@dataclass(kw_only=True, eq=False, repr=False)
class EmpiricalCovariance(PrivateModel):
    """Means and covariances of all columns, with differential privacy by one draw of noise.

    What is released is the sums of the columns, of their squares and products, at once. It is
    (`epsilon`, `delta`)-private in each row, proved by `certificate_`. What lies outside the bounds
    is cut off there, without a word. Not promised: what `LinearRegression` doesn't promise.

    Parameters
    ----------
    epsilon, delta, bounds, noise, noise_parameters, neighbours, ledger, dataset, unit :
        As of `LinearRegression`, with bounds of every column.

    Attributes
    ----------
    location_ (d,), covariance_ (d, d), n_features_in_ :
        As in scikit-learn: divided by the number of rows. `covariance_` is the nearest matrix that
        is one, without negative eigenvalues.
    correlation_ (d, d) : what follows of correlations; 0 where a variance is 0
    location_standard_errors_ (d,), standard_errors_ (d, d) :
        Of these means and covariances, by the noise alone, to first order: how far they may be off
        those of the very rows, as they are cut off.
    privacy_ : what was spent, in a sentence if printed
    certificate_ : the proof

    >>> import numpy as np
    >>> draws = np.random.default_rng(1)  # makes a table, no noise
    >>> X = draws.uniform(0, 10, (20_000, 1)) + draws.uniform(0, 10, (20_000, 3))
    >>> found = EmpiricalCovariance(epsilon=1, delta=0, bounds=(0, 20)).fit(X)
    >>> print(np.abs(found.correlation_ - np.corrcoef(X.T)).max() < 0.1)
    True

    """

    bounds: Any = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Release the moments of X (n, d), and charge the ledger if there is one; y is not read.

        Raises ValueError for what scikit-learn refuses and for bounds that make no sense;
        InvalidArgument for other parameters that make none; Refused if no noise can serve, or the
        charge doesn't fit. Then nothing was spent.
        """
        del y
        X = read_numbers(self, X)
        low, high = checked_bounds(stated(self.bounds, name="bounds"), X.shape[1])
        columns = to_unit(X, low, high)
        published, spent = publish_moments(self, columns, constant=True, label="covariance")
        found = estimate(published)
        halves = (high - low) / 2
        areas = np.outer(halves, halves)
        deviations = np.sqrt(np.diag(found.covariance))
        scales = np.where(deviations > 0, deviations, np.inf)
        self.location_: Floats = (low + high) / 2 + halves * found.means
        self.covariance_: Floats = areas * found.covariance
        self.correlation_: Floats = np.clip(found.covariance / np.outer(scales, scales), -1, 1)
        self.location_standard_errors_: Floats = halves * found.mean_errors
        self.standard_errors_: Floats = areas * found.errors
        self.privacy_: Spent = spent
        self.certificate_: Certificate = spent.certificate
        return self


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Estimate:
    """Means (d,) and covariances (d, d) of columns in [−1, 1], and their standard deviations."""

    means: Floats
    covariance: Floats
    mean_errors: Floats
    errors: Floats


def estimate(published: NoisyMoments) -> Estimate:
    """Return what moments with a constant say of the other columns.

    Eigenvalues are cut off at 0 and d, between which those of columns in [−1, 1] are: the nearest
    such matrix, which is no further from the truth. Noise moves n·C by Q N Qᵀ, and by −C times the
    noise of n, where n isn't public.
    """
    rows = max(published.rows, 1.0)
    means = np.clip(published.sums[0, 1:] / rows, -1.0, 1.0)
    centre = np.column_stack([-means, np.eye(len(means))])
    moment = centre @ published.sums @ centre.T / rows
    own = replace(published, count_variance=0.0)  # without the noise of n, which is in all of N
    squares = np.array(
        [np.diag(centre @ own.spread(np.outer(one, one)) @ centre.T) for one in centre]
    )
    by_count = (centre * published.shared) @ centre.T - moment
    squares += published.count_variance * by_count**2
    of_means = published.noise[0, 1:] + published.count_variance * means**2
    found, axes = np.linalg.eigh(moment)
    return Estimate(
        means=means,
        covariance=(axes * np.clip(found, 0.0, len(means))) @ axes.T,
        mean_errors=np.sqrt(of_means) / rows,
        errors=np.sqrt(squares) / rows,
    )
