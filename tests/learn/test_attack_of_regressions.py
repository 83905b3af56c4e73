"""The attack on regressions can fail: it finds a sensitivity or noise that is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import leastnoise as ln
from leastnoise.guarantees.sensitivity import Sensitivity
from leastnoise.learn import fitting
from leastnoise.learn.moments import Moments
from tests.attacks import test_regressions as regressions
from tests.attacks.guard import case_of

CASES = 40


def tell(wanted: str) -> Iterator[str]:
    for number in range(CASES):
        case = case_of("regressions", "1", number)
        if case["neighbours"] != wanted:
            continue
        try:
            regressions.attack(case)
        except AssertionError as error:
            yield str(error)


@pytest.mark.dense
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_what_is_right_withstands(neighbours: str) -> None:
    assert not list(tell(neighbours))


@pytest.mark.parametrize(
    ("neighbours", "kept"), [("replace-one", 0), ("replace-one", 1), ("add-remove", 0)]
)
def test_a_sensitivity_that_is_a_tenth_too_small_is_told(
    neighbours: str, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sensitivities are in l2 and in a box, each alone where there are both."""
    right: Any = Moments.sensitivity.fget  # pyright: ignore[reportAttributeAccessIssue]

    def wrong(self: Moments) -> tuple[Sensitivity, ...]:
        item = right(self)[kept]
        if isinstance(item, ln.L2):
            return (ln.L2(item.bound * 9 / 10),)
        return (ln.Linf(item.bound * 9 / 10, l0=item.l0),)

    monkeypatch.setattr(Moments, "sensitivity", property(wrong))
    assert any(text.startswith("moved by") for text in tell(neighbours))


@pytest.mark.dense
def test_noise_that_is_chosen_by_a_row_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    best = fitting.best_of
    seen: list[int] = []

    def by_turns(families: tuple[str, ...], **asked: Any) -> ln.Mechanism:
        seen.append(1)
        return best(("k-norm", "k-staircase")[len(seen) % 2 :][:1], **asked)

    monkeypatch.setattr(fitting, "best_of", by_turns)
    assert "the noise depends on a row" in set(tell("replace-one"))
