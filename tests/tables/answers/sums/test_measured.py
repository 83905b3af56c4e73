"""The choice among kinds of noise for measured tables, if some of them aren't proved."""

from __future__ import annotations

import pytest

from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import NotCertified, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.tables.answers.sums.measured import find_measured, prove_best
from leastnoise.tables.layout.layout import Layout
from tests.tables.margins import plan_of, spec_of, whole_of

BUDGET = Budget(epsilon=1, delta="1e-6")


def _refuse(*_: object) -> list[Certificate]:
    raise NotCertified(interval=None, why="the least noise isn't proved")


def _give_none(*_: object) -> None:
    return None


def _find(cells: Layout, budget: Budget, _: object, releases: int) -> list[Certificate]:
    claims = find_measured(cells, budget, pure=False, releases=releases)
    return [claim for _, claim in claims if isinstance(claim, Certificate)]


def test_noise_that_is_refused_leaves_the_next_to_be_tried() -> None:
    cells = whole_of(plan_of(spec_of())).cells
    offers = [(0.5, _give_none, {}), (0.0, _refuse, {}), (1.0, _find, {})]
    search, _, claims = prove_best(cells, BUDGET, offers, 1)
    assert search is _find
    assert claims
    with pytest.raises(NotCertified, match="least noise"):
        prove_best(cells, BUDGET, offers[:2], 1)
    with pytest.raises(Refused):
        prove_best(cells, BUDGET, offers[:1], 1)
