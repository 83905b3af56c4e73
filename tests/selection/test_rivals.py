"""Which ways to fit noise a family may serve at all."""

from __future__ import annotations

import pytest

from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.geometry import CellGeometry
from leastnoise.guarantees.structured import Linf
from leastnoise.noise.question import Question
from leastnoise.noise.registry import family_named
from leastnoise.selection.constructions import Way
from leastnoise.selection.rivals import _serves_any


@pytest.mark.parametrize(
    ("name", "ball", "cells"), [("gaussian", True, True), ("geometric", False, True)]
)
def test_noise_for_one_number_serves_vectors_in_cells_alone(
    name: str, *, ball: bool, cells: bool
) -> None:
    asked = Question(budget=Budget(epsilon=1, delta="1e-6"), sensitivities=(Linf(1),), dimension=3)
    plain = Way(sensitivity=Linf(1))
    each = Way(sensitivity=Linf(1), construction="cells", geometry=CellGeometry(count=3))
    family = family_named(name)
    assert _serves_any(family, asked, [plain]) == ball
    assert _serves_any(family, asked, [each]) == cells
    assert _serves_any(family, asked, [plain, each])
    assert not _serves_any(family, asked, [])
