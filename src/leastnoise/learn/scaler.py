"""A scaler that reads no statistics off the data: its bounds are public."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from leastnoise.errors import InvalidArgument
from leastnoise.learn.fitting import read_numbers

_FARTHEST = 1e70  # that a bound is from 0: products of two of its squares are floats


class BoundedScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Maps features from public `bounds` onto [−1, 1]; what lies outside is cut off at them.

    `bounds` is (low, high) for all features, or a pair for each. They must not be read off the
    data: the largest value of a column is a person's. Features of 0 or 1, such as dummies, may be
    left in (−1, 1), so that most of a row is 0 and the row is short. Fitting reads the number of
    features alone. Not promised: a warning when much is cut off, which would be about the rows.

    >>> import numpy as np
    >>> scaler = BoundedScaler(bounds=[(0, 100), (-1, 1)])
    >>> scaler.fit_transform(np.array([[25.0, 0.5], [150.0, 0.0]]))
    array([[-0.5,  0.5],
           [ 1. ,  0. ]])
    """

    def __init__(self, *, bounds: Any = (-1.0, 1.0)) -> None:
        self.bounds = bounds

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the bounds against the number of features; nothing else of X is read.

        Raises ValueError unless there is one pair low < high, or one for each feature.
        """
        del y
        X = read_numbers(self, X)
        self.low_, self.high_ = checked_bounds(self.bounds, X.shape[1])
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return (2x − low − high)/(high − low) for x cut off at the bounds, shape of X."""
        check_is_fitted(self)
        X = read_numbers(self, X, reset=False)
        return to_unit(X, self.low_, self.high_)


def to_unit(
    values: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return finite values (n, d), cut off at the bounds (d,) and mapped onto [−1, 1] as finite."""
    cut = np.clip(values, low, high)
    return np.clip((2 * cut - low - high) / (high - low), -1.0, 1.0)


def stated(bounds: Any, *, name: str) -> Any:
    """Return `bounds`; raises InvalidArgument if there are none."""
    if bounds is None:
        raise InvalidArgument(
            name=name,
            value=None,
            expected="(low, high), publicly known",
            hint="They are not read off the data: a largest value is a person's.",
        )
    return bounds


def checked_bounds(bounds: Any, features: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lower and the upper bound of each feature, (d,); raises ValueError."""
    pairs = np.asarray(bounds, dtype=np.float64)
    if pairs.shape not in {(2,), (features, 2)}:
        raise ValueError(
            f"Expected bounds=(low, high), or a pair for each of {features} features; "
            f"got an array of shape {pairs.shape}."
        )
    low, high = (np.broadcast_to(pairs[..., side], (features,)) for side in (0, 1))
    # what is computed of them stays finite
    if not ((np.abs(pairs) <= _FARTHEST).all() and (high - low >= 1 / _FARTHEST).all()):
        raise ValueError(
            "Expected finite bounds with low < high for every feature, within ±1e70 and at least"
            " 1e-70 apart."
        )
    return low, high
