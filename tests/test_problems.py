"""The table of reference problems is correct, by a second computation that shares no code."""

from __future__ import annotations

import mpmath as mp
import pytest

from tests.problems import DELTAS, Delta
from tests.routes import delta_by_radial_integral

# beyond 100 dimensions the plain radial integral needs more digits than are affordable
SMALL = [problem for problem in DELTAS if problem.dimension <= 100]


@pytest.mark.slow
@pytest.mark.parametrize("problem", SMALL, ids=lambda problem: problem.name)
def test_deltas_agree_with_a_radial_integral(problem: Delta) -> None:
    value = delta_by_radial_integral(
        problem.family, problem.dimension, mp.mpf(problem.scale), mp.mpf(problem.epsilon)
    )
    assert abs(value / mp.mpf(problem.delta) - 1) < 1e-12
