"""A private linear regression for scikit-learn, from one draw of noisy second moments."""

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
from leastnoise.learn.scaler import check_bounds, require_bounds, to_unit

Floats = NDArray[np.float64]


@dataclass(kw_only=True, eq=False, repr=False)
class LinearRegression(RegressorMixin, PrivateModel):
    """Least squares with differential privacy by one draw of noise, with standard errors.

    The sums of features, target, their squares and products are released together; everything else
    is computed from them. The model after `fit` is (`epsilon`, `delta`)-private in each row, as
    `certificate_` proves. In training, values outside the bounds are clipped without a warning,
    which would reveal something about the rows; `predict` clips nothing.

    If noise hides the variation of the features in some direction, coefficients are shrunk towards
    0 along it, and a ConvergenceWarning gives the number of such directions. This number, like the
    standard errors, is computed from released numbers.

    A person with k rows only has the privacy of k rows together. The features' names aren't
    protected, nor is anything else that is computed from the rows, such as a score on the training
    rows. Numbers that aren't finite, and a table without rows, are errors, which depend on the
    rows: correct them first. A fit can't be repeated, because noise that must stay unknown has no
    seed.

    Every fit spends the budget again. `cross_val_score` and `GridSearchCV` fit once per fold and
    candidate, and their scores have no noise.

    Args:
        epsilon: Privacy budget ε ≥ 0, a number or decimal text.
        delta: Privacy budget δ. With None it is 1/n² for n rows; it must be given with
            "add-remove".
        noise: Name of a noise family; "auto" is the best of gaussian, l2, k-norm and k-staircase.
        noise_parameters: Values for the family's other parameters, as a dict, or None.
        neighbours: "replace-one" (the number of rows is public) or "add-remove" (the number of rows
            is released with noise).
        ledger: The ledger, or its path, that is charged before any noise is drawn; or None.
        dataset: Name of the ledger's account.
        unit: The unit of the ledger's account.
        bounds: Pair (low, high) for all features, or one pair for each. Public, not read off the
            data. Narrower bounds need less noise.
        target_bounds: Pair (low, high) for the target, public too.
        alpha: Weight of a penalty alpha·‖w‖² on the coefficients w as in scikit-learn's Ridge, for
            features and target scaled to [−1, 1]. The intercept isn't penalised.
        fit_intercept: True for a model with an intercept.

    Attributes:
        coef_: Coefficients, shape (d,).
        intercept_: Intercept, a float.
        standard_errors_: Approximate standard errors of `coef_`, shape (d,), from the residual
            variance, assumed equal for all rows, and from the noise. They don't include the effect
            of penalties and clipped values. They are infinite if noise hides a direction.
        intercept_standard_error_: Standard error of `intercept_`.
        hidden_directions_: Number of directions of the features that noise hides.
        n_features_in_: Number of features.
        privacy_: The guarantee; prints as a sentence.
        certificate_: The proof.

    Examples:
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
        """Fit the model, and charge the ledger if there is one.

        Args:
            X: Features, shape (n, d).
            y: Target, shape (n,).

        Returns:
            The fitted model itself.

        Raises:
            ValueError: scikit-learn refuses the data, or the bounds are malformed; nothing was
                spent.
            TypeError: The data is sparse or holds objects other than numbers; nothing was spent.
            InvalidArgument: Another parameter is malformed; nothing was spent.
            Refused: No noise can serve, or the charge doesn't fit; nothing was spent.

        """
        X, y = read_numbers(self, X, y, y_numeric=True)
        if not np.isfinite(y).all():  # scikit-learn accepts infinities in arrays of objects
            raise ValueError("Input y contains infinity. Correct or drop the rows with infinity.")
        ridge = float(exact(self.alpha, name="alpha"))
        if ridge < 0:
            raise InvalidArgument(name="alpha", value=self.alpha, expected="alpha >= 0")
        constant = _validate.flag(self.fit_intercept, name="fit_intercept")
        scales = self._scales(X.shape[1], constant=constant)
        columns = scales.to_unit(np.column_stack([X, y]))
        published, spent = publish_moments(
            self, columns, constant=constant, label="linear regression"
        )
        solution = solve(published, constant=constant, ridge=ridge)
        to_data, middle = scales.to_data()
        weights = to_data @ solution.weights
        errors = np.sqrt(np.diag(to_data @ solution.covariance @ to_data.T).clip(0))
        if solution.hidden:  # the bias along such a direction is unknown
            errors = np.full_like(errors, np.inf)
        self.coef_: Floats = weights[1:]
        self.intercept_: float = float(middle + weights[0])
        self.standard_errors_: Floats = errors[1:]
        self.intercept_standard_error_: float = float(errors[0])
        self.hidden_directions_: int = solution.hidden
        self.privacy_: Spent = spent
        self.certificate_: Certificate = spent.certificate
        # at the end, because a caller's filter may raise it: the model is complete by then
        if solution.hidden:
            warnings.warn(
                f"In {solution.hidden} of {X.shape[1]} directions the features vary so little that"
                " noise hides them, for this budget and number of rows. In these directions"
                " coefficients are shrunk to 0 by an unknown amount, so standard errors are"
                " infinite. Narrow the bounds, raise epsilon, or leave features out.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def predict(self, X: Any) -> Floats:
        """Predict the target of each row: its features times `coef_`, plus `intercept_`.

        Args:
            X: Features, shape (n, d).

        Returns:
            Predictions, shape (n,).
        """
        check_is_fitted(self)
        X = read_numbers(self, X, reset=False)
        return X @ self.coef_ + self.intercept_

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn that scores on few rows are poor."""
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags

    def _scales(self, features: int, *, constant: bool) -> _Scales:
        both = (
            check_bounds(require_bounds(self.bounds, name="bounds"), features),
            check_bounds(require_bounds(self.target_bounds, name="target_bounds"), 1),
        )
        low, high = (np.concatenate(ends) for ends in zip(*both, strict=True))
        return _Scales(low=low, high=high, shifted=constant)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _Scales:
    """The scaling of all columns to [−1, 1]: the d features, and then the target.

    The bounds `low` and `high` have shape (d + 1,). In a model without an intercept, `shifted` is
    False, and 0 is mapped to 0.
    """

    low: Floats
    high: Floats
    shifted: bool

    def to_unit(self, columns: Floats) -> Floats:
        """Clip the columns at the bounds, and scale them to [−1, 1]."""
        return to_unit(np.clip(columns, self.low, self.high), *self._ends())

    def to_data(self) -> tuple[Floats, float]:
        """A matrix that maps coefficients for columns in [−1, 1] to coefficients for the data.

        The intercept comes first. The second result is the number to add to the mapped intercept.
        """
        low, high = self._ends()
        middles, halves = (low + high) / 2, (high - low) / 2
        ratios = halves[-1] / halves[:-1]
        matrix = np.diag(np.append(halves[-1], ratios))
        matrix[0, 1:] = -ratios * middles[:-1]
        return matrix, float(middles[-1])

    def _ends(self) -> tuple[Floats, Floats]:
        """The values that are mapped to −1 and 1."""
        if self.shifted:
            return self.low, self.high
        farthest = np.maximum(np.abs(self.low), np.abs(self.high))
        return -farthest, farthest
