"""Accuracies that queries ask for: the errors shown, the least ε, and refusals."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from leastnoise.errors import CertificateRejected, OverBudget, Refused, SpecError
from leastnoise.tables.answers.kinds import lay_out_query
from leastnoise.tables.noise.errors import wishes
from leastnoise.tables.plan import least_epsilon
from leastnoise.tables.plan.plan import Plan
from leastnoise.tables.results.table import values_of
from leastnoise.tables.statistics.base import NoiseError
from leastnoise.tables.statistics.registry import parse_query
from tests.tables.resealed import verify_resealed

ROWS = "person,plan,visits\n" + "".join(
    f"{person},{person % 2 + 1},{person % 13}\n" for person in range(400)
)
USE = {
    "name": "use",
    "statistics": ["count", "mean(visits)"],
    "group_by": {"plan": [1, 2]},
    "accuracy": {"half_width_95": 2, "statistic": "mean(visits)"},
    "assume": {"n": 200},
}
PEOPLE = {"name": "people", "statistics": ["count_units"], "accuracy": {"std": 12}}
HISTOGRAM: dict[str, Any] = {"histogram": {"column": "visits", "edges": [0, 4, 20]}}
WHERE: dict[str, Any] = {"conditions": {"often": {"visits": {"min": 9}}}}
_COUNTS: dict[str, Any] = {"statistics": [], "group_by": {}, "assume": None}
WITHOUT_A_WISH = {"name": "people", "statistics": ["count_units"]}
BINS = {
    "name": "bins",
    **HISTOGRAM,
    "accuracy": {"half_width_95": 30},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text(ROWS)
    return tmp_path


def release(
    folder: Path, *query: dict[str, Any], epsilon: str = "least", **more: Any
) -> ln.Release:
    privacy = {"unit": "person", "epsilon": epsilon, "delta": "1e-6"} | more
    return ln.Release(
        data={
            "source": "rows.csv",
            "types": {"person": "int", "plan": "int", "visits": "float"},
        },
        privacy=privacy,
        contribution={"max_rows": 2},
        columns={"visits": {"bounds": [0, 20]}},
        query=query,
        output={"path": "out", "format": "csv"},
        folder=folder,
    )


def _wish(statistic: str) -> dict[str, Any]:
    return {"accuracy": {"std": 5, "statistic": statistic}}


def worst(plan: Any) -> float:
    return max(wish.actual / wish.wished for part in plan.noisy_parts for wish in part.wishes)


@pytest.mark.parametrize("rows", [1, 3, 40, 55, 90, 5000])
def test_a_mean_is_never_shown_better_than_it_may_be_published(folder: Path, rows: int) -> None:
    """Over all noisy sums beside a count of `rows`, the widest interval and the largest std."""
    planned = release(folder, USE)
    layout = lay_out_query(parse_query(planned.spec, planned.spec.query[0]))[0][0]
    uses = layout.uses[-1]
    noise = [NoiseError(std=1.0, half95=2.0, half975=3.0, half983=3.5)] * len(layout.components)
    total = noise[uses[0]] = NoiseError(std=10.0, half95=20.0, half975=25.0, half983=27.0)
    count = noise[uses[1]] = NoiseError(std=8.0, half95=16.0, half975=19.0, half983=21.0)
    cells = np.zeros((30_001, len(layout.components)))
    cells[:, uses[0]] = np.linspace(-1.5, 1.5, 30_001) * rows
    cells[:, uses[1]] = rows
    _, std, low, high = values_of(layout, cells, noise)[-1]
    mean, ingredients = layout.statistics[-1], layout.ingredients(noise)[-1]
    shown_std = mean.expected_std(ingredients, [total.std, count.std], rows)
    shown_half = mean.expected_half_width(ingredients, rows)
    assert std.max() == pytest.approx(shown_std, rel=1e-6)
    assert ((high - low) / 2).max() == pytest.approx(shown_half, rel=1e-3)


@pytest.mark.dense
def test_every_wish_is_met_by_an_epsilon_that_is_the_least(folder: Path) -> None:
    planned = release(folder, USE, PEOPLE)
    plan = planned.plan()
    assert {wish.statistic for part in plan.noisy_parts for wish in part.wishes} == {
        "mean_visits",
        "count_units",
    }
    # each query's wish is met; of those that share a draw one by no more than the search leaves
    for draw in plan.answered:
        asked = [wish for part in draw.parts for wish in part.wishes]
        assert all(wish.met for wish in asked)
        assert max(wish.actual / wish.wished for wish in asked) > 0.99
    # the same shares with a per cent less
    weights = [part.budget.epsilon / plan.budget.epsilon for part in plan.noisy_parts]
    less = release(
        folder,
        USE | {"importance": weights[0]},
        PEOPLE | {"importance": weights[1]},
        epsilon=str(plan.budget.epsilon * 99 / 100),
    )
    assert worst(less.plan()) > 1


@pytest.mark.dense
def test_wishes_are_about_the_errors_that_are_shown(folder: Path) -> None:
    """Also where those that nothing is wished of aren't worked out for it."""
    for asked in (USE, USE | {"accuracy": {"std": 3}}, PEOPLE, WITHOUT_A_WISH):
        (part,) = release(folder, asked, epsilon="1").plan().noisy_parts
        assert part.wishes == wishes(part.layout, part.errors)


@pytest.mark.dense
def test_the_range_is_checked_of_the_plan_that_is_taken_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[Plan] = []
    monkeypatch.setattr(least_epsilon, "check_range", checked.append)
    planned = release(folder, PEOPLE)
    assert checked == [planned.plan()]


@pytest.mark.slow
def test_whole_numbers_go_by_steps(folder: Path) -> None:
    wished = {"name": "people", "statistics": ["count_units"], "accuracy": {"half_width_95": 4}}
    plan = release(folder, wished).plan()
    assert worst(plan) <= 1
    below = release(folder, wished, epsilon=str(plan.budget.epsilon * 9975 / 10000)).plan()
    assert worst(below) > 1


STEPS = [
    {"name": "n", "statistics": ["count_units"]},
    {"name": "bins", "histogram": {"column": "visits", "edges": [0, 4, 20]}},
    {"name": "few", "statistics": ["count"]},
]


def _wished(*measures: dict[str, Any]) -> list[dict[str, Any]]:
    return [part | {"accuracy": accuracy} for part, accuracy in zip(STEPS, measures, strict=False)]


@pytest.mark.dense
@pytest.mark.parametrize(
    "parts",
    [
        _wished({"half_width_95": 3}, {"std": "7.55"}),
        _wished({"half_width_95": 2}, {"std": "0.58"}),
        _wished({"half_width_95": 30}, {"half_width_95": "0.3"}, {"half_width_95": 1}),
    ],
)
def test_blocks_need_no_more_together_than_each_alone(
    folder: Path, parts: list[dict[str, Any]]
) -> None:
    """Draws at δ = 0 are separate: their errors go by steps, or fall exponentially in ε."""
    pure = {"delta": "0"}
    plan = release(folder, *parts, **pure).plan()
    assert worst(plan) <= 1
    alone = [release(folder, part, **pure).plan().budget.epsilon for part in parts]
    assert plan.budget.epsilon <= sum(alone) * Fraction(1005, 1000)
    for part, epsilon in zip(parts, alone, strict=True):
        less = release(folder, part, epsilon=str(epsilon * 9975 / 10000), **pure)
        assert worst(less.plan()) > 1


@pytest.mark.dense
def test_the_epsilon_that_would_do_is_the_least_where_errors_go_by_steps(folder: Path) -> None:
    parts = _wished({"half_width_95": 3}, {"std": "0.58"})
    needed = release(folder, *parts, epsilon="0.5", delta="0").needed_epsilon()
    assert needed is not None
    assert worst(release(folder, *parts, epsilon=str(needed), delta="0").plan()) <= 1
    below = release(folder, *parts, epsilon=str(needed * 9975 / 10000), delta="0")
    assert worst(below.plan()) > 1


@pytest.mark.dense
def test_what_is_released_is_the_plan_that_was_shown(folder: Path) -> None:
    planned = release(folder, USE, PEOPLE, BINS)
    plan = planned.plan()
    planned.run()
    record = json.loads((folder / "out" / "plan.json").read_text())
    assert record == json.loads(plan.to_json())
    verified = ln.verify_directory(folder / "out")
    assert verified.spec.budget == plan.budget
    assert verified.delta.certainly_at_most("1e-6")
    assert 'epsilon = "least"' not in (folder / "out" / "spec.toml").read_text()


def test_an_edited_wish_does_not_verify(folder: Path) -> None:
    release(folder, PEOPLE).run()
    path = folder / "out" / "spec.toml"
    path.write_text(path.read_text().replace("std = 12", "std = 13"))
    with pytest.raises(CertificateRejected, match=r"plan\.json"):
        verify_resealed(folder / "out")


@pytest.mark.dense
def test_a_fixed_epsilon_says_which_would_do(folder: Path) -> None:
    planned = release(folder, USE, PEOPLE, epsilon="0.1")
    assert [wish.met for part in planned.plan().noisy_parts for wish in part.wishes] == [
        False,
        False,
    ]
    needed = planned.needed_epsilon()
    assert needed is not None
    assert needed > planned.plan().budget.epsilon
    assert worst(release(folder, USE, PEOPLE, epsilon=str(needed)).plan()) <= 1
    assert worst(release(folder, USE, PEOPLE, epsilon=str(needed * 99 / 100)).plan()) > 1
    assert release(folder, USE, PEOPLE, epsilon=str(needed)).needed_epsilon() is None


@pytest.mark.dense
def test_without_a_wish_nothing_is_needed(folder: Path) -> None:
    part = {"name": "n", "statistics": ["count"]}
    assert release(folder, part, epsilon="0.01").needed_epsilon() is None


def test_what_no_epsilon_gives_is_refused(folder: Path) -> None:
    tiny = PEOPLE | {"accuracy": {"std": "1e-30"}}
    with pytest.raises(Refused, match="up to 100"):
        release(folder, tiny).plan()
    with pytest.raises(Refused, match="up to 100"):
        release(folder, tiny, epsilon="1").needed_epsilon()


@pytest.mark.dense
def test_a_ledger_is_charged_what_was_found(folder: Path) -> None:
    ledger = ln.Ledger(folder / "budget.db")
    ledger.open_account("rows", unit="person", budget=ln.Budget(epsilon=1, delta="1e-5"))
    planned = release(folder, PEOPLE, ledger={"path": "budget.db"})
    planned.run()
    assert ledger.history()[-1].body["epsilon"] == str(float(planned.plan().budget.epsilon))
    (folder / "out").rename(folder / "first")
    greedy = PEOPLE | {"accuracy": {"std": "0.5"}}
    over = release(folder, greedy, ledger={"path": "budget.db"})
    with pytest.raises(OverBudget):
        over.run()
    assert len(ledger.history()) == 2


@pytest.mark.parametrize(
    ("change", "key", "says"),
    [
        ({"accuracy": None}, "query[0].accuracy", "Missing"),
        ({"accuracy": {}}, "query[0].accuracy", "Expected either half_width_95 or std"),
        (
            {"accuracy": {"std": 1, "half_width_95": 2}},
            "query[0].accuracy",
            "Expected either half_width_95 or std",
        ),
        ({"accuracy": {"std": 0}}, "query[0].accuracy.std", "> 0"),
        ({"accuracy": {"std": -1}}, "query[0].accuracy.std", "> 0"),
        ({"accuracy": {"sd": 1}}, "query[0].accuracy.sd", "Unknown key"),
        ({"accuracy": 5}, "query[0].accuracy", "table"),
        ({"accuracy": {"std": 1, "statistic": "sum(visits)"}}, "accuracy.statistic", "has no"),
        ({"accuracy": {"std": 1, "statistic": "median"}}, "accuracy.statistic", "Expected"),
        (_COUNTS | HISTOGRAM | _wish("count_units"), "accuracy.statistic", "no count_units"),
        (_COUNTS | WHERE | _wish("count"), "accuracy.statistic", "no count, only count_units"),
        ({"importance": 2}, "query[0].importance", "Not used"),
        ({"assume": {"n": 0}}, "query[0].assume.n", "greater"),
        ({"assume": {"n": True}}, "query[0].assume.n", "a whole number"),
        ({"assume": None}, "query[0].assume", "the number of values"),
        (
            {"assume": {"n": 5}, "statistics": ["count"]},
            "query[0].assume",
            "counts and sums don't depend on it",
        ),
    ],
)
def test_what_the_spec_can_not_mean(
    folder: Path, change: dict[str, Any], key: str, says: str
) -> None:
    with pytest.raises(SpecError) as caught:
        release(folder, USE | change)
    assert any(key in where and says in why for where, why in caught.value.problems)


def test_assumed_sizes_of_a_file(folder: Path) -> None:
    planned = release(folder, USE | {"assume": None, "accuracy": None}, epsilon="1")
    path = folder / "spec.toml"
    path.write_text(planned.to_toml())
    sizes = [error.rows for error in planned.plan().noisy_parts[0].errors]
    assert sizes == [None, 100, 1_000, 10_000]
    assumed = ln.Release.from_toml(path, assume=4000).plan().noisy_parts[0].errors
    assert [error.rows for error in assumed] == [None, 4000]
    with pytest.raises(ln.errors.InvalidArgument, match="assume"):
        ln.Release.from_toml(path, assume=0)


def test_an_assumed_size_is_for_errors_that_depend_on_it(folder: Path) -> None:
    """A sum of a column called mean_age needs no size; the option is refused if no error does."""
    planned = ln.Release(
        data={"source": "rows.csv", "types": {"person": "int", "mean_age": "float"}},
        privacy={"unit": "person", "epsilon": "1"},
        contribution={"max_rows": 2},
        columns={"mean_age": {"bounds": [0, 20]}},
        query=[{"name": "sums", "statistics": ["sum(mean_age)"]}],
        folder=folder,
    )
    path = folder / "spec.toml"
    path.write_text(planned.to_toml())
    with pytest.raises(ln.errors.InvalidArgument, match="no error depends on it"):
        ln.Release.from_toml(path, assume=10)
    for text in ("mean(mean_age)", "std(mean_age)", "ratio(sum(mean_age), count)"):
        path.write_text(planned.to_toml().replace("sum(mean_age)", text))
        (query,) = ln.Release.from_toml(path, assume=10).spec.query
        assert query.assume is not None
    path.write_text(planned.to_toml().replace("sum(mean_age)", "median(mean_age)"))
    with pytest.raises(SpecError, match="statistics"):
        ln.Release.from_toml(path, assume=10)


def test_a_budget_that_no_noise_can_meet_is_refused(folder: Path) -> None:
    """The variance of Laplace noise there is no float."""
    planned = ln.Release(
        data={"source": "rows.csv", "types": {"person": "int"}},
        privacy={"unit": "row", "epsilon": "1e-300"},
        query=[{"name": "all", "statistics": ["count"]}],
        folder=folder,
    )
    with pytest.raises(ln.errors.Refused, match="out of range"):
        planned.plan()
