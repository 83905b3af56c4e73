"""What "least noise" means: the expected errors that candidates are ranked by."""

from __future__ import annotations

from enum import StrEnum

from leastnoise import _validate
from leastnoise.noise.base import Noise


class Loss(StrEnum):
    """`mse` = E‖X‖₂², `mae` = E‖X‖₁; totals over the coordinates of one release."""

    MSE = "mse"
    MAE = "mae"

    @classmethod
    def named(cls, name: str) -> Loss:
        """Return the loss called `name`; raises InvalidArgument for another word."""
        return cls(_validate.one_of(name, tuple(cls), name="loss"))

    def of(self, noise: Noise) -> float:
        """Return the loss of `noise`."""
        return noise.mse if self is Loss.MSE else noise.mae
