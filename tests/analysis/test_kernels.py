from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.analysis.kernels import Kernels, log_delta, log_divergence, worst_shift
from tests.kernel_problems import HARD_SCALES, LEAST_SCALES

# Of ln δ; the references' σ are known to about 1e-10 and ln δ moves up to 30 times as fast. At the
# narrow peak of (2, 10, 1e-6) the worst seen is 5e-9.
AT_REFERENCE = 1e-8


@pytest.mark.parametrize(
    ("modes", "epsilon", "delta", "scale", "shift"), LEAST_SCALES + HARD_SCALES
)
def test_references(*, modes: int, epsilon: str, delta: str, scale: str, shift: float) -> None:
    sigma = float(scale)
    law = Kernels(modes=modes, spacing=1 / sigma, decay=float(epsilon))
    found, worst = worst_shift(law, shift=1 / sigma, epsilon=float(epsilon))
    assert found == pytest.approx(math.log(float(delta)), abs=AT_REFERENCE)
    assert worst * sigma == pytest.approx(shift, abs=1e-6)


def test_a_shift_in_the_middle_is_worse_than_the_longest() -> None:
    """theory/noise.md §1c: ¼N(−1) + ½N(0) + ¼N(1), sd .2, ε = .5."""
    law = Kernels(modes=1, spacing=5.0, decay=math.log(2))
    assert math.exp(log_divergence(law, shift=2.5, epsilon=0.5)) == pytest.approx(0.5471056405)
    assert math.exp(log_divergence(law, shift=5.0, epsilon=0.5)) == pytest.approx(0.3351846153)


def _by_brute_force(law: Kernels, shift: float, epsilon: float) -> float:
    y = np.linspace(-law.modes * law.spacing - shift - 12, law.modes * law.spacing + 12, 40_001)
    u, _ = law.log_density_and_mean(y + shift)
    log_f, _ = law.log_density_and_mean(y)
    gap = np.maximum(np.exp(u) - math.exp(epsilon) * np.exp(log_f), 0)
    return float(gap.sum() * (y[1] - y[0]))


@settings(derandomize=True, max_examples=20, deadline=None)
@given(
    modes=st.integers(0, 6),
    spacing=st.floats(0.3, 7),
    decay=st.floats(0, 3),
    epsilon=st.floats(0, 3),
    reach=st.floats(0.2, 1.4),
)
def test_no_shift_is_worse_than_the_one_found(
    *, modes: int, spacing: float, decay: float, epsilon: float, reach: float
) -> None:
    """Against a sum over 40,001 points, at 9 shifts up to past the spacing."""
    law = Kernels(modes=modes, spacing=spacing, decay=decay)
    end = reach * spacing
    found, worst = worst_shift(law, shift=end, epsilon=epsilon)
    assert 0 < worst <= end
    assert math.exp(found) == pytest.approx(_by_brute_force(law, worst, epsilon), abs=1e-6)
    for shift in np.linspace(end / 9, end, 9):
        assert _by_brute_force(law, shift, epsilon) <= math.exp(found) + 1e-6


def test_a_gaussian_has_its_closed_form() -> None:
    law = Kernels(modes=0, spacing=1.0, decay=1.0)
    for mu, epsilon in ((0.5, 0.3), (3.0, 1.0), (0.2, 1.0)):
        t = epsilon / mu - mu / 2
        exact = (
            math.erfc(t / math.sqrt(2)) - math.exp(epsilon) * math.erfc((t + mu) / math.sqrt(2))
        ) / 2
        assert math.exp(log_delta(law, shift=mu, epsilon=epsilon)) == pytest.approx(exact, rel=1e-9)
