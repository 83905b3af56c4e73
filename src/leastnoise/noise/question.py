"""What noise is wanted for: one record, from the public call to the proof."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any, Protocol, final

from leastnoise import _validate
from leastnoise.guarantees.budget import Budget, amplify
from leastnoise.guarantees.geometry import Geometry
from leastnoise.guarantees.sensitivity import L2, Neighbours, Norm, Sensitivity
from leastnoise.noise.base import Noise


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
    """What "least noise" means: the expected error that candidates are ranked by.

    `mse` = E‖X‖₂², `mae` = E‖X‖₁; totals over the coordinates of one release.
    """

    MSE = "mse"
    MAE = "mae"

    @classmethod
    def named(cls, name: str) -> Loss:
        """Return the loss called `name`; raises InvalidArgument for another word."""
        return cls(_validate.one_of(name, tuple(cls), name="loss"))

    def of(self, noise: HasErrors) -> float:
        """Return the loss of a noise law, or of a mechanism."""
        return noise.mse if self is Loss.MSE else noise.mae


@final
@dataclass(frozen=True, kw_only=True)
class Question:
    """A query of `dimension` numbers is to be released: with which noise is the loss least.

    All of `sensitivities` hold for the query; the search through one family is about one of them.
    With a `geometry` the noise goes through its map. The `budget` is that of all `compositions`
    releases together, each of a Poisson sample if `sampling_rate` < 1; the `loss` is that of one.
    It decides those parameters beside the scale that a family's source leaves open; `fixed` holds
    those that the user has set (numbers, and tuples of them). `stated_neighbours` says who the
    neighbours are where neither the sensitivity nor sampling does.

    What a proof is about is another record, `Releases`: it has noise, and no budget.

    A family's `fit` and `several` (`Family`) are asked behind the map (`behind_geometry`), and
    return the law for a worst shift of 1 in the family's norm. So how long shifts are matters to
    noise on the whole numbers alone, and which there are to noise in the shape of a body.
    """

    budget: Budget
    sensitivities: tuple[Sensitivity, ...] = (L2(1),)
    dimension: int = 1
    geometry: Geometry | None = None
    loss: Loss = Loss.MSE
    fixed: Mapping[str, Any] = field(default_factory=dict, hash=False)
    compositions: int = 1
    sampling_rate: Fraction = Fraction(1)
    stated_neighbours: Neighbours | None = None

    @property
    def sensitivity(self) -> Sensitivity:
        """The sensitivity that a search is about, of a question that has only one."""
        (one,) = self.sensitivities
        return one

    @property
    def noise_dimension(self) -> int:
        """Number of coordinates of the noise, before the geometry's map."""
        return self.geometry.noise_dimension if self.geometry else self.dimension

    @property
    def once(self) -> bool:
        """Whether it is about one release, of all rows."""
        return self.compositions == 1 and self.sampling_rate == 1

    def radius(self, norm: Norm) -> Fraction | None:
        """Return the radius of the smallest ball in that norm; None if none is known."""
        radii = (one.radius(norm, dimension=self.dimension) for one in self.sensitivities)
        return min((radius for radius in radii if radius is not None), default=None)

    def through(self, sensitivity: Sensitivity, geometry: Geometry | None) -> Question:
        """Return the same question about one of the sensitivities, and noise that goes so."""
        return replace(self, sensitivities=(sensitivity,), geometry=geometry)

    def behind_geometry(self, shifts: Sensitivity) -> Question:
        """Return what the noise itself has to hide: `shifts`, in every draw of a release."""
        if self.geometry is None:
            return self
        return replace(
            self,
            sensitivities=(shifts,),
            dimension=self.noise_dimension,
            geometry=None,
            compositions=self.compositions * self.geometry.draws(self.sensitivity),
        )

    def one_at(self, budget: Budget) -> Question:
        """Return the question of one release of all rows that meets `budget` on a sample of them.

        Raises Refused if sampling alone hides all.
        """
        whole = budget if self.sampling_rate == 1 else amplify(budget, self.sampling_rate)
        return replace(self, budget=whole, compositions=1, sampling_rate=Fraction(1))


Search = Callable[[Question], Noise]
"""Returns the law of one family: in floats, on the private side as far as they can tell."""
