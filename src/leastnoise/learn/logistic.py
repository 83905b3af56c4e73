"""A private logistic regression with the manners of scikit-learn."""

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
from leastnoise.learn.choice import AUTO, chosen, chosen_noise, chosen_parameters
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
    """Something was read off the data that no noise protects."""


@dataclass(kw_only=True, eq=False, repr=False)
class LogisticRegression(ClassifierMixin, PrivateModel):
    """ℓ1-regularised logistic regression for two classes, fitted with differential privacy.

    The model after `fit` is (`epsilon`, `delta`)-private in each row, proved for all releases of
    the training together by `certificate_`. Features are to lie in [−1, 1] (see `BoundedScaler`);
    what lies outside is cut off there, without a word, since a warning would be about the rows.

    Not promised: what `LinearRegression` doesn't promise. Labels that aren't in `classes` are
    errors, too, which depend on the rows.

    Parameters
    ----------
    epsilon, delta, noise, noise_parameters, fit_intercept, neighbours, ledger, dataset, unit :
        As of `LinearRegression`; every family that composes serves as noise.
    updates : "auto", "vectors" or "coordinates"
        "vectors" releases all derivatives at once; public numbers alone say how many accelerated
        steps, of which size, and how strong a ridge keeps small what noise won't let be learnt.
        "coordinates" is private proximal coordinate descent as in the papers (Mangold et al. 2022;
        Liu et al. 2026, App. D.7): `max_iter` rounds, each over a quarter of the coordinates of a
        fresh public permutation, often too few. "auto" is "vectors", unless `noise` is for single
        numbers.
    max_iter : int or None
        At most so many rounds of vectors (None: 1,000), or so many of coordinates (None: 100).
        Rounds that are predicted to be too few give a ConvergenceWarning of scikit-learn's.
    alpha : float
        λ of the penalty λ‖h‖₁ on the mean loss; the intercept pays it too.
    max_norm : number or None
        How long a row of features is at most in l2, publicly known, the intercept's constant not
        among them; longer rows are shortened to it, in training and prediction, again without a
        word. With dummies for k nominal features beside m numbers it is √(m + k). None: √d.
    classes : pair or None
        The two labels, negative first. If it is None they are read off the data with a
        PrivacyWarning: that both occur is then known.
    n_rows : int or None
        With "add-remove": about how many rows there are, publicly known; updates are divided by it.

    Attributes
    ----------
    coef_ (1, d), intercept_ (1,), classes_ (2,), n_features_in_, n_iter_ :
        As in scikit-learn; `n_iter_` is (rounds,).
    privacy_ : what was spent, in a sentence if printed
    certificate_ : the proof, about all releases of the training together
    plan_ : which updates and noise were taken, and what error was predicted

    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 2000)[:, None]
    >>> model = LogisticRegression(epsilon=1, delta="1e-6", classes=(0, 1))
    >>> model = model.fit(X, (X[:, 0] > 0).astype(int))
    >>> model.predict([[-0.9], [0.9]])
    array([0, 1])
    >>> print(model.privacy_)
    (1, 1e-6)-differential privacy for a row that is replaced: proved δ ≤ 1...e-6 at ε = 1, for ...

    """

    updates: str = AUTO
    max_iter: int | None = None
    alpha: Any = 1e-8
    fit_intercept: bool = True
    max_norm: Any = None
    classes: Any = None
    n_rows: Any = None

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model to features (n, d) and labels (n,), and charge the ledger if there is one.

        Raises ValueError for what scikit-learn refuses, for more or fewer than two classes and for
        labels that aren't in `classes`; InvalidArgument for parameters that make no sense; Refused
        if no noise can serve, or the charge doesn't fit. Then nothing was spent.
        """
        X, y = read_numbers(self, X, y)
        classes, labels = self._signs(y)
        penalty = float(exact(self.alpha, name="alpha"))
        if penalty < 0:
            raise InvalidArgument(name="alpha", value=self.alpha, expected="alpha >= 0")
        problem = self._problem(*X.shape)
        plan = plan_training(problem, updates=chosen(self.updates, "updates", (AUTO, *UPDATES)))
        if not plan.converged:  # before anything is spent: a caller's filter may raise it
            warnings.warn(plan.advice, ConvergenceWarning, stacklevel=2)
        certificate = plan.mechanism.certificate
        charged = charge(self, certificate, label="logistic regression")
        limit = self._limit(X.shape[1])
        whole = whole_features(X, squared_norm=limit)
        if self.fit_intercept:  # beside features that are short enough: R² is limit + 1
            whole = np.column_stack([whole, np.full(len(whole), float(1 << BITS))])
        weights = _trained(whole, labels, plan, rows=problem.rows, penalty=penalty)
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
        """Return h·x + intercept for each row, cut to [−1, 1] and `max_norm`, shape (n,)."""
        check_is_fitted(self)
        X = read_numbers(self, X, reset=False)
        rows = shorten(X, squared_norm=self._squared_norm)
        return rows @ self.coef_[0] + self.intercept_[0]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likelier class of each row, shape (n,)."""
        check_is_fitted(self)
        return self.classes_[(self.decision_function(X) > 0).astype(int)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of the two classes, shape (n, 2)."""
        with np.errstate(over="ignore"):
            second = 1 / (1 + np.exp(-self.decision_function(X)))
        return np.column_stack([1 - second, second])

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return their logarithms, without loss where a probability is near 0, shape (n, 2)."""
        score = self.decision_function(X)
        return np.column_stack([-np.logaddexp(0, score), -np.logaddexp(0, -score)])

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that noise costs accuracy on a few rows."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags

    def _signs(self, y: Any) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return the two classes, and −1 and 1 for the first and the second."""
        check_classification_targets(y)
        if self.classes is None:
            kind = type_of_target(y, input_name="y", raise_unknown=True)
            if kind != "binary":
                raise ValueError(
                    f"Only binary classification is supported. The type of the target is {kind}."
                )
            found = np.unique(y)
            if len(found) != 2:
                raise ValueError(
                    "The labels have one class only, and two are needed. Name both: classes=(0, 1)."
                )
            warnings.warn(
                "The classes were read off the labels, which no noise protects. If they are public,"
                " name them: classes=(negative, positive).",
                PrivacyWarning,
                stacklevel=3,
            )
        else:
            found = np.asarray(self.classes)
            if found.shape != (2,) or found[0] == found[1]:
                raise InvalidArgument(
                    name="classes", value=show_value(self.classes), expected="two labels"
                )
            if not np.isin(y, found).all():
                raise ValueError("Some labels of y aren't in classes. Correct or drop such rows.")
        return found, np.where(y == found[1], 1.0, -1.0)

    def _problem(self, rows: int, features: int) -> Problem:
        """Return the public numbers of this training."""
        neighbours = chosen(self.neighbours, "neighbours", NEIGHBOURS)
        if neighbours == "add-remove":
            if self.n_rows is None:
                raise InvalidArgument(
                    name="n_rows",
                    value=None,
                    expected="about how many rows there are, a public number",
                    hint='With "add-remove" the number of rows is not public.',
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
        family, limit = chosen_noise(self.noise), self._limit(features)
        return Problem(
            budget=Budget(epsilon=self.epsilon, delta=delta),
            neighbours=neighbours,
            rows=rows,
            features=features + constant,
            rounds=_rounds(self.max_iter),
            squared_norm=None if limit is None else limit + constant,
            noise=family,
            parameters=chosen_parameters(family, self.noise_parameters),
        )

    def _limit(self, features: int) -> Fraction | None:
        """Return `max_norm`², at most what so many features have."""
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


def _trained(
    whole: NDArray[np.float64],
    labels: NDArray[np.float64],
    plan: TrainingPlan,
    *,
    rows: int,
    penalty: float,
) -> NDArray[np.float64]:
    """Return the coefficients, by as many releases as the plan's certificate is about."""

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
    """Yield fresh permutations; they are public, and any will do."""
    entropy = SystemEntropy()
    while True:
        yield np.argsort(entropy.words(size), kind="stable")
