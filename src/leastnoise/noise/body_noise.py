"""Noise whose level sets are the multiples of a body: what all of it has in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from leastnoise.errors import NotApplicable
from leastnoise.guarantees.sensitivity import check_sensitivity
from leastnoise.noise.base import Noise, Parameter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.guarantees.bodies.base import Body
    from leastnoise.guarantees.bodies.one_sided import OneSided
    from leastnoise.guarantees.exact import Exact
    from leastnoise.guarantees.sensitivity import Norm, Rows, Sensitivity


class VectorNoise(Noise):
    """Noise whose coordinates need not be alike: each has a variance of its own.

    `variance` and `mean_abs` are their means over the coordinates. `form` names the parameter that
    says what a unit can do. A law of bounded range isn't `purely_private`: some of its losses are
    infinite.
    """

    norm: ClassVar[Norm] = "body"
    form: ClassVar[str]
    purely_private: ClassVar[bool] = True

    @classmethod
    @abstractmethod
    def form_of(cls, sensitivity: Sensitivity, *, dimension: int) -> Body | OneSided | Rows | None:
        """Return what a law has to be built on to hide `sensitivity`; None if that isn't known."""

    @abstractmethod
    def hides(self, sensitivity: Sensitivity) -> bool:
        """Return True only if every shift of `sensitivity` is proved to move the law by one step.

        One step is a move by 1/scale of the gauge, or of P or Q: what `largest_loss` is about.
        """

    @property
    @abstractmethod
    def largest_loss(self) -> Fraction:
        """The ε at which it is ε-DP for all shifts that it `hides`, if it is `purely_private`.

        No finite loss of any other is larger.
        """

    @classmethod
    def made_for(
        cls,
        sensitivity: Sensitivity,
        *,
        dimension: int,
        scale: Exact,
        parameters: Mapping[str, Parameter],
    ) -> Self:
        names = [name for name in cls.parameter_kinds if name != cls.form]
        found = cls._parameters(parameters, names)
        form = cls.form_of(check_sensitivity(sensitivity), dimension=dimension)
        if form is None:
            raise NotApplicable(family=cls.name, why=cls.no_form(sensitivity))
        shape: dict[str, Any] = {cls.form: form, **found}
        return cls(scale=scale, **shape)

    @classmethod
    def radius_of(cls, sensitivity: Sensitivity, *, dimension: int) -> Fraction:
        """Return 1: the laws are made for the sensitivity; raises NotApplicable without a form."""
        if cls.form_of(sensitivity, dimension=dimension) is None:
            raise NotApplicable(family=cls.name, why=cls.no_form(sensitivity))
        return Fraction(1)

    def worst_shift(self, sensitivity: Sensitivity) -> Fraction:
        """Return 1, if the law hides all shifts; raises NotApplicable if it doesn't."""
        if not self.hides(sensitivity):
            why = "not all shifts of this sensitivity are proved to lie in what the noise hides"
            raise NotApplicable(family=self.name, why=why)
        return Fraction(1)

    @classmethod
    @abstractmethod
    def no_form(cls, sensitivity: Sensitivity) -> str:
        """Return why `form_of` is None."""

    @property
    @abstractmethod
    def variances(self) -> NDArray[np.float64]:
        """Var X_i, as shape (dimension,)."""

    @property
    @abstractmethod
    def mean_abses(self) -> NDArray[np.float64]:
        """E|X_i|, as shape (dimension,); raises NotApplicable where no closed form is known."""

    @property
    def variance(self) -> float:
        """The mean of `variances`."""
        return float(self.variances.mean())

    def variance_at(self, coordinate: int) -> float:
        return float(self.variances[coordinate])

    @property
    def mean_abs(self) -> float:
        """The mean of `mean_abses`."""
        return float(self.mean_abses.mean())

    def _known(self, moments: NDArray[np.float64] | None) -> NDArray[np.float64]:
        if moments is None:
            raise NotApplicable(
                family=self.name,
                why="no closed form of E|X| is known for this body; use the loss mse.",
            )
        return moments


class BodyNoise(VectorNoise):
    """Noise that depends on N(x)/scale alone, N the gauge of `body` (theory/bodies.md §1).

    notation: K = body, D = dimension. X = scale·ρ·V, where ρ = N(X)/scale and V = U/N(U), U uniform
    in K, are independent; E|V_i|^n = (D + n)/D · E|U_i|^n.
    """

    form: ClassVar[str] = "body"
    body: Body

    @classmethod
    def form_of(cls, sensitivity: Sensitivity, *, dimension: int) -> Body | None:
        """The hull of all shifts."""
        return sensitivity.body(dimension=dimension)

    @classmethod
    def no_form(cls, sensitivity: Sensitivity) -> str:
        return f"the hull of the shifts of this {sensitivity.kind} sensitivity isn't known exactly"

    def hides(self, sensitivity: Sensitivity) -> bool:
        """It does where N(s) <= 1 for all shifts."""
        hull = sensitivity.body(dimension=self.dimension)
        return hull is not None and self.body.contains(hull)

    @abstractmethod
    def _radial(self, order: int) -> float:
        """Return E ρ^order, order 1 or 2."""

    @property
    def variances(self) -> NDArray[np.float64]:
        d = self.dimension
        factor = float(self.scale) ** 2 * self._radial(2) * (d + 2) / d
        return factor * self.body.second_moments

    @property
    def mean_abses(self) -> NDArray[np.float64]:
        d = self.dimension
        factor = float(self.scale) * self._radial(1) * (d + 1) / d
        return factor * self._known(self.body.first_moments)

    def _gauges(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.body.gauges(x) / float(self.scale)
