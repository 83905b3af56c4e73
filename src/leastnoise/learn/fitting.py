"""What every fit does beside its numbers: reads its data, charges a ledger, says what it spent."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from leastnoise import _words
from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import NEIGHBOURS
from leastnoise.learn.choice import (
    AUTO,
    about,
    best_of,
    chosen,
    chosen_noise,
    chosen_parameters,
)
from leastnoise.learn.moments import Floats, Moments, NoisyMoments
from leastnoise.learn.training import whole_features
from leastnoise.ledger.ledger import Ledger
from leastnoise.mechanism.mechanism import Mechanism


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateModel(BaseEstimator):
    """The parameters that all models have; `LinearRegression` says what each means."""

    epsilon: Any = 1
    delta: Any = None
    noise: str = AUTO
    noise_parameters: Any = None
    neighbours: str = "replace-one"
    ledger: Any = None
    dataset: Any = None
    unit: str = "row"

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that fits differ."""
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags


@final
@dataclass(frozen=True, kw_only=True)
class Spent:
    """What a fitted model cost: the statement of `certificate`, for one row.

    `charged` is the number of the ledger's entry, None if there is no ledger.
    """

    certificate: Certificate
    neighbours: str
    charged: int | None = None

    def __str__(self) -> str:
        """Return the guarantee in a sentence."""
        budget, delta = self.certificate.budget, self.certificate.delta
        change = "added or removed" if self.neighbours == "add-remove" else "replaced"
        count = self.certificate.compositions
        together = f", for {count} releases together" if count > 1 else ""
        return (
            f"({_words.number(budget.epsilon)}, {_words.number(budget.delta)})-differential privacy"
            f" for a row that is {change}: proved δ ≤ {_words.round_up(delta.upper)} at ε ="
            f" {_words.number(budget.epsilon)}{together}."
        )


def charge(model: PrivateModel, certificate: Certificate, *, label: str) -> int | None:
    """Charge the model's `ledger`, if it has one; return the number of the entry."""
    if model.ledger is None:
        return None
    ledger = model.ledger if isinstance(model.ledger, Ledger) else Ledger(model.ledger)
    entry = ledger.charge(
        certificate,
        unit=model.unit,
        neighbours=model.neighbours,
        dataset=model.dataset,
        label=label,
    )
    return entry.number


def read_numbers(model: BaseEstimator, X: Any, *y: Any, **more: Any) -> Any:
    """Return features as floats, and labels; raises scikit-learn's errors without what they quote.

    A text that is no number, or the array that isn't one, would be data in a message. `more` is
    for scikit-learn, such as y_numeric.
    """
    try:
        return _floats(validate_data(model, X, *y, dtype=np.float64, **more), **more)
    except OverflowError:
        raise ValueError("Expected numbers that a float can hold.") from None
    except TypeError as error:
        if str(error).startswith(("Sparse data", "A sparse")):
            raise
        raise TypeError("Each argument must be no string, but a number.") from None
    except ValueError as error:
        if "could not convert" in str(error):
            raise ValueError("Expected numbers: a string could not be read as a float.") from None
        lines = (line.partition(": '")[0] for line in str(error).splitlines())
        said = "\n".join(line for line in lines if not line.startswith(("array=", "[", " ")))
        raise ValueError(said) from None


def _floats(found: Any, **more: Any) -> Any:
    """Return features, and a numeric target in a kind of number that no row has a say in."""
    if not more.get("y_numeric"):
        return found
    features, target = found
    return features, np.asarray(target, dtype=np.float64)


# One draw of noise for the second moments of a model's columns, and what it cost.


_FAMILIES = ("gaussian", "l2", "k-norm", "k-staircase")
"""Of which one is best or within half a per cent of it; what is searched for takes seconds."""
_GRID = Fraction(1, 2**28)  # at least: a release reaches 2^61 steps, and sums 2^32


def publish_moments(
    model: PrivateModel, columns: Floats, *, constant: bool, label: str
) -> tuple[NoisyMoments, Spent]:
    """Charge the model's ledger, if it has one, and release the moments of `columns` (n, d).

    Columns are cut to [−1, 1]. The model has the parameters of `LinearRegression`. Raises
    InvalidArgument for those that make no sense, Refused if no noise can serve, or the charge
    doesn't fit: then nothing was spent.
    """
    neighbours = chosen(model.neighbours, "neighbours", NEIGHBOURS)
    counted = neighbours == "add-remove"
    rows = None if counted else len(columns)
    moments = Moments(variables=columns.shape[1], constant=constant, counted=counted)
    mechanism = _mechanism(model, moments, rows=rows)
    features = whole_features(columns, squared_norm=None)  # or too many rows: nothing was spent
    charged = charge(model, mechanism.certificate, label=label)
    released = mechanism.release(moments.sums(features))
    variances = mechanism.variances + float(mechanism.grid) ** 2 / 12  # it is rounded to that
    published = moments.read(released.values, variances, rows=rows)
    return published, Spent(
        certificate=mechanism.certificate, neighbours=neighbours, charged=charged
    )


def _mechanism(model: PrivateModel, moments: Moments, *, rows: int | None) -> Mechanism:
    """Return the noise, from public numbers alone: `rows` is None where it isn't one."""
    delta = model.delta
    if delta is None:
        if rows is None:
            raise InvalidArgument(
                name="delta",
                value=None,
                expected="a number",
                hint='With "add-remove" the number of rows is not public.',
            )
        delta = Fraction(1, max(rows, 2) ** 2)
    family = chosen_noise(model.noise)
    mechanism = best_of(
        _FAMILIES if family == AUTO else (family,),
        budget=Budget(epsilon=model.epsilon, delta=delta),
        sensitivity=moments.sensitivity,
        dimension=moments.dimension,
        parameters=chosen_parameters(family, model.noise_parameters),
    )
    if mechanism.grid < _GRID:  # noise so small that sums of many rows would be cut off
        mechanism = mechanism.on_grid(_GRID)
    return about(mechanism, model.neighbours)
