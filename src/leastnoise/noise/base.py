"""What every noise law is: parameters, density and moments; no randomness and no privacy."""

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
"""What a family may take beside its scale and dimension."""


class _ParameterKinds:
    """What the fields of a family say, without those that no constructor takes."""

    def __get__(self, law: object, family: type[Any]) -> Mapping[str, Any]:
        return _parameter_kinds(family)


@cache
def _parameter_kinds(family: type[Any]) -> Mapping[str, Any]:
    kept = list_arguments(family) if is_dataclass(family) else {}
    return MappingProxyType(
        {name: kind for name, kind in kept.items() if name not in {"scale", "dimension"}}
    )


BOUNDED = "delta=0 is impossible for noise of bounded range"


class Noise(ABC):
    """A centred noise law on R^dimension; frozen, compared by value.

    `scale` multiplies the noise. It is exact: a str or a float is the decimal that it prints.
    `norm` names the ball of shifts against which the law is private. `parameter_kinds` names the
    fields beside scale and dimension, and says whether each is a Fraction, an int, a tuple of ints
    or a shape.

    For other dimensions than `least_dimension` to `most_dimension` the family isn't offered, which
    `too_few` and `too_many` say; `without_delta` says why not for delta=0, "" where it is. Of the
    parameters that are lists, a user sets those in `lists_to_set` alone.
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
    def __init__(self, *, scale: Exact, dimension: int) -> None:
        """Check and keep the parameters; raises InvalidArgument."""

    @classmethod
    def why_not(cls, *, dimension: int, delta: Exact) -> str | None:
        """Return why no member of the family can serve, or None if one can.

        Raises InvalidArgument for what is no dimension, and unless 0 <= delta < 1.
        """
        lost = Budget(epsilon=1, delta=delta).delta
        return cls._why_not(dimension=_validate.dimension(dimension), delta=lost)

    @classmethod
    def _why_not(cls, *, dimension: int, delta: Fraction) -> str | None:
        """The arguments are checked."""
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
        """Return the law with that scale and those parameters, in the shape of `sensitivity`.

        Raises InvalidArgument like the constructor, and NotApplicable if it has no such shape.
        """
        check_sensitivity(sensitivity)
        return cls(
            scale=scale,
            dimension=dimension,
            **cls._parameters(parameters, tuple(cls.parameter_kinds)),
        )

    @classmethod
    def _parameters(cls, parameters: object, names: Sequence[str]) -> dict[str, Any]:
        """Return the parameters; raises InvalidArgument for others than `names`."""
        found = _validate.table(parameters, name="parameters")
        for name in found:
            _validate.one_of(name, names, name="parameters")
        if missing := [name for name in names if name not in found and not hasattr(cls, name)]:
            raise InvalidArgument(
                name="parameters",
                value=", ".join(found) or "none",
                expected=f"{', '.join(missing)} of {cls.name} too",
            )
        return found

    @classmethod
    def radius_of(cls, sensitivity: Sensitivity, *, dimension: int) -> Fraction:
        """Return the length of the longest shift in the family's own norm.

        Raises NotApplicable if the sensitivity says nothing in that norm.
        """
        radius = sensitivity.radius(cls.norm, dimension=dimension)
        if radius is None:
            raise NotApplicable(family=cls.name, why=needs_norm(cls.norm))
        return radius

    def worst_shift(self, sensitivity: Sensitivity) -> Fraction:
        """Return the length, in the noise's own norm, of the longest shift that it must hide.

        For laws with convex level sets it is the worst one (theory/noise.md §1); the proofs of the
        others look at all shorter shifts too. Raises NotApplicable if the sensitivity says nothing
        in that norm.
        """
        return self.radius_of(sensitivity, dimension=self.dimension)

    def scaled(self, factor: Exact) -> Self:
        """Return the law of factor · X."""
        record: Any = self  # every law is one
        return replace(record, scale=self.scale * exact(factor, name="factor"))

    @abstractmethod
    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return log f(x) for points x of shape (..., dimension), as shape (...)."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Var X_i, the same for every coordinate i."""

    def variance_at(self, coordinate: int) -> float:
        """Return Var X_i, i = coordinate."""
        del coordinate
        return self.variance

    @property
    @abstractmethod
    def mean_abs(self) -> float:
        """E|X_i|, the same for every coordinate i."""

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The parameters beside scale and dimension, by name, exact."""
        return {name: getattr(self, name) for name in self.parameter_kinds}

    @property
    def for_whole_numbers(self) -> bool:
        """Whether it hides whole shifts alone, so that it is added to whole numbers alone."""
        return self.norm == "integer"

    @property
    def lattice_step(self) -> Fraction | None:
        """The number of which all values are whole multiples; None if there is no such number."""
        return None

    @property
    def gaussian_square(self) -> Fraction | None:
        """σ² if it is Gaussian noise, by whatever name; else None."""
        return None

    @property
    def smoothed_square(self) -> Fraction | None:
        """σ² of Gaussian noise, if that and something independent of it make up the law; or None.

        What the other part is doesn't matter: it may be added afterwards by anyone.
        """
        return self.gaussian_square

    @property
    def exponential(self) -> bool:
        """Whether the density is proportional to e^(−‖x‖/scale), in the norm that `norm` names."""
        return False

    @property
    def mse(self) -> float:
        """E‖X‖₂² = dimension · variance."""
        return self.dimension * self.variance

    @property
    def mae(self) -> float:
        """E‖X‖₁ = dimension · mean_abs."""
        return self.dimension * self.mean_abs


def needs_norm(norm: Norm) -> str:
    """Return the reason given when the sensitivity is declared in another norm only."""
    if norm == "integer":
        return "it needs a query of whole numbers, declared as such"
    return f"it needs a sensitivity in the {norm} norm"


def positive_scale(scale: Exact, *, name: str = "scale") -> Fraction:
    """Return `scale` exactly; raises InvalidArgument unless it is positive and finite."""
    number = exact(scale, name=name)
    if number <= 0:
        raise InvalidArgument(name="scale", value=f"{float(number):.3g}", expected="scale > 0")
    if not SMALLEST_SQUARED <= number <= LARGEST_SQUARED:  # variances are floats
        raise InvalidArgument(
            name="scale", value=f"{float(number):.3g}", expected="1e-140 <= scale <= 1e140"
        )
    return number


def dimension_of(dimension: int, *, name: str = "dimension", record: Noise) -> int:
    """Return `dimension`; raises InvalidArgument unless the family of `record` has it."""
    least, most = record.least_dimension, record.most_dimension
    if type(dimension) is int and least <= dimension <= most:
        return dimension  # as a search makes thousands of laws
    number = _validate.dimension(dimension, name=name)
    if not least <= number <= most:
        bounds = f"dimension <= {most}" if number > most else f"dimension >= {least}"
        expected = f"{bounds} for {record.name}"
        raise InvalidArgument(name=name, value=number, expected=expected)
    return number


SCALE = takes(positive_scale)
"""The converter of every law's `scale`: exact, positive and finite."""
DIMENSION = takes(dimension_of, of_record=True)
"""The converter of every law's `dimension`: one that the family has."""


def points_of(x: ArrayLike, *, dimension: int) -> NDArray[np.float64]:
    """Return points of shape (..., dimension) as floats; raises InvalidArgument for other shapes.

    Which numbers they are is never a reason to refuse: a density has a value everywhere.
    """
    try:
        found = np.asarray(x)
    except ValueError:  # rows of several lengths
        found = np.array(None)
    if found.dtype.kind not in "iuf" or found.shape[-1:] != (dimension,):
        raise InvalidArgument(
            name="x",
            value=f"an array of {found.dtype.type.__name__}, shape {found.shape}",
            expected=f"real numbers of shape (..., {dimension})",
        )
    return found.astype(np.float64)


# Moments that several families share.


_SERIES_TERMS = 40  # 2^k/k! at k = 40 is below 1e-35


def exponential_moment(power: int, limit: float) -> float:
    """Return ∫₀^a x^p e^(−x) dx / a^(p+1) for a = limit >= 0 and p = power, 0, 1 or 2.

    To a few ulps: in closed form for a >= 2, below it by the series, whose terms are all positive,
    e^(−a) Σ_k a^k/((p+1)(p+2)…(p+1+k)).

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
    """Γ(x + ½)/Γ(x), x >= 1; from its series for large x, where lgamma differences lose digits."""
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
    """Return ln Γ(x + rise)/Γ(x) for x > 0, rise >= 0, without the cancellation at large x.

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
    """Return ln Γ(x) − (x − ½) ln x + x − ln √(2π) for x > 0."""
    if x < _STIRLING_FROM:
        return math.lgamma(x) - (x - 0.5) * math.log(x) + x - math.log(2 * math.pi) / 2
    y = 1 / (x * x)
    return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))) / x
