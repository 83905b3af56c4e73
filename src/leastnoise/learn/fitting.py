"""The common part of all fits: read the data, charge a ledger, and state the guarantee."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from traceback import walk_tb
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
    best_of,
    check_choice,
    read_noise,
    read_parameters,
    state_neighbours,
)
from leastnoise.learn.moments import Floats, Moments, NoisyMoments
from leastnoise.learn.training import whole_features
from leastnoise.ledger.ledger import Ledger
from leastnoise.mechanism.mechanism import Mechanism


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateModel(BaseEstimator):
    """The base of all models, with the parameters that they share: see `LinearRegression`."""

    epsilon: Any = 1
    delta: Any = None
    noise: str = AUTO
    noise_parameters: Any = None
    neighbours: str = "replace-one"
    ledger: Any = None
    dataset: Any = None
    unit: str = "row"

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn that fits are random."""
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags


@final
@dataclass(frozen=True, kw_only=True)
class Spent:
    """The guarantee of a fitted model for one row.

    Attributes:
        certificate: The proof.
        neighbours: "replace-one" or "add-remove".
        charged: Number of the ledger's entry; None without a ledger.

    """

    certificate: Certificate
    neighbours: str
    charged: int | None = None

    def __str__(self) -> str:
        """The guarantee as a sentence."""
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
    """Charge the model's `ledger`; return the number of the entry, or None without a ledger."""
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
    """Read features as floats, and labels as they are, without quoting data in errors.

    With `y_numeric` in `more`, labels become floats, too. `more` are keyword arguments for
    scikit-learn, which checks the data; it quotes texts and arrays, which are data, in its
    messages. Raises TypeError for sparse data and for objects that aren't numbers, ValueError for
    other malformed data.
    """
    try:
        return _as_floats(validate_data(model, X, *y, dtype=np.float64, **more), **more)
    except OverflowError:
        why = "Expected numbers below 1.8e308 in size: a float can't hold larger ones."
        raise ValueError(why) from None
    except ValueError as error:
        if "could not convert" in str(error):
            raise ValueError(
                "Expected numbers, but a text in the data can't be read as a number."
            ) from None
        if not _is_from_sklearn(error):
            raise TypeError(_NO_NUMBERS) from None
        lines = (line.partition(": '")[0] for line in str(error).splitlines())
        message = "\n".join(line for line in lines if not line.startswith(("array=", "[", " ")))
        raise ValueError(message) from None
    except Exception as error:  # an object's own conversion may raise anything, with its data
        sparse = isinstance(error, TypeError) and _is_from_sklearn(error)
        if sparse and str(error).startswith(("Sparse data", "A sparse")):
            raise
        raise TypeError(_NO_NUMBERS) from None


# scikit-learn's own checks look for these words, in this order
_NO_NUMBERS = (
    "Each argument must be a number, or a string that spells a number: turn dates and other "
    "objects into numbers first."
)


def _is_from_sklearn(error: Exception) -> bool:
    """True if scikit-learn's code, or a compiled function that it calls, raised the error."""
    *_, (frame, _) = walk_tb(error.__traceback__)
    return frame.f_globals.get("__name__", "").startswith("sklearn.")


def _as_floats(data: Any, **more: Any) -> Any:
    """Convert a numeric target to floats, so that its type doesn't depend on the rows."""
    if not more.get("y_numeric"):
        return data
    features, target = data
    return features, np.asarray(target, dtype=np.float64)


# One draw of noise for the second moments of a model's columns, and its cost.


_FAMILIES = ("gaussian", "l2", "k-norm", "k-staircase")
"""The families that "auto" compares, since trying all families takes seconds.

The best of these is within half a per cent of the best family.
"""
_GRID = Fraction(1, 2**28)  # the finest grid: a release reaches 2^61 steps, and sums reach 2^32


def publish_moments(
    model: PrivateModel, columns: Floats, *, constant: bool, label: str
) -> tuple[NoisyMoments, Spent]:
    """Charge the model's ledger, if it has one, and release the moments of `columns` (n, d).

    Columns are clipped to [−1, 1]. The model has the parameters of `LinearRegression`. With
    `constant`, moments with a constant column of 1 are released, too. The ledger's entry has the
    name `label`. Raises InvalidArgument for malformed parameters, Refused if no noise can serve or
    the charge doesn't fit: then nothing was spent.
    """
    neighbours = check_choice(model.neighbours, "neighbours", NEIGHBOURS)
    counted = neighbours == "add-remove"
    rows = None if counted else len(columns)
    moments = Moments(variables=columns.shape[1], constant=constant, counted=counted)
    mechanism = _mechanism(model, moments, rows=rows)
    # before the charge, since it may raise an error
    features = whole_features(columns, squared_norm=None)
    charged = charge(model, mechanism.certificate, label=label)
    released = mechanism.release(moments.sums(features))
    # includes the rounding to the grid
    variances = mechanism.variances + float(mechanism.grid) ** 2 / 12
    published = moments.read(released.values, variances, rows=rows)
    return published, Spent(
        certificate=mechanism.certificate, neighbours=neighbours, charged=charged
    )


def _mechanism(model: PrivateModel, moments: Moments, *, rows: int | None) -> Mechanism:
    """The proved mechanism, from public numbers alone.

    `rows` is None if their number isn't public; then `delta` has to be given, or InvalidArgument is
    raised.
    """
    delta = model.delta
    if delta is None:
        if rows is None:
            raise InvalidArgument(
                name="delta",
                value=None,
                expected="a number",
                hint='With neighbours="add-remove" the exact number of rows is not public.',
            )
        delta = Fraction(1, max(rows, 2) ** 2)
    family = read_noise(model.noise)
    mechanism = best_of(
        _FAMILIES if family == AUTO else (family,),
        budget=Budget(epsilon=model.epsilon, delta=delta),
        sensitivity=moments.sensitivity,
        dimension=moments.dimension,
        parameters=read_parameters(family, model.noise_parameters),
    )
    if mechanism.grid < _GRID:  # on a finer grid, sums of many rows would be clipped
        mechanism = mechanism.on_grid(_GRID)
    return state_neighbours(mechanism, model.neighbours)
