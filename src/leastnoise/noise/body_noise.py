"""Base classes of noise for several queries at once, such as noise in the shape of a body."""

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
    """Noise whose coordinates may have different laws.

    `variance` and `mean_abs` are means over the coordinates. `form` is the name of the parameter
    that states the possible shifts, such as "body"; it is "rows" for `agreeing`, which has no such
    parameter. `purely_private` is True for laws that are ε-DP at δ = 0, and False for laws of
    bounded range, some of whose losses are infinite.
    """

    norm: ClassVar[Norm] = "body"
    form: ClassVar[str]
    purely_private: ClassVar[bool] = True

    @classmethod
    @abstractmethod
    def form_of(cls, sensitivity: Sensitivity, *, dimension: int) -> Body | OneSided | Rows | None:
        """The set of shifts of `sensitivity` for which a law is made: a body or another set.

        It is the value of the parameter called `form`, if there is one. None if it isn't known.
        """

    @abstractmethod
    def hides(self, sensitivity: Sensitivity) -> bool:
        """True only if it is proved that no shift of `sensitivity` has a loss above `largest_loss`.

        If `purely_private` is False, only finite losses are meant.
        """

    @property
    @abstractmethod
    def largest_loss(self) -> Fraction:
        """The ε for which a `purely_private` law is ε-DP for all shifts that it `hides`.

        For other laws, a bound on the finite losses under these shifts.
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
        values = cls._parameters(parameters, names)
        form = cls.form_of(check_sensitivity(sensitivity), dimension=dimension)
        if form is None:
            raise NotApplicable(family=cls.name, why=cls.no_form(sensitivity))
        shape: dict[str, Any] = {cls.form: form, **values}
        return cls(scale=scale, **shape)

    @classmethod
    def radius_of(cls, sensitivity: Sensitivity, *, dimension: int) -> Fraction:
        """The largest gauge of a shift, which is always 1.

        Raises NotApplicable if no body is known for the sensitivity.
        """
        if cls.form_of(sensitivity, dimension=dimension) is None:
            raise NotApplicable(family=cls.name, why=cls.no_form(sensitivity))
        return Fraction(1)

    def worst_shift(self, sensitivity: Sensitivity) -> Fraction:
        """A bound on the gauge of every shift, which is always 1.

        Raises NotApplicable unless the law is proved to hide all shifts.
        """
        if not self.hides(sensitivity):
            why = "it isn't proved to hide all shifts of this sensitivity"
            raise NotApplicable(family=self.name, why=why)
        return Fraction(1)

    @classmethod
    @abstractmethod
    def no_form(cls, sensitivity: Sensitivity) -> str:
        """The reason, as text, why `form_of` returns None for `sensitivity`."""

    @property
    @abstractmethod
    def variances(self) -> NDArray[np.float64]:
        """The variances of all coordinates, shape (dimension,)."""

    @property
    @abstractmethod
    def mean_abses(self) -> NDArray[np.float64]:
        """The mean absolute values E|X_i| of all coordinates i of the noise X, shape (dimension,).

        Raises NotApplicable if no closed form is known.
        """

    @property
    def variance(self) -> float:
        """The mean of `variances`."""
        return float(self.variances.mean())

    def variance_at(self, coordinate: int) -> float:
        return float(self.variances[coordinate])

    @property
    def mean_abs(self) -> float:
        """The mean of E|X_i| over the coordinates i."""
        return float(self.mean_abses.mean())

    def _known(self, moments: NDArray[np.float64] | None) -> NDArray[np.float64]:
        if moments is None:
            raise NotApplicable(
                family=self.name,
                why=(
                    "no formula for the mean absolute error is known for this shape. Use the loss "
                    "mse."
                ),
            )
        return moments


class BodyNoise(VectorNoise):
    """Noise whose density depends only on N(x)/scale, N the gauge of `body` (theory/bodies.md §1).

    N(x) is the least t >= 0 for which x is in t·body. Let U be uniform in the body, and D =
    dimension. Then the noise X is scale·ρ·V, where ρ = N(X)/scale and V = U/N(U) are independent,
    and E|V_i|^n = (D + n)/D · E|U_i|^n for each coordinate i.
    """

    form: ClassVar[str] = "body"
    body: Body

    @classmethod
    def form_of(cls, sensitivity: Sensitivity, *, dimension: int) -> Body | None:
        """The hull of all shifts, as the body of the law; None if it isn't known."""
        return sensitivity.body(dimension=dimension)

    @classmethod
    def no_form(cls, sensitivity: Sensitivity) -> str:
        return f"the hull of the shifts of this {sensitivity.kind} sensitivity isn't known exactly"

    def hides(self, sensitivity: Sensitivity) -> bool:
        """True only if it is proved that every shift of `sensitivity` is in the body.

        Then the gauge of every shift is at most 1.
        """
        hull = sensitivity.body(dimension=self.dimension)
        return hull is not None and self.body.contains(hull)

    @abstractmethod
    def _radial(self, order: int) -> float:
        """The moment E ρ^order, for order 1 or 2, where ρ = N(X)/scale."""

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
