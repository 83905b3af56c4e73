"""What "least noise" means: the expected errors that candidates are ranked by."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from leastnoise import _validate


class HasErrors(Protocol):
    """Whatever knows its expected errors."""

    @property
    def mse(self) -> float:
        """The expected squared error, in all coordinates."""
        ...

    @property
    def mae(self) -> float:
        """The expected absolute error, in all coordinates."""
        ...


class Loss(StrEnum):
    """`mse` = E‖X‖₂², `mae` = E‖X‖₁; totals over the coordinates of one release."""

    MSE = "mse"
    MAE = "mae"

    @classmethod
    def named(cls, name: str) -> Loss:
        """Return the loss called `name`; raises InvalidArgument for another word."""
        return cls(_validate.one_of(name, tuple(cls), name="loss"))

    def of(self, noise: HasErrors) -> float:
        """Return the loss of a noise law, or of a mechanism."""
        return noise.mse if self is Loss.MSE else noise.mae
