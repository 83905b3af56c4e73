"""A private linear regression with the manners of scikit-learn, from one draw of second moments."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from leastnoise import _validate
from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.exact import exact
from leastnoise.learn.fitting import PrivateModel, Spent, publish_moments, read_numbers
from leastnoise.learn.least_squares import solve
from leastnoise.learn.scaler import checked_bounds, stated, to_unit

Floats = NDArray[np.float64]


@dataclass(kw_only=True, eq=False, repr=False)
class LinearRegression(RegressorMixin, PrivateModel):
    """Least squares, fitted with differential privacy by one draw of noise, with standard errors.

    What is released is the sums of features, target, their squares and products, at once; all else
    is computed from these. The model after `fit` is (`epsilon`, `delta`)-private in each row,
    proved by `certificate_`. What lies outside the bounds is cut off there in training, without a
    word, since a warning would be about the rows; `predict` cuts nothing off.

    Where noise hides in some direction how far features vary at all, coefficients are drawn to 0
    along it, and a ConvergenceWarning says in how many directions. Like the standard errors it is
    worked out from what was released.

    Not promised: privacy for a person with several rows beyond what k rows together have, for the
    features' names, or for what is computed from the rows elsewhere, such as a score on the rows it
    was fitted to. Numbers that aren't finite are errors, which depend on the rows, and so is a
    table of no rows: mend them before. A fit can't be repeated: there is no seed for noise that has
    to stay unknown.

    Every fit spends the budget again: `cross_val_score` and `GridSearchCV` fit once for each fold
    and candidate, and their scores are of the rows without noise.

    Parameters
    ----------
    epsilon, delta : numbers or decimal texts
        The budget. If `delta` is None it is 1/n², n the number of rows; with "add-remove" say it.
    bounds : pair (low, high) for all features, or one for each
        Publicly known, not read off the data. The nearer, the less noise.
    target_bounds : pair (low, high)
        Likewise, of the target.
    alpha : float
        Weight of a penalty alpha·‖w‖² as in scikit-learn's Ridge, for features and target that are
        scaled to [−1, 1]; the intercept pays none.
    fit_intercept : bool
        Whether there is an intercept.
    noise : "auto" or a family's name, noise_parameters : dict or None
        Which noise; "auto" is the best of gaussian, l2, k-norm and k-staircase.
    neighbours : "replace-one" or "add-remove"
        Whether one row is replaced (the number of rows is public) or is there or not (it is
        released with the rest, with noise).
    ledger : str, Path, Ledger or None; dataset, unit : str
        The ledger that is charged before any noise is drawn, and the account there.

    Attributes
    ----------
    coef_ (d,), intercept_ (float), n_features_in_ : as in scikit-learn
    standard_errors_ (d,), intercept_standard_error_ (float) :
        Of `coef_` and `intercept_`, approximately: from the residual variance, taken to be the same
        for all rows, and from the noise. What penalties and cut off values do isn't in them. Where
        noise hides a direction, coefficients are off by what nobody can tell: they are infinite.
    hidden_directions_ : in how many directions noise hides how far features vary
    privacy_ : what was spent, in a sentence if printed
    certificate_ : the proof

    >>> import numpy as np
    >>> X = np.linspace(0, 10, 5000)[:, None]
    >>> model = LinearRegression(epsilon=1, delta=0, bounds=(0, 10), target_bounds=(0, 40))
    >>> model = model.fit(X, 3 * X[:, 0] + 5)
    >>> print(np.round(model.predict([[2.0]])), model.standard_errors_ < 0.1)
    [11.] [ True]
    >>> print(model.privacy_)
    (1, 0)-differential privacy for a row that is replaced: proved δ ≤ 0 at ε = 1.

    """

    bounds: Any = None
    target_bounds: Any = None
    alpha: Any = 0.0
    fit_intercept: bool = True

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model to features (n, d) and target (n,), and charge the ledger if there is one.

        Raises ValueError for what scikit-learn refuses and for bounds that make no sense;
        InvalidArgument for other parameters that make none; Refused if no noise can serve, or the
        charge doesn't fit. Then nothing was spent.
        """
        X, y = read_numbers(self, X, y, y_numeric=True)
        if not np.isfinite(y).all():  # scikit-learn lets infinities in arrays of objects pass
            raise ValueError("Input y contains infinity. Mend or drop such rows.")
        ridge = float(exact(self.alpha, name="alpha"))
        if ridge < 0:
            raise InvalidArgument(name="alpha", value=self.alpha, expected="alpha >= 0")
        constant = _validate.flag(self.fit_intercept, name="fit_intercept")
        scales = self._scales(X.shape[1], constant=constant)
        columns = scales.to_unit(np.column_stack([X, y]))
        published, spent = publish_moments(
            self, columns, constant=constant, label="linear regression"
        )
        found = solve(published, constant=constant, ridge=ridge)
        to_data, middle = scales.to_data()
        weights = to_data @ found.weights
        errors = np.sqrt(np.diag(to_data @ found.covariance @ to_data.T).clip(0))
        if found.hidden:  # the bias along such a direction is in no formula
            errors = np.full_like(errors, np.inf)
        self.coef_: Floats = weights[1:]
        self.intercept_: float = float(middle + weights[0])
        self.standard_errors_: Floats = errors[1:]
        self.intercept_standard_error_: float = float(errors[0])
        self.hidden_directions_: int = found.hidden
        self.privacy_: Spent = spent
        self.certificate_: Certificate = spent.certificate
        if found.hidden:  # last: a caller's filter may raise it, and the model is there
            warnings.warn(
                f"Noise hides {found.hidden} of {X.shape[1]} directions of the features, which vary"
                " too little there for this budget and as many rows. Coefficients are drawn to 0"
                " along them, by what nobody can tell: standard errors are infinite. Narrow the"
                " bounds, raise epsilon, or leave features out.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def predict(self, X: Any) -> Floats:
        """Return coef·x + intercept for each row, shape (n,)."""
        check_is_fitted(self)
        X = read_numbers(self, X, reset=False)
        return X @ self.coef_ + self.intercept_

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that noise costs accuracy on a few rows."""
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags

    def _scales(self, features: int, *, constant: bool) -> _Scales:
        both = (
            checked_bounds(stated(self.bounds, name="bounds"), features),
            checked_bounds(stated(self.target_bounds, name="target_bounds"), 1),
        )
        low, high = (np.concatenate(ends) for ends in zip(*both, strict=True))
        return _Scales(low=low, high=high, shifted=constant)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _Scales:
    """How columns, the target last, become numbers in [−1, 1]; bounds are of shape (d + 1,).

    A model without intercept goes through 0, so that nothing may be `shifted`.
    """

    low: Floats
    high: Floats
    shifted: bool

    def to_unit(self, columns: Floats) -> Floats:
        """Return the columns, cut off at the bounds, in [−1, 1]."""
        return to_unit(np.clip(columns, self.low, self.high), *self._ends())

    def to_data(self) -> tuple[Floats, float]:
        """Return what maps an intercept and coefficients to those of the data, and what to add."""
        low, high = self._ends()
        middles, halves = (low + high) / 2, (high - low) / 2
        ratios = halves[-1] / halves[:-1]
        found = np.diag(np.append(halves[-1], ratios))
        found[0, 1:] = -ratios * middles[:-1]
        return found, float(middles[-1])

    def _ends(self) -> tuple[Floats, Floats]:
        """Return what becomes −1 and 1."""
        if self.shifted:
            return self.low, self.high
        farthest = np.maximum(np.abs(self.low), np.abs(self.high))
        return -farthest, farthest
