from __future__ import annotations

from fractions import Fraction

import pytest

from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.sensitivity import L1, L2, sensitivity_of_kind


def test_l1_implies_l2_and_one_coordinate_makes_them_equal() -> None:
    assert L1("1.5").radius("l2", dimension=9) == Fraction(3, 2)
    assert L1("1.5").radius("l1", dimension=9) == Fraction(3, 2)
    assert L2("1.5").radius("l1", dimension=9) is None
    assert L2("1.5").radius("l1", dimension=1) == Fraction(3, 2)


@pytest.mark.parametrize("bound", ["0", "-1", "nan", "inf", "x"])
def test_refuses_what_is_no_bound(bound: str) -> None:
    for kind in ("l1", "l2"):
        with pytest.raises(InvalidArgument, match="sensitivity"):
            sensitivity_of_kind(kind, bound)


def test_names_the_nearest_norm() -> None:
    with pytest.raises(InvalidArgument, match="l1"):
        sensitivity_of_kind("L1", 1)
