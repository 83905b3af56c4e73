"""A private logistic regression for scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted

from leastnoise import _validate
from leastnoise.certificate.certificate import Certificate
from leastnoise.entropy.source import SystemEntropy
from leastnoise.errors import InvalidArgument, show_value
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import exact
from leastnoise.guarantees.sensitivity import NEIGHBOURS
from leastnoise.learn.choice import AUTO, check_choice, read_noise, read_parameters
from leastnoise.learn.fitting import PrivateModel, Spent, charge, read_numbers
from leastnoise.learn.plan import UPDATES, Problem, TrainingPlan, plan_training
from leastnoise.learn.training import (
    BITS,
    coordinate_rounds,
    shorten,
    vector_rounds,
    whole_features,
)
from leastnoise.mechanism.values import ScaledIntegers

_LEAST_NORM = Fraction(1, 2**BITS)


class PrivacyWarning(UserWarning):
    """A warning that a value was read from the data without noise."""


@dataclass(kw_only=True, eq=False, repr=False)
class LogisticRegression(ClassifierMixin, PrivateModel):
    """ℓ1-regularised logistic regression for two classes, with differential privacy.

    The model after `fit` is (`epsilon`, `delta`)-private in each row, as `certificate_` proves for
    all releases of the training together. Features must be scaled to [−1, 1] (see `BoundedScaler`).
    Values outside are clipped without a warning, which would reveal something about the rows. The
    limits are those that `LinearRegression` states; labels outside `classes` are errors too, which
    depend on the rows.

    Args:
        epsilon: As in `LinearRegression`.
        delta: Privacy budget δ. With None it is 1/n² for n rows, or n = `n_rows` with "add-remove".
        noise: Name of a noise family that composes. "auto" is the best of gaussian, l2 and k-norm
            with vectors, and of gaussian and laplace with coordinates. For a single release, it is
            the best of all families.
        noise_parameters: As in `LinearRegression`.
        neighbours: As in `LinearRegression`.
        ledger: As in `LinearRegression`.
        dataset: As in `LinearRegression`.
        unit: As in `LinearRegression`.
        updates: "vectors" releases all derivatives at once; public numbers determine the number and
            size of accelerated steps, and a ridge that keeps coefficients small. "coordinates" is
            private proximal coordinate descent (Mangold et al. 2022; Liu et al. 2026, App. D.7):
            `max_iter` rounds, each over a quarter of the coordinates in a new public permutation,
            often too few. "auto" is "vectors" for the noise "auto" and "gaussian". For other noise
            it is the updates with the smaller predicted loss.
        max_iter: Largest number of rounds with vectors (None: 1,000), or number of rounds with
            coordinates (None: 100). If the rounds are predicted to be too few, scikit-learn's
            ConvergenceWarning is issued.
        alpha: Weight λ of the penalty λ‖h‖₁ on the mean loss, for coefficients h; the intercept is
            penalised too.
        fit_intercept: True for a model with an intercept.
        max_norm: Largest l2 norm of a row of features, without the intercept's constant; public.
            Longer rows are shortened to it in training and prediction, without a warning. With
            dummies for k nominal features beside m numbers it is √(m + k). None: √d.
        classes: The two labels, negative first. With None they are read off the data with a
            PrivacyWarning, because their occurrence is then known.
        n_rows: With "add-remove", the approximate number of rows, a public number; updates are
            divided by it.

    Attributes:
        coef_: Coefficients, shape (1, d).
        intercept_: Intercept, shape (1,).
        classes_: The two labels, shape (2,).
        n_features_in_: Number of features.
        n_iter_: Number of rounds, shape (1,).
        privacy_: The guarantee; prints as a sentence.
        certificate_: The proof for all releases of the training together.
        plan_: The updates, the noise and the predicted error.

    Examples:
        >>> import numpy as np
        >>> X = np.linspace(-1, 1, 2000)[:, None]
        >>> model = LogisticRegression(epsilon=1, delta="1e-6", classes=(0, 1))
        >>> model = model.fit(X, (X[:, 0] > 0).astype(int))
        >>> model.predict([[-0.9], [0.9]])
        array([0, 1])
        >>> print(model.privacy_)
        (1, 1e-6)-differential privacy for a row that is replaced: proved δ ≤ 1...e-6 at ε = 1, ...

    """

    updates: str = AUTO
    max_iter: int | None = None
    alpha: Any = 1e-8
    fit_intercept: bool = True
    max_norm: Any = None
    classes: Any = None
    n_rows: Any = None

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model, and charge the ledger if there is one.

        Args:
            X: Features, shape (n, d).
            y: Labels, shape (n,).

        Returns:
            The fitted model itself.

        Raises:
            ValueError: scikit-learn refuses the data, there aren't two classes, or labels aren't in
                `classes`; nothing was spent.
            TypeError: The data is sparse or holds objects other than numbers; nothing was spent.
            InvalidArgument: A parameter is malformed; nothing was spent.
            Refused: No noise can serve, or the charge doesn't fit; nothing was spent.

        """
        X, y = read_numbers(self, X, y)
        classes, labels = self._signs(y)
        penalty = float(exact(self.alpha, name="alpha"))
        if penalty < 0:
            raise InvalidArgument(name="alpha", value=self.alpha, expected="alpha >= 0")
        problem = self._problem(*X.shape)
        plan = plan_training(
            problem, updates=check_choice(self.updates, "updates", (AUTO, *UPDATES))
        )
        # before anything is spent, because a caller's filter may raise the warning
        if not plan.converged:
            warnings.warn(plan.advice, ConvergenceWarning, stacklevel=2)
        certificate = plan.mechanism.certificate
        charged = charge(self, certificate, label="logistic regression")
        limit = self._limit(X.shape[1])
        whole = whole_features(X, squared_norm=limit)
        if self.fit_intercept:  # no row exceeds the norm: R² is limit + 1
            whole = np.column_stack([whole, np.full(len(whole), float(1 << BITS))])
        weights = _train(whole, labels, plan, rows=problem.rows, penalty=penalty)
        split = -1 if self.fit_intercept else len(weights)
        self.classes_ = classes
        self.coef_: NDArray[np.float64] = weights[None, :split]
        self.intercept_: NDArray[np.float64] = (
            weights[split:] if self.fit_intercept else np.zeros(1)
        )
        self.n_iter_: NDArray[np.int32] = np.array([plan.rounds], dtype=np.int32)
        self.plan_: TrainingPlan = plan
        self._squared_norm = limit
        self.certificate_: Certificate = certificate
        self.privacy_: Spent = Spent(
            certificate=certificate, neighbours=problem.neighbours, charged=charged
        )
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Score rows by the linear model, after clipping them to [−1, 1] and `max_norm`.

        Args:
            X: Features, shape (n, d).

        Returns:
            Scores, shape (n,); positive for the second class.
        """
        check_is_fitted(self)
        X = read_numbers(self, X, reset=False)
        rows = shorten(X, squared_norm=self._squared_norm)
        return rows @ self.coef_[0] + self.intercept_[0]

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the likelier class of each row.

        Args:
            X: Features, shape (n, d).

        Returns:
            Labels, shape (n,).

        """
        check_is_fitted(self)
        return self.classes_[(self.decision_function(X) > 0).astype(int)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probabilities of the two classes.

        Args:
            X: Features, shape (n, d).

        Returns:
            Probabilities, shape (n, 2).

        """
        with np.errstate(over="ignore"):
            second = 1 / (1 + np.exp(-self.decision_function(X)))
        return np.column_stack([1 - second, second])

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the logarithms of the probabilities, precise for probabilities near 0.

        Args:
            X: Features, shape (n, d).

        Returns:
            Natural logarithms of probabilities, shape (n, 2).

        """
        score = self.decision_function(X)
        return np.column_stack([-np.logaddexp(0, score), -np.logaddexp(0, -score)])

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn that scores on few rows are poor."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags

    def _signs(self, y: Any) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """The two classes, and −1 and 1 for rows of the first and the second class.

        Raises ValueError unless there are exactly two classes, and all labels are among them.
        Raises InvalidArgument if `classes` isn't None or two labels.
        """
        check_classification_targets(y)
        if self.classes is None:
            kind = type_of_target(y, input_name="y", raise_unknown=True)
            if kind != "binary":
                raise ValueError(
                    f"Only binary classification is supported. The type of the target is {kind}."
                )
            classes = np.unique(y)
            if len(classes) != 2:
                raise ValueError(
                    "The labels have only one class. Two classes are needed, such as classes=(0, "
                    "1)."
                )
            warnings.warn(
                "The classes were read off the labels, which no noise protects. If they are public,"
                " name them: classes=(negative, positive).",
                PrivacyWarning,
                stacklevel=3,
            )
        else:
            classes = np.asarray(self.classes)
            if classes.shape != (2,) or classes[0] == classes[1]:
                raise InvalidArgument(
                    name="classes", value=show_value(self.classes), expected="two labels"
                )
            if not np.isin(y, classes).all():
                raise ValueError(
                    "Some labels of y aren't in classes. Correct or drop the rows with other "
                    "labels."
                )
        return classes, np.where(y == classes[1], 1.0, -1.0)

    def _problem(self, rows: int, features: int) -> Problem:
        """Check the model's parameters, and collect the public numbers of its training.

        Raises InvalidArgument for a malformed parameter.
        """
        neighbours = check_choice(self.neighbours, "neighbours", NEIGHBOURS)
        if neighbours == "add-remove":
            if self.n_rows is None:
                raise InvalidArgument(
                    name="n_rows",
                    value=None,
                    expected="the approximate number of rows, a public number",
                    hint='With neighbours="add-remove" the exact number of rows is not public.',
                )
            rows = _validate.whole(self.n_rows, name="n_rows")
        elif self.n_rows is not None:
            raise InvalidArgument(
                name="n_rows",
                value=self.n_rows,
                expected='no n_rows without "add-remove"',
            )
        delta = Fraction(1, max(rows, 2) ** 2) if self.delta is None else self.delta
        constant = 1 if _validate.flag(self.fit_intercept, name="fit_intercept") else 0
        family, limit = read_noise(self.noise), self._limit(features)
        return Problem(
            budget=Budget(epsilon=self.epsilon, delta=delta),
            neighbours=neighbours,
            rows=rows,
            features=features + constant,
            rounds=_rounds(self.max_iter),
            squared_norm=None if limit is None else limit + constant,
            noise=family,
            parameters=read_parameters(family, self.noise_parameters),
        )

    def _limit(self, features: int) -> Fraction | None:
        """The square of `max_norm`, or the number of features if that is smaller; None for None.

        Raises InvalidArgument if `max_norm` is too small.
        """
        if self.max_norm is None:
            return None
        norm = exact(self.max_norm, name="max_norm")
        if norm < _LEAST_NORM:
            raise InvalidArgument(
                name="max_norm",
                value=show_value(self.max_norm),
                expected="max_norm >= 2^-20, below which every feature is 0",
            )
        return min(norm**2, Fraction(features))


def _rounds(given: Any) -> int | None:
    if given is None:
        return None
    return _validate.whole(given, name="max_iter", most=10**6)


def _train(
    whole: NDArray[np.float64],
    labels: NDArray[np.float64],
    plan: TrainingPlan,
    *,
    rows: int,
    penalty: float,
) -> NDArray[np.float64]:
    """Train the coefficients, with as many releases as the plan's certificate covers."""

    def noisy(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        scaled = ScaledIntegers(numerators=sums.astype(np.int64), bits=BITS)
        return plan.mechanism.release(scaled).values

    if plan.updates == "vectors":
        return vector_rounds(whole, labels, plan=plan, rows=rows, penalty=penalty, noisy=noisy)
    order = _permutations(whole.shape[1])
    return coordinate_rounds(
        whole, labels, plan=plan, rows=rows, penalty=penalty, order=order, noisy=noisy
    )


def _permutations(size: int) -> Iterator[NDArray[np.int64]]:
    """Yield random permutations of 0, …, `size` − 1: the orders in which coordinates are updated.

    The guarantee holds for every order, so the orders may be public.
    """
    entropy = SystemEntropy()
    while True:
        yield np.argsort(entropy.words(size), kind="stable")
