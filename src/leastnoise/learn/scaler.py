"""A scaler with public bounds, which reads no statistics off the data."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from leastnoise.errors import InvalidArgument
from leastnoise.learn.fitting import read_numbers

_FARTHEST = 1e70  # the largest bound: the product of two squares of bounds is a float


class BoundedScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Scale features from public bounds to [−1, 1]; values outside are clipped.

    Bounds must not be read off the data: the largest value of a column is a person's. Dummies
    (features of 0 or 1) may keep the bounds (−1, 1), so that most of a row is 0 and its norm is
    small. `fit` reads the number of features, and refuses values that aren't finite numbers. There
    is no warning if many values are clipped, because it would reveal something about the rows.

    Args:
        bounds: Pair (low, high) for all features, or one pair for each.

    Examples:
        >>> import numpy as np
        >>> scaler = BoundedScaler(bounds=[(0, 100), (-1, 1)])
        >>> scaler.fit_transform(np.array([[25.0, 0.5], [150.0, 0.0]]))
        array([[-0.5,  0.5],
               [ 1. ,  0. ]])

    """

    def __init__(self, *, bounds: Any = (-1.0, 1.0)) -> None:
        self.bounds = bounds

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the bounds against the number of features; nothing is learnt from the values of X.

        Args:
            X: Features, shape (n, d).
            y: Ignored, for scikit-learn.

        Returns:
            The scaler itself.

        Raises:
            ValueError: There isn't one pair low < high, or one for each feature. Or X has values
                that aren't finite numbers: this error depends on the rows.
            TypeError: X is sparse or holds objects other than numbers.

        """
        del y
        X = read_numbers(self, X)
        self.low_, self.high_ = check_bounds(self.bounds, X.shape[1])
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Clip the features at the bounds and scale them: (2x − low − high)/(high − low).

        Args:
            X: Features, shape (n, d).

        Returns:
            Scaled features, shape (n, d).

        """
        check_is_fitted(self)
        X = read_numbers(self, X, reset=False)
        return to_unit(X, self.low_, self.high_)


def to_unit(
    values: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Clip finite values (n, d) at the bounds (d,), and scale them to [−1, 1].

    Bounds that pass `check_bounds` can't cause an overflow.
    """
    cut = np.clip(values, low, high)
    return np.clip((2 * cut - low - high) / (high - low), -1.0, 1.0)


def require_bounds(bounds: Any, *, name: str) -> Any:
    """Return `bounds`; raise InvalidArgument if they are None."""
    if bounds is None:
        raise InvalidArgument(
            name=name,
            value=None,
            expected="(low, high), publicly known",
            hint=(
                "The bounds are not computed from the data, because the largest value would reveal "
                "one person."
            ),
        )
    return bounds


def check_bounds(bounds: Any, features: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The lower and upper bounds, each of shape (d,). Raises ValueError for malformed bounds."""
    pairs = np.asarray(bounds, dtype=np.float64)
    if pairs.shape not in {(2,), (features, 2)}:
        raise ValueError(
            f"Expected bounds=(low, high), or a pair for each of {features} features; "
            f"got an array of shape {pairs.shape}."
        )
    low, high = (np.broadcast_to(pairs[..., side], (features,)) for side in (0, 1))
    # so that all computations with bounds stay finite
    if not ((np.abs(pairs) <= _FARTHEST).all() and (high - low >= 1 / _FARTHEST).all()):
        raise ValueError(
            "Expected finite bounds with low < high for every feature, within ±1e70 and at least"
            " 1e-70 apart."
        )
    return low, high
