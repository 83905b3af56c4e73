"""The Fourier transform and its bound on rounding, against numpy in extended precision."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.balls.rounded import inverse, relative_error, transform


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(2, 12), st.integers(0, 2**31))
def test_transforms_are_as_accurate_as_they_say(power: int, seed: int) -> None:
    rng = np.random.default_rng(seed)  # makes vectors, no noise
    size = 2**power
    x = rng.normal(size=size) * 10.0 ** rng.uniform(-8, 8, size)
    result = transform(x)
    exact = np.fft.rfft(x.astype(np.longdouble))
    error = float(np.linalg.norm(result - exact))
    assert error <= relative_error(size) * float(np.linalg.norm(exact))
    back = inverse(result)
    assert np.linalg.norm(back - x) <= 2 * relative_error(size) * np.linalg.norm(x)


@pytest.mark.parametrize("size", [2, 3, 24])
def test_only_powers_of_two_are_transformed(size: int) -> None:
    with pytest.raises(ValueError, match="power of two"):
        transform(np.ones(size))
