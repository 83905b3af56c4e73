"""Named sums: noise as in `ln.workload`, stated errors, and certificates of other strategies."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.plan import PlanCertificate
from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.errors import CertificateRejected
from leastnoise.guarantees.sensitivity import NEIGHBOURS, Neighbours
from leastnoise.guarantees.strategy import StrategyMatrix, SumsOfCells
from leastnoise.mechanism.rounding import add_noise
from leastnoise.selection.workload import Attempt
from leastnoise.tables.answers.weighted import answer, errors, search
from leastnoise.tables.answers.weighted.answer import AnsweredSums
from leastnoise.tables.answers.weighted.questions import list_moves
from leastnoise.tables.layout.layout import SpecLayout
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.least_epsilon import find_plan
from leastnoise.tables.plan.make_plan import plan, plan_as_certified
from leastnoise.tables.plan.plan import Plan
from leastnoise.tables.plan.summary import limits_of_persons
from leastnoise.workloads.matrix import LeastSquares

RUNNING = [f"to {day},0,{day + 1}," for day in range(30)]
GROUPS = ["all,,,", "low,0,8,", "high,8,,", "mean,0,8,0.25", "mean,8,30,0.5"]
TABLES = ["a,0,9,", "b,9,16,", "c,16,,", "ab,0,16,", "bc,9,,", "all,,,"]
DELTAS = ["0", "1e-6"]


def laid_of(
    lines: Sequence[str],
    *,
    days: int = 30,
    rows: int | None = None,
    privacy: Any = None,
    **query: Any,
) -> SpecLayout:
    computed: dict[str, Any] = {
        "name": "q",
        "statistics": ["count"],
        "group_by": {"day": {"edges": [*range(days + 1)]}},
        "sums": "\n".join(["sum,day_from,day_to,weight", *lines]),
    }
    raw: dict[str, Any] = {
        "version": 1,
        "data": {"source": "rows.csv", "types": {"day": "int", "who": "int"}},
        "privacy": {"unit": "row" if rows is None else "who", "epsilon": 1, **(privacy or {})},
        "query": [computed | query],
    }
    return spec_file.lay_out(raw if rows is None else raw | {"contribution": {"max_rows": rows}})


def answered_in(built: Plan) -> AnsweredSums:
    (answered,) = built.answered
    assert isinstance(answered, AnsweredSums)
    return answered


@pytest.mark.dense
@pytest.mark.parametrize("rows", [None, 1, 3])
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("lines", [RUNNING, GROUPS, TABLES])
@pytest.mark.parametrize("delta", DELTAS)
def test_errors_are_those_of_a_workload(
    lines: list[str], neighbours: Neighbours, rows: int | None, delta: str
) -> None:
    """For a histogram with δ > 0 `workload` has noise whose sums have no known intervals."""
    layout = laid_of(lines, rows=rows, privacy={"neighbours": neighbours, "delta": delta})
    answered = answered_in(plan(layout))
    queries = answered.sums.queries
    alone = ln.workload(queries, epsilon=1, delta=delta, neighbours=neighbours, max_rows=rows or 1)
    allowed = [alone.rms]
    if alone.strategy is None and alone.mechanism.noise.name == "discrete-staircase":
        allowed = sorted(alone.rms_by_strategy.values())[1:2]
        allowed += [ln.workload(queries, epsilon=1, neighbours=neighbours).rms]
        assert min(allowed) * (1 - 1e-5) <= answered.error.std <= max(allowed) * (1 + 1e-5)
    elif rows == 3 and alone.strategy is None:  # persons may be shrunk: no whole noise
        assert alone.rms <= answered.error.std <= alone.rms_by_strategy["cells"] * 1.05
    else:
        assert answered.error.std == pytest.approx(alone.rms, rel=1e-5)
        assert np.allclose(answered.stds, alone.std, rtol=1e-5)
    assert answered.bound == pytest.approx(alone.bound, rel=1e-6)
    assert answered.certificate.neighbours == neighbours


@pytest.mark.dense
@pytest.mark.parametrize(
    ("lines", "delta", "privacy"),
    [
        (RUNNING, "0", {}),
        (GROUPS, "0", {}),
        (TABLES, "0", {"neighbours": "replace-one"}),
        (RUNNING, "1e-3", {"epsilon": "0.1"}),
    ],
)
def test_sums_are_unbiased_and_intervals_hold_95_of_100(
    lines: list[str], delta: str, privacy: Any
) -> None:
    """Seeded; each bound fails by chance with probability below 1e-7, over all rows together."""
    answered = answered_in(plan(laid_of(lines, privacy=privacy | {"delta": delta})))
    certificate, ways, times = answered.certificate, answered.ways, 4000
    counts = [Fraction(int(n)) for n in np.random.default_rng(1).integers(0, 50, 30)]
    cells = [Fraction(0)] * answered.sums.merged_cells
    for index, count in zip(answered.sums.places.tolist(), counts, strict=True):
        if index >= 0:
            cells[index] += count
    exact = np.array(ways.sum_cells(cells), dtype=object)
    truth = ways.queries @ np.array([float(cell) for cell in cells])
    entropy, grid = InsecureSeededEntropy(7), certificate.grid
    assert grid is not None
    drawn = np.array(
        [
            ways.answer(
                add_noise(
                    certificate.noise,
                    grid,
                    exact,
                    geometry=certificate.geometry,
                    entropy=entropy,
                ),
                grid,
            )
            for _ in range(times)
        ]
    )
    missed, rows = drawn - truth, answered.error.rows
    assert rows is not None
    scores = missed.mean(axis=0) / (np.array(rows.std) / times**0.5)
    assert np.abs(scores).max() < 6.2
    assert np.mean(missed**2, axis=0) == pytest.approx(np.square(rows.std), rel=0.25)
    inside = (np.abs(missed) <= np.array(rows.half95) * (1 + 1e-12)).mean(axis=0)
    assert inside.min() > 0.95 - 6.2 * (0.95 * 0.05 / times) ** 0.5
    whole = certificate.noise.lattice_step is not None
    assert inside.max() < 0.95 + 6.2 * (0.95 * 0.05 / times) ** 0.5 or whole


@pytest.mark.dense
@pytest.mark.parametrize("releases", [1, 4])
@pytest.mark.parametrize("delta", DELTAS)
def test_a_plan_follows_from_spec_and_certificate(releases: int, delta: str) -> None:
    layout = laid_of(RUNNING, days=30, privacy={"delta": delta})
    if releases > 1:
        spec = layout.spec
        raw = spec_file.to_dict(spec) | {"series": {"releases": releases}}
        raw["privacy"]["ledger"] = {"path": "visits.ledger"}
        layout = spec_file.lay_out(raw)
    mechanism = plan(layout)
    text = mechanism.certificate.to_json()
    assert mechanism.certificate.releases == releases
    assert answered_in(mechanism).certificate.compositions == releases
    read = PlanCertificate.from_json(text)
    read.verify()
    assert plan_as_certified(layout, read).to_record() == mechanism.to_record()


@pytest.mark.dense
def test_intervals_of_many_weights_hold_and_are_hardly_wider(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mechanism = plan(laid_of(RUNNING))
    rows = answered_in(mechanism).error.rows
    monkeypatch.setattr(errors, "_MOST_EXACT", 0)
    wider = answered_in(plan_as_certified(laid_of(RUNNING), mechanism.certificate)).error.rows
    assert rows is not None
    assert wider is not None
    assert rows.std == wider.std
    ratios = np.array(wider.half95) / rows.half95
    assert ratios.min() > 1 - 1e-9
    assert ratios.max() < 1.1


def test_noise_is_in_merged_cells() -> None:
    """Disjoint groups have the noise of a count each, however many cells they have."""
    lines = ["a,0,9,", "b,9,16,", "c,16,,"]
    answered = answered_in(plan(laid_of(lines)))
    assert answered.ways.strategy is None
    assert answered.certificate.noise.name == "geometric"
    assert answered.stds == pytest.approx([1.3569] * 3, abs=1e-4)


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("lines", [["all,,,"], ["low,0,8,", "high,8,,"], ["all,0,30,"]])
def test_persons_with_several_rows_never_count_as_whole(lines: Any, neighbours: Any) -> None:
    """A person beyond the limit is made smaller, so that whole noise would tell of fractions."""
    for limits in ({"max_rows": 3}, {"l1": "2.5"}, {"max_rows_per_group": 1, "max_groups": 2}):
        layout = laid_of(lines, rows=3, privacy={"neighbours": neighbours})
        raw = spec_file.to_dict(layout.spec) | {"contribution": limits}
        answered = answered_in(plan(spec_file.lay_out(raw)))
        certificate = answered.certificate
        assert not certificate.noise.for_whole_numbers
        for moves in list_moves(answered.cells, answered.sums):
            assert moves.rows(dimension=answered.sums.merged_cells) is None
            assert moves.radius("integer", dimension=answered.sums.merged_cells) is None
        reach = answered.cells.bounding.l1(answered.cells.numbers)
        replaced = neighbours == "replace-one" and answered.sums.merged_cells > 1
        norm = certificate.sensitivity.radius("l1", dimension=certificate.dimension)
        assert norm is not None
        if answered.ways.strategy is None:
            assert norm == reach * (2 if replaced else 1)
        elif answered.sums.merged_cells == 1:
            assert norm >= reach * answered.ways.strategy.reach("l1", neighbours)


def strategy_of(claim: Certificate) -> StrategyMatrix:
    assert isinstance(claim.sensitivity, SumsOfCells)
    return claim.sensitivity.strategy


def forged(
    mechanism: Plan, strategy: StrategyMatrix, *, scale: Fraction | None = None, **changes: Any
) -> PlanCertificate:
    """The plan's certificate with another strategy; the noise is proved for its stated norm."""
    ((name, claim),) = mechanism.certificate.draws
    assert isinstance(claim, Certificate)
    moves = claim.sensitivity
    assert isinstance(moves, SumsOfCells)
    options: dict[str, Any] = {"norm": "l1", "neighbours": moves.neighbours, "max_rows": 1}
    sums = SumsOfCells.of(strategy, **options | changes)
    noise = ln.noise.Laplace(
        scale=sums.bound if scale is None else scale, dimension=len(strategy.numerators)
    )
    computed = replace(claim, sensitivity=sums, noise=noise)
    return replace(mechanism.certificate, draws=((name, computed),))


def test_any_strategy_that_determines_the_sums_may_be_released_and_no_other() -> None:
    layout = laid_of(RUNNING)
    mechanism = plan(layout)
    ((_, claim),) = mechanism.certificate.draws
    assert isinstance(claim, Certificate)
    result = strategy_of(claim)
    cells = StrategyMatrix.within(np.eye(30))
    other = forged(mechanism, cells)
    other.verify()
    stds = answered_in(plan_as_certified(layout, other)).stds
    assert stds == pytest.approx(np.sqrt(2 * np.arange(1, 31)), rel=1e-5)
    few = StrategyMatrix(numerators=cells.numerators[:29])
    with pytest.raises(CertificateRejected, match="don't determine all sums"):
        plan_as_certified(layout, forged(mechanism, few))
    wide = StrategyMatrix.within(np.eye(31))
    narrow = StrategyMatrix.within(np.eye(29))
    for strategy in (wide, narrow):
        with pytest.raises(CertificateRejected, match="sensitivity doesn't follow"):
            plan_as_certified(layout, forged(mechanism, strategy))
    for changes in ({"max_rows": 2}, {"neighbours": "replace-one"}):
        with pytest.raises(CertificateRejected, match="sensitivity doesn't follow"):
            plan_as_certified(layout, forged(mechanism, result, **changes))


@pytest.mark.parametrize("rows", [1, 2])
def test_a_strategy_for_fewer_rows_than_the_spec_allows_is_rejected(rows: int) -> None:
    mechanism = plan(laid_of(RUNNING, rows=rows))
    for other in {1, 2, 3} - {rows}:
        layout = laid_of(RUNNING, rows=other)
        with pytest.raises(CertificateRejected, match="sensitivity doesn't follow"):
            plan_as_certified(layout, mechanism.certificate)


def edits(record: Any) -> list[tuple[str, Any]]:
    """Edits of a record, one at a time: a field of the certificate, or a number of its strategy."""
    claim = record["draws"][0]["certificate"]
    rows = claim["sensitivity"]["rows"]
    first = rows[0].split(" ")
    changed = " ".join([str(int(first[0]) + 1), *first[1:]])
    more = " ".join([*first, "1"])
    values: list[tuple[str, Any]] = [
        ("epsilon", "0.9"),
        ("epsilon", "1.1"),
        ("delta", "1e-9"),
        ("dimension", len(rows) + 1),
        ("compositions", 2),
        ("sampling_rate", "0.5"),
        ("grid", None),
        ("delta_interval", ["0x1.0p+0", "0x1.0p+0"]),
        ("kind", "keys"),
        ("version", 2),
        ("noise", {"name": "laplace", "parameters": {"scale": "0x1.fffffe0000000p-2"}}),
        ("noise", {"name": "laplace", "parameters": {"scale": "0x1.0000000000000p+1"}}),
        ("noise", {"name": "gaussian", "parameters": claim["noise"]["parameters"]}),
        ("sensitivity", {"kind": "l1", "bound": "1"}),
        ("sensitivity", claim["sensitivity"] | {"rows": rows[:-1]}),
        ("sensitivity", claim["sensitivity"] | {"rows": [*rows, rows[0]]}),
        ("sensitivity", claim["sensitivity"] | {"rows": [changed, *rows[1:]]}),
        ("sensitivity", claim["sensitivity"] | {"rows": [more, *rows[1:]]}),
        ("sensitivity", claim["sensitivity"] | {"norm": "l2"}),
        ("sensitivity", claim["sensitivity"] | {"max_rows": 2}),
        ("sensitivity", claim["sensitivity"] | {"neighbours": "replace-one"}),
        ("geometry", {"kind": "cells", "count": len(rows)}),
    ]
    return values


@pytest.mark.dense
def test_every_edit_of_the_certificate_is_rejected_or_changes_the_plan() -> None:
    layout = laid_of(RUNNING, days=30)
    mechanism = plan(layout)
    text = mechanism.certificate.to_json()
    wanted = mechanism.to_record()
    for field, value in edits(json.loads(text)):
        record = json.loads(text)
        assert record["draws"][0]["certificate"][field] != value, field
        record["draws"][0]["certificate"][field] = value
        try:
            read = PlanCertificate.from_json(json.dumps(record))
            again = plan_as_certified(layout, read)
            read.verify()
        except (CertificateRejected, ln.errors.InvalidArgument):
            continue
        assert again.to_record() != wanted, field  # more noise than is needed is no lie


@pytest.mark.dense
def test_beside_other_queries_it_has_its_share() -> None:
    layout = laid_of(RUNNING, days=30)
    raw = spec_file.to_dict(layout.spec)
    plain = {"name": "plain", "statistics": ["count"], "group_by": {"day": {"edges": [0, 9]}}}
    raw["query"] = [plain, raw["query"][0] | {"importance": 3}]
    mechanism = plan(spec_file.lay_out(raw))
    alone = answered_in(plan(layout))
    beside = mechanism.answered[1]
    assert isinstance(beside, AnsweredSums)
    assert beside.budget.epsilon == Fraction(3, 4)
    assert beside.stds == pytest.approx(alone.stds * 4 / 3, rel=1e-6)
    mechanism.certificate.verify()


@pytest.mark.dense
def test_the_least_epsilon_for_an_accuracy() -> None:
    accuracy = {"half_width_95": 40}
    layout = laid_of(TABLES, privacy={"epsilon": "least"}, accuracy=accuracy)
    _, result = find_plan(layout)
    half = answered_in(result).error.half95
    assert 0.8 * 40 <= half <= 40


def test_other_sums_of_the_same_names_are_another_table() -> None:
    item, other = (laid_of(lines) for lines in (["a,0,9,"], ["a,0,10,"]))
    layouts = [plan(layout).parts[0].layouts[0].axes for layout in (item, other)]
    assert layouts[0] != layouts[1]
    with pytest.raises(CertificateRejected):
        plan_as_certified(laid_of(RUNNING), plan(item).certificate)


def test_what_is_said_of_it() -> None:
    built = plan(laid_of(GROUPS))
    text = str(built)
    assert "In q, geometric noise is added to 2 cells." in text
    assert "no additive noise has a root mean square below" in text
    for part, spec in itertools.product(built.parts, [built.spec]):
        (listing,) = part.listings(spec)
        assert "q: 4 sums, computed after noise is added to 2 cells, for" in listing.title


@pytest.mark.parametrize("seed", range(60))
def test_honest_sums_of_unlike_weights_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells, sums = rng.integers(2, 9), rng.integers(2, 14)
    queries = 10.0 ** rng.integers(-9, 10, (sums, cells)) * rng.choice([-1, 0, 0, 1], (sums, cells))
    queries[:cells][np.eye(cells, dtype=bool)[:sums]] = 1e-9
    kept = np.abs(queries).max(axis=1) > 0
    queries = queries[kept][:, np.abs(queries[kept]).max(axis=0) > 0]
    grid = 2.0**-20
    noisy = rng.random(queries.shape[1]) * 10.0 ** rng.integers(0, 12, queries.shape[1])
    noisy = np.rint(noisy / grid) * grid
    answers = LeastSquares(queries=queries, strategy=None).answer(noisy, Fraction(grid))
    assert answer.agree(queries, answers, grid=grid)


def test_a_small_sum_that_is_changed_does_not_agree() -> None:
    queries = np.array([[1e9, 0.0], [0.0, 1e-9], [1e9, 1e-9], [0.0, 2e-9]])
    for weighted in (queries, queries[:, ::-1]):
        answers = weighted @ np.array([100.0, 300.0])
        assert answer.agree(weighted, answers, grid=0.0)
        for index in range(4):
            changed = answers * np.where(np.arange(4) == index, 1.001, 1)
            assert not answer.agree(weighted, changed, grid=0.0)


@pytest.mark.parametrize("by", [1.0, -0.25])
def test_a_small_part_of_a_large_sum_is_checked(by: float) -> None:
    """The second cell is 10^−9 of the first sum, and its own sum is changed."""
    queries = np.array([[1e9, 1.0], [1.0, 0.0], [0.0, 1.0]])
    answers = queries @ np.array([1000.0, 7.0])
    assert answer.agree(queries, answers, grid=2.0**-20)
    assert not answer.agree(queries, answers + np.array([0, 0, by]), grid=2.0**-20)


def test_a_strategy_that_misses_a_sum_of_small_weights_is_rejected() -> None:
    queries = np.array([[1e9, 0.0], [0.0, 1.0]])
    missed = LeastSquares(
        queries=queries, strategy=StrategyMatrix.within(np.array([[1.0, 2.0**-23]]))
    )
    with pytest.raises(CertificateRejected, match="don't determine all sums"):
        answer.check_determined(missed, where="q")
    all_of_it = LeastSquares(queries=queries, strategy=StrategyMatrix.within(np.eye(2)))
    answer.check_determined(all_of_it, where="q")


@pytest.mark.dense
@pytest.mark.parametrize("epsilon", ["0.1", "1", "4", "12"])
def test_half_widths_of_many_unlike_geometric_weights_hold(
    epsilon: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = [f"{index},{index},{index + 1},{3**index}" for index in range(6)]
    lines = [*weights[:2], *(f"all{line[1:]}" for line in weights)]
    tries = (Attempt(where="cells", strategy=None, family="geometric"),)
    monkeypatch.setattr(search, "_list_tries", lambda *_, **__: tries)
    layout = laid_of(lines, privacy={"epsilon": epsilon})
    mechanism = plan(layout)
    exact = answered_in(mechanism)
    assert exact.certificate.noise.name == "geometric"
    monkeypatch.setattr(errors, "_MOST_UNLIKE", 0)
    monkeypatch.setattr(errors, "_MOST_OF_WIDE", 0)
    bound = answered_in(plan_as_certified(layout, mechanism.certificate))
    decay = float(epsilon)
    drawn = np.random.default_rng(3).geometric(-np.expm1(-decay), (2, 200_000, 6))
    noise = (drawn[0] - drawn[1]) @ exact.ways.of_noise.T
    widths = bound.error.rows
    assert widths is not None
    inside = (np.abs(noise) <= np.array(widths.half95) * (1 + 1e-9)).mean(axis=0)
    assert inside.min() > 0.95 - 0.003
    assert exact.error.rows is not None
    if decay <= 1:
        ratios = np.array(widths.half95) / exact.error.rows.half95
        assert 1 <= ratios.min() <= ratios.max() < 1.4


def test_noise_whose_errors_take_too_long_is_neither_searched_nor_accepted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layout = laid_of(["a,0,9,2", "b,9,16,3", "c,16,,5"])
    mechanism = plan(layout)
    assert answered_in(mechanism).certificate.noise.name == "geometric"
    monkeypatch.setattr(errors, "_MOST_UNLIKE", 0)
    monkeypatch.setattr(errors, "_MOST_OF_WIDE", 0)
    monkeypatch.setattr(errors, "_has_bound", lambda _: False)
    with pytest.raises(CertificateRejected, match="aren't known"):
        plan_as_certified(layout, mechanism.certificate)
    assert answered_in(plan(layout)).certificate.noise.name == "laplace"


def test_limits_are_said_of_cells_and_sums() -> None:
    (limit,) = limits_of_persons(plan(laid_of(GROUPS, rows=1)).parts[0].layouts, "person")
    assert limit == "Each person is counted in at most one cell, and in every sum that contains it."
    raw = spec_file.to_dict(laid_of(RUNNING, rows=3).spec)
    raw["contribution"] = {"max_groups": 2, "max_rows_per_group": 1}
    text = limits_of_persons(plan(spec_file.lay_out(raw)).parts[0].layouts, "person")
    assert text[1:] == ["Counts may be far too low in the cells that q adds up."]


@pytest.mark.parametrize(
    ("lines", "days", "low"),
    [(["one,0,1,", "two,1,2,", "both,,,"], 2, False), (["all,,,", "first,0,1,"], 3, True)],
)
def test_cells_are_too_low_if_a_person_may_be_in_more_of_these(
    lines: list[str], days: int, *, low: bool
) -> None:
    """A person is in two cells at most; the number of sums doesn't matter."""
    raw = spec_file.to_dict(laid_of(lines, days=days, rows=3).spec)
    raw["contribution"] = {"max_groups": 2, "max_rows_per_group": 1}
    (layout,) = plan(spec_file.lay_out(raw)).parts[0].layouts
    assert layout.leaves_out == low
