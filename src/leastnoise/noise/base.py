"""The base of every noise law: parameters, density and moments; no randomness and no privacy.

Notation: X is a draw of the noise, X_i its coordinate i, and E an expectation.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass, replace
from fractions import Fraction
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np

from leastnoise import _validate
from leastnoise._record import list_arguments, takes
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.bodies.one_sided import OneSided
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import LARGEST_SQUARED, SMALLEST_SQUARED, Exact, exact
from leastnoise.guarantees.sensitivity import check_sensitivity

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from leastnoise.guarantees.sensitivity import Norm, Sensitivity

Parameter = Fraction | int | tuple[int, ...] | tuple[Fraction, ...] | Body | OneSided
"""The types of a family's parameters other than scale and dimension."""


class _ParameterKinds:
    """The descriptor behind `Noise.parameter_kinds`, which reads the fields of a family's class."""

    def __get__(self, law: object, family: type[Any]) -> Mapping[str, Any]:
        return _parameter_kinds(family)


@cache
def _parameter_kinds(family: type[Any]) -> Mapping[str, Any]:
    arguments = list_arguments(family) if is_dataclass(family) else {}
    return MappingProxyType(
        {name: kind for name, kind in arguments.items() if name not in {"scale", "dimension"}}
    )


BOUNDED = "delta=0 is impossible for noise of bounded range"


class Noise(ABC):
    """A centred noise law on R^dimension; frozen, compared by value.

    `norm` is the norm in which the length of a shift is measured. It is "integer" for shifts by
    integers, and "body" if the length is the gauge of a body. `parameter_kinds` maps the names of
    the parameters other than scale and dimension to their types: a Fraction, an int, a tuple or a
    shape.

    A family is offered for `least_dimension` to `most_dimension` coordinates; `too_few` and
    `too_many` are the reasons why it isn't offered for fewer or more. `without_delta` is the reason
    why the family isn't offered for delta=0, or "" if it is offered. Among the parameters that are
    lists, a user may set only those in `lists_to_set`.

    Args:
        scale: The size of the noise, > 0; exact: a str or a float is the decimal that it prints.
        dimension: Number of coordinates.

    Raises:
        InvalidArgument: An argument is malformed.
    """

    name: ClassVar[str]
    norm: ClassVar[Norm]
    parameter_kinds: ClassVar[Mapping[str, Any]] = cast("Any", _ParameterKinds())
    least_dimension: ClassVar[int] = 1
    most_dimension: ClassVar[int] = _validate.MAX_DIMENSION
    too_few: ClassVar[str] = "it is noise for a vector"
    too_many: ClassVar[str] = "it is noise for one number"
    without_delta: ClassVar[str] = ""
    lists_to_set: ClassVar[tuple[str, ...]] = ()
    dimension: int
    scale: Fraction

    @abstractmethod
    def __init__(self, *, scale: Exact, dimension: int) -> None: ...

    @classmethod
    def why_not(cls, *, dimension: int, delta: Exact) -> str | None:
        """The reason why the family isn't offered for this dimension and δ; None if it is.

        Args:
            dimension: Number of coordinates of the query.
            delta: δ of the budget, an exact number.

        Returns:
            The reason, or None.

        Raises:
            InvalidArgument: The dimension is malformed, or δ is not in [0, 1).
        """
        lost = Budget(epsilon=1, delta=delta).delta
        return cls._why_not(dimension=_validate.dimension(dimension), delta=lost)

    @classmethod
    def _why_not(cls, *, dimension: int, delta: Fraction) -> str | None:
        """The result of `why_not`, for arguments that are already checked."""
        if dimension < cls.least_dimension:
            return cls.too_few
        if dimension > cls.most_dimension:
            return cls.too_many
        return cls.without_delta or None if delta == 0 else None

    @classmethod
    def made_for(
        cls,
        sensitivity: Sensitivity,
        *,
        dimension: int,
        scale: Exact,
        parameters: Mapping[str, Parameter],
    ) -> Self:
        """The law with this scale and these parameters, for the shifts of `sensitivity`.

        Args:
            sensitivity: The shifts that the law should hide. They determine the body, if any.
            dimension: Number of coordinates.
            scale: The scale, an exact number.
            parameters: All other parameters by name.

        Returns:
            The law.

        Raises:
            InvalidArgument: A parameter is malformed, as in the constructor.
            NotApplicable: The sensitivity doesn't determine the body that the family needs.
        """
        check_sensitivity(sensitivity)
        return cls(
            scale=scale,
            dimension=dimension,
            **cls._parameters(parameters, tuple(cls.parameter_kinds)),
        )

    @classmethod
    def _parameters(cls, parameters: object, names: Sequence[str]) -> dict[str, Any]:
        """Return the parameters as a dict.

        Raise InvalidArgument for a name outside `names`, and for a missing name without a default.
        """
        values = _validate.table(parameters, name="parameters")
        for name in values:
            _validate.one_of(name, names, name="parameters")
        if missing := [name for name in names if name not in values and not hasattr(cls, name)]:
            raise InvalidArgument(
                name="parameters",
                value=", ".join(values) or "none",
                expected=f"also {', '.join(missing)} of {cls.name}",
            )
        return values

    @classmethod
    def radius_of(cls, sensitivity: Sensitivity, *, dimension: int) -> Fraction:
        """The length of the longest shift in the family's norm.

        Args:
            sensitivity: The shifts.
            dimension: Number of coordinates.

        Returns:
            The length, rounded up if it is irrational.

        Raises:
            NotApplicable: The sensitivity states no bound in that norm.
        """
        radius = sensitivity.radius(cls.norm, dimension=dimension)
        if radius is None:
            raise NotApplicable(family=cls.name, why=needs_norm(cls.norm))
        return radius

    def worst_shift(self, sensitivity: Sensitivity) -> Fraction:
        """The length, in the noise's norm, of the longest shift that the noise must hide.

        For laws with convex level sets this shift is the worst (theory/noise.md §1). The proofs of
        other laws check all shorter shifts, too.

        Args:
            sensitivity: The shifts.

        Returns:
            The length, rounded up if it is irrational.

        Raises:
            NotApplicable: The sensitivity states no bound in that norm.
        """
        return self.radius_of(sensitivity, dimension=self.dimension)

    def scaled(self, factor: Exact) -> Self:
        """The law of factor · X, where X has this law.

        For `agreeing`, whose X is on the integers, only the scale is multiplied by the factor.

        Args:
            factor: An exact number > 0.

        Returns:
            The law with a larger or smaller scale.
        """
        record: Any = self  # every law is a record, which the type checker can't know
        return replace(record, scale=self.scale * exact(factor, name="factor"))

    @abstractmethod
    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """The logarithm of the density at points, or of the probability for a law on a lattice.

        Args:
            x: The points, shape (..., dimension).

        Returns:
            The logarithms, shape (...).

        Raises:
            InvalidArgument: The points have another shape, or are no real numbers.
        """

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of X_i, the same for every coordinate i; of a `VectorNoise` the mean."""

    def variance_at(self, coordinate: int) -> float:
        """The variance of X_i for one coordinate i.

        Args:
            coordinate: The index i, from 0.

        Returns:
            The variance.
        """
        del coordinate
        return self.variance

    @property
    @abstractmethod
    def mean_abs(self) -> float:
        """The mean absolute value E|X_i|, the same for every coordinate i.

        Of a `VectorNoise` it is the mean over the coordinates.
        """

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The parameters other than scale and dimension, by name, exact."""
        return {name: getattr(self, name) for name in self.parameter_kinds}

    @property
    def for_whole_numbers(self) -> bool:
        """True if the noise hides only integer shifts, so that it is added only to integers."""
        return self.norm == "integer"

    @property
    def lattice_step(self) -> Fraction | None:
        """The step of the lattice {0, ±step, …} of all values; None if there is no such lattice."""
        return None

    @property
    def gaussian_square(self) -> Fraction | None:
        """The variance of a coordinate if the family states that the law is Gaussian; else None.

        None does not mean that it isn't: flipped Huber noise with alpha = 0 is Gaussian, too.
        """
        return None

    @property
    def smoothed_square(self) -> Fraction | None:
        """The variance of the Gaussian part if the law is Gaussian noise plus an independent part.

        Else it is None. The independent part doesn't matter for privacy: adding it is
        post-processing.
        """
        return self.gaussian_square

    @property
    def exponential(self) -> bool:
        """True only if the density is proportional to e^(−‖x‖/scale), in the norm `norm`.

        It is False for `VectorNoise`, whose `largest_loss` serves instead.
        """
        return False

    @property
    def mse(self) -> float:
        """The expected squared error E‖X‖₂², which is dimension · variance."""
        return self.dimension * self.variance

    @property
    def mae(self) -> float:
        """The expected absolute error E‖X‖₁, which is dimension · mean_abs."""
        return self.dimension * self.mean_abs


def needs_norm(norm: Norm) -> str:
    """The reason why a family can't serve a sensitivity without a bound in its `norm`."""
    if norm == "integer":
        return "it needs a query of whole numbers, declared as such"
    return f"it needs a sensitivity in the {norm} norm"


def positive_scale(scale: Exact, *, name: str = "scale") -> Fraction:
    """Return `scale` as a Fraction. Raise InvalidArgument unless 1e-140 <= scale <= 1e140."""
    number = exact(scale, name=name)
    if number <= 0:
        raise InvalidArgument(name="scale", value=f"{float(number):.3g}", expected="scale > 0")
    if not SMALLEST_SQUARED <= number <= LARGEST_SQUARED:  # variances are floats
        raise InvalidArgument(
            name="scale", value=f"{float(number):.3g}", expected="1e-140 <= scale <= 1e140"
        )
    return number


def dimension_of(dimension: int, *, name: str = "dimension", record: Noise) -> int:
    """Return `dimension` as an int.

    Raise InvalidArgument unless the family of `record` has laws of this dimension.
    """
    least, most = record.least_dimension, record.most_dimension
    if type(dimension) is int and least <= dimension <= most:
        return dimension  # a fast path, as a search makes thousands of laws
    number = _validate.dimension(dimension, name=name)
    if not least <= number <= most:
        bounds = f"dimension <= {most}" if number > most else f"dimension >= {least}"
        expected = f"{bounds} for {record.name}"
        raise InvalidArgument(name=name, value=number, expected=expected)
    return number


SCALE = takes(positive_scale)
"""The converter of every law's `scale`: an exact number from 1e-140 to 1e140."""
DIMENSION = takes(dimension_of, of_record=True)
"""The converter of every law's `dimension`: a dimension that the family offers."""


def points_of(x: ArrayLike, *, dimension: int) -> NDArray[np.float64]:
    """Points of shape (..., dimension) as floats.

    The values aren't checked, since a density has a value everywhere.

    Args:
        x: The points.
        dimension: Number of coordinates.

    Returns:
        The points as an array of float64.

    Raises:
        InvalidArgument: The array has another shape, or no real numbers.
    """
    try:
        array = np.asarray(x)
    except ValueError:  # rows of several lengths
        array = np.array(None)
    if array.dtype.kind not in "iuf" or array.shape[-1:] != (dimension,):
        raise InvalidArgument(
            name="x",
            value=f"an array of {array.dtype.type.__name__}, shape {array.shape}",
            expected=f"real numbers of shape (..., {dimension})",
        )
    return array.astype(np.float64)


# Moments that several families share.


_SERIES_TERMS = 40  # 2^k/k! at k = 40 is below 1e-35


def exponential_moment(power: int, limit: float) -> float:
    """The integral ∫₀^a x^p e^(−x) dx / a^(p+1) for a = limit >= 0 and p = power, 0, 1 or 2.

    It is accurate to a few ulps. For a >= 2 it has a closed form. For a < 2 it is the series e^(−a)
    Σ_k a^k/((p+1)(p+2)…(p+1+k)), whose terms are all positive.

    >>> exponential_moment(2, 0.0)
    0.3333333333333333
    """
    a = limit
    if a >= 2:
        beyond = (1, 1 + a, 2 + 2 * a + a * a)[power] * math.exp(-a)
        return (max(1, power) - beyond) / a ** (power + 1)
    term, total = 1.0, 0.0
    for k in range(_SERIES_TERMS):
        term /= power + 1 + k
        total += term
        term *= a
    return total * math.exp(-a)


def gamma_ratio(x: float) -> float:
    """The ratio Γ(x + ½)/Γ(x), x >= 1; for x >= 30 from its asymptotic series."""
    if x < 30:
        return math.gamma(x + 0.5) / math.gamma(x)
    y = 1 / x  # coefficients of the asymptotic series of Γ(x+½)/(Γ(x)√x); next term 1e-4·y⁸
    series = (
        -1 / 8,
        1 / 128,
        5 / 1024,
        -21 / 32768,
        -399 / 262144,
        869 / 4194304,
        39325 / 33554432,
    )
    return math.sqrt(x) * (1 + sum(c * y ** (k + 1) for k, c in enumerate(series)))


_STIRLING_FROM = 40.0  # the first term left out is then below 1e-16


def log_gamma_ratio(x: float, rise: float) -> float:
    """Compute ln(Γ(x + rise)/Γ(x)) for x > 0, rise >= 0, without cancellation at large x.

    >>> round(log_gamma_ratio(5.0, 1.0) - math.log(5), 14)
    0.0
    """
    if x < _STIRLING_FROM:
        return math.lgamma(x + rise) - math.lgamma(x)
    top = x + rise
    # Stirling's series: (x − ½) ln x − x + ln √(2π) + remainder(x)
    main = (x - 0.5) * math.log1p(rise / x) + rise * math.log(top) - rise
    return main + stirling_remainder(top) - stirling_remainder(x)


def stirling_remainder(x: float) -> float:
    """The remainder ln Γ(x) − (x − ½) ln x + x − ln √(2π) of Stirling's formula, x > 0."""
    if x < _STIRLING_FROM:
        return math.lgamma(x) - (x - 0.5) * math.log(x) + x - math.log(2 * math.pi) / 2
    y = 1 / (x * x)
    return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))) / x
