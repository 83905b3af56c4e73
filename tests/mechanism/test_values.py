"""Values of all types to release: which are exact numbers, and their nearest whole numbers."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.geometry import CellGeometry
from leastnoise.guarantees.sensitivity import Integer
from leastnoise.guarantees.structured import Linf
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.mechanism.reading import as_exact
from leastnoise.mechanism.rounding import add_noise, check_grid, default_grid
from leastnoise.mechanism.values import ScaledIntegers, fractions_of, nearest_whole
from leastnoise.noise.lattice.law import DiscreteStaircase

LAW = DiscreteStaircase(scale=1, cells=1, masses=(4, 2, 1))
ALMOST_NONE = DiscreteStaircase(scale=1, cells=1, masses=(10**40, 1))  # other than 0: 2e-40


def mechanism() -> Mechanism:
    budget = Budget(epsilon=1, delta="0.2")
    return Mechanism(Certificate.prove(budget=budget, noise=LAW, sensitivity=Integer(1)))


@pytest.mark.parametrize(
    "value",
    [0.25, -0.5, 0.5, 7 + 2.0**-30, 1e-300, Fraction(1, 3), np.float32(0.3), np.float16(2.6)],
)
def test_no_fraction_shows_through_noise_on_whole_numbers(value: Any) -> None:
    for values in (value, [value], np.array([value])):
        released = np.asarray(mechanism().release(values))
        assert np.all(released == np.rint(released))


def test_nor_in_cells() -> None:
    claim = Certificate.prove(
        budget=Budget(epsilon=2, delta="0.5"),
        noise=LAW,
        sensitivity=Linf(1, l0=2, whole=True),
        geometry=CellGeometry(count=3),
    )
    for values in ([0.25, 1, Fraction(7, 3)], np.array([0.25, 0.75, -0.3]), _scaled([5, 6, 7], 3)):
        released = np.asarray(Mechanism(claim).release(values))
        assert np.all(released == np.rint(released))


@pytest.mark.parametrize("value", [5, -3, 2**40, 5.4])
def test_rare_noise_cuts_nothing_off(value: float) -> None:
    """A grid as fine as that noise's deviation would cut every value off far below 1."""
    grid = default_grid(ALMOST_NONE)
    assert (grid * 2**61).denominator == 1
    assert add_noise(ALMOST_NONE, grid, value) == round(value)
    with pytest.raises(InvalidArgument, match="grid"):
        check_grid(Fraction(1, 2**40), ALMOST_NONE)


def _scaled(numerators: list[int], bits: int) -> ScaledIntegers:
    return ScaledIntegers(numerators=np.array(numerators, dtype=np.int64), bits=bits)


def _nearest(values: Any) -> list[Fraction]:
    return fractions_of(nearest_whole(as_exact(values)))


@settings(derandomize=True)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_the_nearest_of_floats(values: list[float]) -> None:
    expected = [Fraction(math.floor(Fraction(value) + Fraction(1, 2))) for value in values]
    # a whole number beyond 2^53 is a float itself
    assert _nearest(np.array(values)) == expected
    assert _nearest([*values, Fraction(1, 3)])[:-1] == expected


@settings(derandomize=True)
@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from([-3, 0, 1, 5, 61, 62, 63, 64, 200]))
def test_the_nearest_of_integers(numerator: int, bits: int) -> None:
    exactly = Fraction(numerator) / Fraction(2) ** bits
    assert _nearest(_scaled([numerator], bits)) == [math.floor(exactly + Fraction(1, 2))]


@pytest.mark.parametrize(
    "value",
    [0.5, 1.5, -0.5, -1.5, -0.0, 0.49999999999999994, -0.49999999999999994, -1e-20, 2.0**52 + 1],
)
def test_halves_go_up_so_that_a_shift_by_one_stays_one(value: float) -> None:
    (here,), (there,) = _nearest([value]), _nearest([Fraction(value) + 1])
    assert there - here == 1
    assert here == math.floor(Fraction(value) + Fraction(1, 2))


def test_infinities_and_nan_stay() -> None:
    rounded = nearest_whole(as_exact(np.array([math.inf, -math.inf, math.nan])))
    assert isinstance(rounded, np.ndarray)
    assert rounded.tolist()[:2] == [math.inf, -math.inf]
    assert math.isnan(rounded[2])
    assert np.all(np.isfinite(np.asarray(add_noise(LAW, Fraction(1), math.nan))))


HOSTILE = {
    "masked array": np.ma.array([54321.0], mask=[True]),
    "masked array without a mask": np.ma.array([54321.0]),
    "masked number": np.ma.masked,
    "masked in a list": [np.ma.masked],
    "masked among numbers": [54321.0, np.ma.masked],
    "masked array in a list": [np.ma.array(54321.0, mask=True)],
    "None": None,
    "None in a list": [None],
    "None in an array": np.array([None]),
    "complex": 54321 + 1j,
    "complex in objects": np.array([1j], dtype=object),
    "Decimal": Decimal(54321),
    "Decimal in a list": [Decimal(54321)],
    "text": "54321",
    "text in objects": np.array(["54321"], dtype=object),
    "an object": [object()],
    "a set": {54321},
    "a dict": {54321: 1},
    "a list in objects": [[54321], 5],
    "a time": np.timedelta64(54321),
    "a time in objects": [np.timedelta64(54321)],
    "longdouble": np.longdouble(54321),
    "longdouble in a list": [np.longdouble(54321)],
    "bytes": b"54321",
    "a record": np.zeros(1, dtype=[("a", float)]),
}


@pytest.mark.parametrize("values", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("law", [LAW, mechanism().noise])
def test_types_that_are_no_exact_numbers_are_refused(values: Any, law: DiscreteStaircase) -> None:
    class NoDraw:
        def bits(self, count: int) -> int:
            raise AssertionError("noise was drawn")

    with pytest.raises(InvalidArgument, match="values") as refused:
        add_noise(law, Fraction(1), values, entropy=NoDraw())  # pyright: ignore[reportArgumentType]
    assert "543" not in str(refused.value)


def test_masked_numerators_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="masked"):
        ScaledIntegers(numerators=np.ma.array([1], mask=[True]), bits=0)


def test_bits_are_kept_as_an_int() -> None:
    assert type(ScaledIntegers(numerators=np.array([1]), bits=cast("int", np.int8(3))).bits) is int
    with pytest.raises(InvalidArgument, match="bits"):
        ScaledIntegers(numerators=np.array([1]), bits=1.0)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("values", "exactly"),
    [
        ([1, 2], [1, 2]),
        ([1, 2.5], [1, Fraction(5, 2)]),
        ([2**60 + 1, 0.5], [2**60 + 1, Fraction(1, 2)]),
        ([2**63, -1], [2**63, -1]),
        ([True, np.True_], [1, 1]),
        ([np.uint64(2**64 - 1)], [2**64 - 1]),
        ([np.float32(0.1)], [Fraction(float(np.float32(0.1)))]),
        ([Fraction(cast("int", np.uint8(200))), 1], [200, 1]),
        ((np.int8(-3), 4), [-3, 4]),
    ],
)
def test_lists_of_several_types_are_exact(values: Any, exactly: list[Fraction]) -> None:
    assert fractions_of(as_exact(values)) == exactly
