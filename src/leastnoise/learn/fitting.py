"""What every fit does beside its numbers: reads its data, charges a ledger, says what it spent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from leastnoise import _words
from leastnoise.certificate.certificate import Certificate
from leastnoise.ledger.ledger import Ledger


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
            f" for a row that is {change}: proved δ ≤ {_words.at_least(delta.upper)} at ε ="
            f" {_words.number(budget.epsilon)}{together}."
        )


def charge(model: Any, certificate: Certificate, *, label: str) -> int | None:
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
