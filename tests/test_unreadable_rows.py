"""No public function that takes rows quotes them in the error for rows that it can't read."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise.errors import InvalidArgument
from leastnoise.learn import (
    BoundedScaler,
    EmpiricalCovariance,
    LinearRegression,
    LogisticRegression,
    StepAccountant,
    clip,
)
from leastnoise.mechanism.values import ScaledIntegers

SECRET = "secret-123"


class Unreadable:
    """An object that quotes its data in every error."""

    def __init__(self, kind: type[Exception]) -> None:
        """Raise errors of type `kind`."""
        self.kind = kind

    def raise_error(self, *_: object, **__: object) -> Any:
        """Raise the error."""
        raise self.kind(SECRET)

    __repr__ = __str__ = __float__ = __int__ = __index__ = __len__ = __getitem__ = raise_error
    __array__ = __eq__ = raise_error
    __hash__ = None  # type: ignore[assignment]


class Unlike:
    """An object that is no array, and quotes its data if it is compared or converted."""

    def __repr__(self) -> str:
        """The data."""
        return SECRET

    def __float__(self) -> float:
        """Raise the error."""
        raise RuntimeError(SECRET)

    def __eq__(self, other: object) -> bool:
        """Raise the error."""
        raise RuntimeError(SECRET)

    __hash__ = None  # type: ignore[assignment]


ROWS: dict[str, Any] = {
    "text": SECRET,
    "bytes": SECRET.encode(),
    "list of texts": [SECRET],
    "row of a text": [[SECRET]],
    "numbers and a text": [[1.0, SECRET], [2.0, 3.0]],
    "array of texts": np.array([[SECRET, SECRET]]),
    "array of objects": np.array([[SECRET, 1]], dtype=object),
    "frame": pd.DataFrame({"x": [SECRET]}),
    "ragged rows": [[1.0], [SECRET, 2.0]],
    "mapping": {SECRET: SECRET},
    "rows of mappings": [[{SECRET: 1}]],
    "set": {SECRET},
    "fields": np.array([(1.0,)], dtype=[(SECRET, float)]),
    "date": [[date(1999, 12, 31)]],
    **{f"unreadable: {kind.__name__}": Unreadable(kind) for kind in (ValueError, RuntimeError)},
    **{f"of unreadable: {kind.__name__}": [[Unreadable(kind)]] for kind in (ValueError, KeyError)},
    "unlike": Unlike(),
    "row of unlike": [Unlike(), 1.0],
    "rows of unlike": [[Unlike(), 1.0], [1.0, 2.0]],
}
X, Y = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.1]]), np.array([0.0, 1.0, 0.0])
BUDGET: Any = {"epsilon": 1, "delta": "0.1"}
STEPS = StepAccountant(noise_multiplier=1)
NOISE = ln.calibrate("gaussian", **BUDGET, sensitivity=ln.L2(1), dimension=2)
SHARES = ln.Shares(
    mechanism=ln.calibrate("geometric", epsilon=1, sensitivity=ln.Integer(1)), clients=2
)
WORKLOAD = ln.workload(np.tri(2), epsilon=1)
CALLS: dict[str, Callable[[Any], Any]] = {
    "clip": lambda rows: clip(rows, 1),
    "noisy_sum": lambda rows: STEPS.noisy_sum(rows, norm=1),
    "release": NOISE.release,
    "release_chunks": lambda rows: list(NOISE.release_chunks(rows)),
    "one chunk": lambda rows: list(NOISE.release_chunks([rows])),
    "workload": WORKLOAD.release,
    "share": SHARES.share,
    "add": SHARES.add,
    "one share": lambda rows: SHARES.add([rows]),
    "total": lambda rows: SHARES.total(rows, clients=2),
    "ScaledIntegers": lambda rows: ScaledIntegers(numerators=rows, bits=0),
}


def scaler() -> BoundedScaler:
    return BoundedScaler(bounds=(0, 1))


def covariance() -> EmpiricalCovariance:
    return EmpiricalCovariance(**BUDGET, bounds=(0, 1))


def linear() -> LinearRegression:
    return LinearRegression(**BUDGET, bounds=(0, 1), target_bounds=(0, 1))


def logistic() -> LogisticRegression:
    return LogisticRegression(**BUDGET, classes=(0, 1))


FITS: dict[str, Callable[[Any], Any]] = {
    "scaler": lambda rows: scaler().fit(rows),
    "covariance": lambda rows: covariance().fit(rows),
    "linear": lambda rows: linear().fit(rows, Y),
    "linear, target": lambda rows: linear().fit(X, rows),
    "logistic": lambda rows: logistic().fit(rows, Y),
    "logistic, target": lambda rows: logistic().fit(X, rows),
    "transform": scaler().fit(X).transform,
}


def shown(error: BaseException) -> str:
    """The error as Python would print it, with its causes, but without lines of source code."""
    texts = "".join(traceback.format_exception_only(error))
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return texts + (shown(cause) if cause else "")


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("call", CALLS)
def test_rows_without_numbers_are_refused_without_a_quote(call: str, rows: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        CALLS[call](ROWS[rows])
    assert SECRET not in shown(caught.value)
    assert "1999" not in shown(caught.value)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("call", FITS)
def test_fits_raise_the_errors_of_scikit_learn_without_a_quote(call: str, rows: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        FITS[call](ROWS[rows])
    assert SECRET not in shown(caught.value)
    assert "1999" not in shown(caught.value)


@pytest.mark.parametrize("number", [10**400, -(10**400), None], ids=["large", "small", "none"])
def test_a_number_that_is_no_float_raises_no_error(number: Any) -> None:
    assert clip([[number, 1.0], [0.5, 0.0]], 1).tolist() == [[0, 0], [0.5, 0]]
