"""Questions about noise and statements about it: the records that all searches and proofs share."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any, Protocol, Self, final

from flint import arb

from leastnoise import _validate
from leastnoise._record import field, instance_of, record, takes, whole
from leastnoise.balls.core import ball, float_above, float_below, precision
from leastnoise.guarantees.budget import A_SAMPLING_RATE, Budget, amplify
from leastnoise.guarantees.exact import Interval
from leastnoise.guarantees.fields import FractionField
from leastnoise.guarantees.geometry import Geometry
from leastnoise.guarantees.sensitivity import (
    L2,
    NEIGHBOURS,
    Neighbours,
    Norm,
    Sensitivity,
    ShiftBounds,
    common_neighbours,
)
from leastnoise.noise.base import Noise


def _check_neighbours(
    stated: Neighbours | None, *, name: str, record: Releases
) -> Neighbours | None:
    """Return the `stated` neighbour relation, or add-remove for a `record` of Poisson samples.

    Raises InvalidArgument if `stated` is neither None nor a known relation; `name` is the
    argument's name. Raises NotApplicable for Poisson samples with another relation.
    """
    if stated is not None:
        _validate.one_of(stated, NEIGHBOURS, name=name)
    return stated if record.sampling_rate == 1 else common_neighbours((stated, "add-remove"))


@final
@record()
class Releases:
    """The subject of a proof: releases with noise of one law, which must hide one set of shifts.

    There are `compositions` releases. With `sampling_rate` < 1 each is of a Poisson sample that
    contains every record with that probability, independent of other records and samples.
    `neighbours` is the relation for which the shifts are stated; None leaves it to the user who
    stated the sensitivity. For samples it is always add-remove.

    A `Question` has a budget, but no noise yet. `Releases` have noise, and so a δ at every ε. A
    proof may cover several `Releases` together, with different noise and shifts. `shifts` bounds
    the shifts that the noise itself must hide, from outside and from inside. If a geometry maps the
    noise linearly, these are shifts before that map. If one release has several draws, each draw
    counts as a composition.
    """

    noise: Noise = field(converter=instance_of(Noise, like="a noise law"))
    shifts: ShiftBounds = field(converter=instance_of(ShiftBounds, like="ShiftBounds"))
    compositions: int = field(converter=whole(), default=1)
    sampling_rate: FractionField = field(converter=A_SAMPLING_RATE, default=Fraction(1))
    neighbours: Neighbours | None = field(
        converter=takes(_check_neighbours, of_record=True), default=None
    )

    def times(self, count: int) -> Releases:
        """These releases, with `count` times as many compositions."""
        return replace(self, compositions=self.compositions * count)


@final
@dataclass(frozen=True, kw_only=True)
class ProvedDelta:
    """A proved lower and a proved upper bound on δ(ε), as balls; comparisons are rigorous.

    δ(ε) is at least the lower end of the ball `lower`, and at most the upper end of the ball
    `upper`. There are two balls, as the radius of a single ball has only 30 bits.
    """

    lower: arb
    upper: arb

    @classmethod
    def within(cls, enclosure: arb) -> Self:
        """State that δ(ε) lies in the ball `enclosure`."""
        return cls(lower=enclosure, upper=enclosure)

    @property
    def enclosure(self) -> arb:
        """A ball that contains δ(ε)."""
        return self.lower.union(self.upper)

    @property
    def interval(self) -> Interval:
        """The proved interval, rounded outward to floats; [0, 1] unless both balls are finite."""
        with precision():
            if not (self.lower.is_finite() and self.upper.is_finite()):
                return Interval(0.0, 1.0)
            lower, upper = float_below(self.lower), float_above(self.upper)
            return Interval(max(0.0, lower), min(1.0, upper))

    def certainly_at_most(self, delta: Fraction) -> bool:
        """True only if δ(ε) <= `delta` is proved."""
        with precision():
            return bool(self.upper <= ball(delta))

    def certainly_above(self, delta: Fraction) -> bool:
        """True only if δ(ε) > `delta` is proved."""
        with precision():
            return bool(self.lower > ball(delta))


class HasErrors(Protocol):
    """The protocol of objects with expected errors: noise laws and mechanisms."""

    @property
    def mse(self) -> float:
        """The expected squared error, summed over all coordinates."""
        ...

    @property
    def mae(self) -> float:
        """The expected absolute error, summed over all coordinates."""
        ...


class Loss(StrEnum):
    """The meaning of "least noise": the expected error by which candidates are ranked.

    For noise X, `mse` is E‖X‖₂² and `mae` is E‖X‖₁: totals over the coordinates of one release.
    """

    MSE = "mse"
    MAE = "mae"

    @classmethod
    def named(cls, name: str) -> Loss:
        """Return the loss called `name`. Raise InvalidArgument for an unknown name."""
        return cls(_validate.one_of(name, tuple(cls), name="loss"))

    def of(self, noise: HasErrors) -> float:
        """The loss of a noise law, or of a mechanism."""
        return noise.mse if self is Loss.MSE else noise.mae


@final
@dataclass(frozen=True, kw_only=True)
class Question:
    """The task of a search: find the noise of least loss for a query of `dimension` numbers.

    All of `sensitivities` hold for the query; the search in one family uses one of them. With a
    `geometry`, the published noise is a linear map of the drawn noise. The `budget` is for all
    `compositions` releases together, each of a Poisson sample if `sampling_rate` < 1. The `loss` is
    the expected error of one release. Parameters other than the scale minimise it, unless a
    family's source prescribes them. `fixed` has the parameters that the user has set (numbers, and
    tuples of numbers). `stated_neighbours` is the neighbour relation if neither the sensitivity nor
    sampling fixes it.

    The subject of a proof is another record, `Releases`: it has noise, and no budget.

    The functions `fit` and `several` of a `Family` get the question that `behind_geometry` returns,
    about the drawn noise. They return the law for a worst shift of 1 in the family's norm. So the
    length of shifts only matters for noise on the integers, and the set of shifts only for noise in
    the shape of a body.
    """

    budget: Budget
    sensitivities: tuple[Sensitivity, ...] = (L2(1),)
    dimension: int = 1
    geometry: Geometry | None = None
    loss: Loss = Loss.MSE
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict, hash=False)
    compositions: int = 1
    sampling_rate: Fraction = Fraction(1)
    stated_neighbours: Neighbours | None = None

    @property
    def sensitivity(self) -> Sensitivity:
        """The only sensitivity of the question. Raises ValueError if there are several."""
        (sensitivity,) = self.sensitivities
        return sensitivity

    @property
    def noise_dimension(self) -> int:
        """The number of coordinates of the drawn noise, before a geometry maps it."""
        return self.geometry.noise_dimension if self.geometry else self.dimension

    @property
    def once(self) -> bool:
        """True if the question is about a single release of all rows."""
        return self.compositions == 1 and self.sampling_rate == 1

    def radius(self, norm: Norm) -> Fraction | None:
        """The smallest bound on the length of a shift that one of `sensitivities` implies.

        The length is in `norm`. None if none of the sensitivities implies a bound.
        """
        radii = (
            sensitivity.radius(norm, dimension=self.dimension) for sensitivity in self.sensitivities
        )
        return min((radius for radius in radii if radius is not None), default=None)

    def through(self, sensitivity: Sensitivity, geometry: Geometry | None) -> Question:
        """This question with only this `sensitivity`, for noise that `geometry` maps linearly.

        None stands for noise that isn't mapped.
        """
        return replace(self, sensitivities=(sensitivity,), geometry=geometry)

    def behind_geometry(self, shifts: Sensitivity) -> Question:
        """The question about the drawn noise, before the geometry's map.

        The noise has to hide `shifts` in every draw. If a unit affects several draws of a release,
        each draw counts as a composition. Without a geometry, the result is this question itself.
        """
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
        """The question about a single release of all rows, whose noise meets `budget` on a sample.

        Without sampling, its budget is `budget`. If rows are sampled, its budget is larger, since
        sampling amplifies privacy. If δ >= `sampling_rate`, one sample needs no noise, and the
        result is only a start for a search. Raises Refused if even all samples together need no
        noise.
        """
        rate, often = self.sampling_rate, self.compositions
        whole = budget if rate == 1 else amplify(budget, rate, compositions=often)
        return replace(self, budget=whole, compositions=1, sampling_rate=Fraction(1))


Search = Callable[[Question], Noise]
"""A function that finds the law of one family in floats, which are rounded to the private side.

Rounding errors may still make the law slightly less private than the budget: a proof decides."""
