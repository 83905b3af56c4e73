from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.noise.kernels.profile.crossings import Kernels, crossings
from leastnoise.noise.kernels.profile.divergence import log_divergence, peaks
from tests.kernel_problems import FOLDED_SCALES, HARD_SCALES, LEAST_SCALES

# Of ln δ; the references' σ are known to about 1e-10 and ln δ moves up to 30 times as fast. At the
# narrow peak of (2, 10, 1e-6) the worst seen is 5e-9.
AT_REFERENCE = 1e-8
TINY = 2e-13  # relative; worst seen: 4.1e-14
AT_FOLDED_REFERENCE = 5e-7  # worst seen: 2.8e-7, the reference's own


@pytest.mark.parametrize(
    ("modes", "epsilon", "delta", "scale", "shift"), LEAST_SCALES + HARD_SCALES
)
def test_references(*, modes: int, epsilon: str, delta: str, scale: str, shift: float) -> None:
    sigma = float(scale)
    law = Kernels(modes=modes, spacing=1 / sigma, decay=float(epsilon))
    peak_deltas = peaks(law, shift=1 / sigma, epsilon=float(epsilon))
    assert peak_deltas.log_delta == pytest.approx(math.log(float(delta)), abs=AT_REFERENCE)
    assert peak_deltas.worst * sigma == pytest.approx(shift, abs=1e-5)
    assert peak_deltas.settled.all()


@pytest.mark.parametrize(("epsilon", "delta", "scale", "shift"), FOLDED_SCALES)
def test_folded_references(*, epsilon: str, delta: str, scale: str, shift: float) -> None:
    sigma = float(scale)
    law = Kernels(modes=1, spacing=1 / sigma, decay=float(epsilon), folded=True)
    peak_deltas = peaks(law, shift=1 / sigma, epsilon=float(epsilon))
    assert peak_deltas.log_delta == pytest.approx(math.log(float(delta)), abs=AT_FOLDED_REFERENCE)
    assert peak_deltas.worst * sigma == pytest.approx(shift, abs=3e-5)


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


@pytest.mark.slow
@settings(derandomize=True, max_examples=30, deadline=None)
@given(
    modes=st.integers(0, 6),
    folded=st.booleans(),
    spacing=st.floats(0.3, 7),
    decay=st.floats(0, 3),
    epsilon=st.floats(0, 3),
    reach=st.floats(0.2, 1.4),
)
def test_no_shift_is_worse_than_the_one_found(
    *, modes: int, folded: bool, spacing: float, decay: float, epsilon: float, reach: float
) -> None:
    """Against a sum over 40,001 points, at 9 shifts up to past the spacing."""
    law = Kernels(modes=1 if folded else modes, spacing=spacing, decay=decay, folded=folded)
    end = reach * spacing
    peak_deltas = peaks(law, shift=end, epsilon=epsilon)
    delta = math.exp(peak_deltas.log_delta)
    assert 0 < peak_deltas.worst <= end
    assert delta == pytest.approx(_by_brute_force(law, peak_deltas.worst, epsilon), abs=1e-6)
    for shift in np.linspace(end / 9, end, 9):
        assert _by_brute_force(law, shift, epsilon) <= delta + 1e-6


@pytest.mark.dense
@settings(derandomize=True, max_examples=30, deadline=None)
@given(
    modes=st.integers(1, 6),
    folded=st.booleans(),
    spacing=st.floats(0.3, 7),
    decay=st.floats(0, 3),
    epsilon=st.floats(0.01, 3),
    share=st.floats(0.05, 1.4),
)
def test_no_sign_change_is_missed(
    *, modes: int, folded: bool, spacing: float, decay: float, epsilon: float, share: float
) -> None:
    """Against the signs at 20,001 points; pairs between two of them may be found in addition."""
    law = Kernels(modes=1 if folded else modes, spacing=spacing, decay=decay, folded=folded)
    phi = share * spacing
    y = np.linspace(-law.modes * spacing - phi - epsilon / phi, law.modes * spacing, 20_001)
    rise = law.log_density_and_mean(y + phi)[0] - law.log_density_and_mean(y)[0] - epsilon
    sign_changes = crossings(law, np.array([phi]), epsilon)
    after = np.searchsorted(sign_changes.roots, y) % 2 == 1  # L > 0 on the far left
    sure = (np.abs(rise) > 1e-9) & (np.abs(y[:, None] - sign_changes.roots).min(axis=1) > 1e-7)
    assert ((rise < 0) == after)[sure].all()


def test_a_gaussian_has_its_closed_form() -> None:
    law = Kernels(modes=0, spacing=1.0, decay=1.0)
    for mu, epsilon in ((0.5, 0.3), (3.0, 1.0), (0.2, 1.0)):
        t = epsilon / mu - mu / 2
        exact = (
            math.erfc(t / math.sqrt(2)) - math.exp(epsilon) * math.erfc((t + mu) / math.sqrt(2))
        ) / 2
        peak_deltas = peaks(law, shift=mu, epsilon=epsilon)
        assert math.exp(peak_deltas.log_delta) == pytest.approx(exact, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("share", [1.0, 1 - 1e-6, 0.97])
def test_tiny_delta_keeps_its_digits(share: float) -> None:
    """Near the spacing L is 0 on most of the line; against 30 digits, where H is 1e-12 or so."""
    modes, spacing, epsilon = 9, 2.8, 3.0
    law = Kernels(modes=modes, spacing=spacing, decay=epsilon)
    phi = share * spacing
    with mp.workdps(30):
        exact = _in_many_digits(modes, mp.mpf(spacing), mp.mpf(epsilon), mp.mpf(phi))
        divergence = mp.exp(mp.mpf(log_divergence(law, shift=phi, epsilon=epsilon)))
        assert abs(divergence - exact) <= TINY * exact


def _in_many_digits(modes: int, spacing: mp.mpf, epsilon: mp.mpf, phi: mp.mpf) -> mp.mpf:
    weights = {k: mp.exp(-abs(k) * epsilon) for k in range(-modes, modes + 1)}
    total = mp.fsum(weights.values())

    def gap(y: mp.mpf) -> Any:
        return mp.fsum(
            w * (mp.npdf(y + phi, k * spacing) - mp.exp(epsilon) * mp.npdf(y, k * spacing))
            for k, w in weights.items()
        )

    def mass(y: mp.mpf) -> Any:
        return mp.fsum(
            w * (mp.ncdf(y + phi, k * spacing) - mp.exp(epsilon) * mp.ncdf(y, k * spacing))
            for k, w in weights.items()
        )

    end = modes * spacing
    nodes = [-end - phi - 30 + (2 * end + phi + 30) * i / 300 for i in range(301)]
    signs = [gap(y) > 0 for y in nodes]
    h = mp.mpf(0)
    for a, b, left, right in zip(nodes, nodes[1:], signs, signs[1:], strict=False):
        if left != right:
            root = mp.findroot(gap, (a, b), solver="anderson", tol=1e-50)
            h += mass(root) if left else -mass(root)
    return h / total
