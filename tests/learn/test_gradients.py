from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from leastnoise.errors import InvalidArgument
from leastnoise.learn import clip

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(
    rows=arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 6)), elements=FINITE),
    norm=st.one_of(st.floats(1e-290, 1e290), st.fractions(Fraction(1, 1000), 1000)),
)
def test_no_row_is_longer_than_the_norm_in_exact_arithmetic(rows: Any, norm: Any) -> None:
    limit = Fraction(repr(norm)) if isinstance(norm, float) else norm
    for row in clip(rows, norm):
        assert sum(Fraction(x) ** 2 for x in row.tolist()) <= limit**2


def test_short_rows_stay_and_long_ones_keep_their_direction() -> None:
    rows = np.random.default_rng(1).normal(size=(50, 30)) * 10.0 ** np.arange(-25, 25)[:, None]
    clipped = clip(rows, 1)
    lengths = np.linalg.norm(rows, axis=1)
    assert (clipped[lengths < 0.999] == rows[lengths < 0.999]).all()
    long = lengths > 1
    assert clipped[long] == pytest.approx(rows[long] / lengths[long][:, None], rel=1e-12)


def test_rows_that_are_not_finite_are_nothing() -> None:
    rows = [[np.nan, 1.0], [np.inf, 0.0], [0.0, 0.0], [0.5, 0.0]]
    assert clip(rows, 1).tolist() == [[0, 0], [0, 0], [0, 0], [0.5, 0]]
    assert clip(np.zeros((0, 3)), 1).shape == (0, 3)
    assert clip(np.zeros((3, 0)), 1).shape == (3, 0)


@pytest.mark.parametrize("wrong", [([1.0], 1), ([[1.0]], 0), ([[1.0]], -1), ([[1.0]], "x")])
def test_what_makes_no_sense_is_refused(wrong: tuple[Any, Any]) -> None:
    with pytest.raises(InvalidArgument):
        clip(*wrong)


def test_a_callers_errstate_turns_no_example_into_an_error() -> None:
    with np.errstate(all="raise"):
        assert clip([[1e-200, 1.0], [1e300, 1e300]], norm=1).shape == (2, 2)
