"""Noise for linear questions about public cells: figures, drawn variances, refusals."""

from __future__ import annotations

import pickle
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.errors import CertificateRejected, InvalidArgument
from leastnoise.guarantees.sensitivity import NEIGHBOURS, Neighbours
from leastnoise.guarantees.strategy import StrategyMatrix
from leastnoise.mechanism.rounding import add_noise
from leastnoise.selection.workload import WorkloadNoise, workload
from tests.workloads.test_matrix_search import WORKLOADS

RANDOM = np.random.default_rng(11)
SUMS, GAUSSIAN, ANSWERS = "sums, laplace", "sums, gaussian", "answers, laplace"


@cache
def find_case(name: str, delta: str = "0", **options: Any) -> WorkloadNoise:
    return workload(WORKLOADS[name], epsilon=1, delta=delta, **options)


def drawn_errors(one: WorkloadNoise, *, times: int) -> Any:
    """Errors of seeded releases, shape (times, questions), drawn as `release` draws."""
    counts = [Fraction(int(n)) for n in RANDOM.integers(0, 10**6, one.queries.shape[1])]
    sums = np.array(counts if one.strategy is None else one.strategy.image(counts))
    truth = one.queries @ np.array(counts, dtype=float)
    entropy, noise, grid = InsecureSeededEntropy(5), one.mechanism.noise, one.mechanism.grid
    geometry = one.certificate.geometry
    noisy = (add_noise(noise, grid, sums, geometry=geometry, entropy=entropy) for _ in range(times))
    return np.array([one.least_squares.answer(one_draw, grid) - truth for one_draw in noisy])


@pytest.mark.dense
def test_figures_of_cumulative_counts() -> None:
    """The table of theory/workloads.md §2."""
    noise = workload(np.tri(100), epsilon=1, delta="1e-8")
    assert noise.rms_by_strategy["cells"] == pytest.approx(9.64, abs=0.01)
    assert noise.rms_by_strategy[GAUSSIAN] == pytest.approx(11.40, abs=0.01)
    assert 5.9 < noise.rms_by_strategy[SUMS] < 5.98
    assert noise.rms == min(noise.rms_by_strategy.values())
    assert noise.bound == pytest.approx(3.0335, abs=1e-4)
    wide = workload(np.tri(100), epsilon="0.1", delta="1e-3")
    assert wide.mechanism.noise.name == "gaussian"
    noise.verify()


@pytest.mark.dense
@pytest.mark.parametrize("delta", ["0", "1e-6"])
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("name", WORKLOADS)
def test_nothing_is_lost_to_noise_in_the_cells_and_the_bound_is_below_all(
    name: str, neighbours: Neighbours, delta: str
) -> None:
    noise = find_case(name, delta, neighbours=neighbours)
    assert noise.rms <= noise.rms_by_strategy["cells"] * (1 + 1e-12)
    assert noise.rms <= min(noise.rms_by_strategy.values()) * (1 + 2e-6)
    assert 0 < noise.bound <= min(noise.rms_by_strategy.values()) * (1 + 1e-12)
    assert (GAUSSIAN in noise.rms_by_strategy) is (delta != "0")
    assert noise.certificate.neighbours == neighbours
    ln.Certificate.from_json(noise.certificate.to_json()).verify()


@pytest.mark.grid
@pytest.mark.parametrize("name", WORKLOADS)
def test_nothing_is_lost_to_noise_in_the_answers(name: str) -> None:
    """Laplace noise of the longest column's l1 norm in each answer, the naive way."""
    noise, queries = find_case(name), WORKLOADS[name]
    naive = np.sqrt(2) * np.abs(queries).sum(axis=0).max()
    assert noise.rms <= naive * (1 + 1e-9)
    assert (ANSWERS in noise.rms_by_strategy) is (name != "weights")
    if ANSWERS in noise.rms_by_strategy:
        assert noise.rms_by_strategy[ANSWERS] <= naive * (1 + 1e-9)
        if np.linalg.matrix_rank(queries) == len(queries):  # nothing to average
            assert noise.rms_by_strategy[ANSWERS] == pytest.approx(naive, rel=1e-9)


@pytest.mark.dense
def test_one_question_gets_noise_of_its_own() -> None:
    noise = find_case("one total")
    assert noise.rms == pytest.approx(np.sqrt(2), rel=1e-9)
    assert np.mean(drawn_errors(noise, times=3000) ** 2) == pytest.approx(2, rel=0.12)


@pytest.mark.dense
def test_noise_in_answers_that_depend_on_each_other_is_averaged() -> None:
    """Two totals and their sum: A has no inverse, and the third is the sum of the others."""
    queries = np.array([[1.0] * 5 + [0.0] * 5, [0.0] * 5 + [1.0] * 5, [1.0] * 10])
    noise = workload(queries, epsilon=1)
    strategy = StrategyMatrix.within(queries / 2)
    certificate = ln.Certificate.prove(
        budget=ln.Budget(epsilon=1),
        noise=ln.noise.Laplace(scale=1, dimension=3),
        sensitivity=strategy.sensitivity("l1", "add-remove", 1),
    ).about("add-remove")
    computed = replace(noise, strategy=strategy, mechanism=ln.Mechanism(certificate))
    assert computed.rms == pytest.approx(noise.rms_by_strategy[ANSWERS], rel=1e-9)
    assert computed.std == pytest.approx(2 * np.sqrt([4 / 3, 4 / 3, 4 / 3]), rel=1e-9)
    scores = drawn_errors(computed, times=2000) / computed.std
    assert np.mean(scores**2) == pytest.approx(1, abs=0.12)
    values = computed.release(np.arange(10)).values
    assert values[0] + values[1] == pytest.approx(values[2], abs=1e-12)


@pytest.mark.parametrize(("delta", "noise"), [("0", "geometric"), ("1e-6", "discrete-staircase")])
def test_a_histogram_gets_whole_noise_which_is_the_least(delta: str, noise: str) -> None:
    answer_noise = find_case("identity", delta)
    assert answer_noise.strategy is None
    assert answer_noise.mechanism.noise.name == noise
    assert answer_noise.rms == pytest.approx(answer_noise.bound, rel=1e-6)
    values = answer_noise.release(np.arange(12)).values
    assert np.array_equal(values, np.rint(values))


@pytest.mark.dense
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("name", ["cumulative", "identity", "one total"])
def test_the_certificate_is_about_the_worst_unit(
    name: str, neighbours: Neighbours, rows: int
) -> None:
    """Each cell, and each two, against the certificate's ball; one of them reaches it."""
    noise = find_case(name, "1e-6", neighbours=neighbours, max_rows=rows)
    cells = WORKLOADS[name].shape[1]
    matrix = np.eye(cells) if noise.strategy is None else noise.strategy.matrix
    shifts = list(matrix.T)
    if neighbours == "replace-one":
        shifts += [a - b for a in matrix.T for b in matrix.T]
    sensitivity = noise.certificate.sensitivity
    order = 2 if isinstance(sensitivity, ln.L2) else 1
    longest = rows * max(float(np.linalg.norm(shift, order)) for shift in shifts)
    if isinstance(sensitivity, ln.Linf):
        assert longest == sensitivity.bound * sensitivity.l0
    else:
        radius = sensitivity.radius("l2" if order == 2 else "l1", dimension=len(matrix))
        assert radius is not None
        assert longest == pytest.approx(float(radius), rel=1e-12)


@pytest.mark.dense
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("cumulative", {}),
        ("weights", {"delta": "1e-6"}),
        ("a cell nobody asks for", {"delta": "0.1"}),
        ("two-way tables", {"neighbours": "replace-one"}),
        ("ranges", {"neighbours": "replace-one", "max_rows": 2}),
    ],
)
def test_drawn_variances_are_those_that_are_stated(name: str, options: Any) -> None:
    """The mean of z² is 21 % off if a std is 10 % off."""
    noise = find_case(name, **options)
    scores = drawn_errors(noise, times=600) / noise.std
    assert np.mean(scores**2) == pytest.approx(1, abs=0.1)
    assert np.abs(scores.mean(axis=0)).max() < 5 / np.sqrt(600)


@pytest.mark.dense
def test_gaussian_sums_have_the_stated_variance_and_no_bias() -> None:
    noise = workload(np.tri(30), epsilon="0.1", delta="1e-3")
    assert noise.strategy is not None
    assert noise.mechanism.noise.name == "gaussian"
    counts = np.arange(30) * 10**9
    errors = np.array([noise.release(counts).values - np.cumsum(counts) for _ in range(400)])
    assert np.mean((errors / noise.std) ** 2) == pytest.approx(1, abs=0.25)


def test_answers_add_up() -> None:
    """A total of what was asked, beside it, is the sum of the answers but for their rounding."""
    parts = np.vstack([np.eye(6), np.ones((1, 6))])
    noise = workload(parts, epsilon=1)
    values = noise.release([1, 2, 3, 4, 5, 6]).values
    assert values[:6].sum() == pytest.approx(values[6], abs=1e-9)


def test_sums_without_noise_give_the_answers_back() -> None:
    """A⁺ A = I to the last step of the grid, whatever the size of the counts."""
    item = find_case("two-way tables", "0.1")
    assert item.strategy is not None
    counts = [Fraction(3**i % 10**9) for i in range(24)]
    sums = np.array([float(entry) for entry in item.strategy.image(counts)])
    grid = float(item.mechanism.grid)
    rounded = np.rint(sums / grid) * grid
    truth = WORKLOADS["two-way tables"] @ np.array(counts, dtype=float)
    assert (
        np.abs(item.least_squares.answer(rounded, item.mechanism.grid) - truth).max() < 1000 * grid
    )


@pytest.mark.dense
def test_answers_with_noise_of_their_own_are_what_was_drawn() -> None:
    noise = workload(np.ones((1, 200)), epsilon=1)
    assert noise.strategy is not None
    assert len(noise.strategy.numerators) == 1
    noisy = np.array([12345 * float(noise.mechanism.grid)])
    exact = noisy[0] / float(noise.strategy.matrix[0, 0])
    assert noise.least_squares.answer(noisy, noise.mechanism.grid)[0] == pytest.approx(
        exact, abs=float(noise.mechanism.grid) / 10
    )


@pytest.mark.parametrize(
    ("hostile", "text"),
    [
        (np.full((2, 2), np.nan), "out of range"), ([[np.inf]], "out of range"),
        ([[1e-10, 1]], "1e-09"), ([[2e9]], r"1e\+09"), ([[-2e9]], r"1e\+09"),
        (np.zeros((2, 0)), r"shape \(2, 0\)"), (np.zeros((0, 2)), r"shape \(0, 2\)"),
        (np.ones((1, 1001)), "1,000 columns"), (np.ones((10_001, 1)), "10,000 rows"),
        (np.zeros((2, 2)), "isn't 0"), ([[1, 2], [0, 0]], "isn't 0"), (np.ones(3), "shape"),
        (np.ones((2, 2, 2)), "shape"), ([["a"]], "matrix"), ([[1], [2, 3]], "matrix"),
        (None, "matrix"), (1, "shape"), (np.array([[1j]]), "complex"), (10**400, "shape"),
        (np.ma.array([[1.0]], mask=True), "masked"),
    ],
)  # fmt: skip
def test_hostile_workloads_are_refused_by_name(hostile: Any, text: str) -> None:
    with pytest.raises(InvalidArgument, match=rf"queries.*{text}|{text}.*queries"):
        workload(hostile, epsilon=1)


def test_a_list_that_holds_itself_is_refused() -> None:
    endless: list[Any] = []
    endless += [endless, endless]
    with pytest.raises(InvalidArgument, match="queries"):
        workload(endless, epsilon=1)


@pytest.mark.parametrize(
    "options",
    [{"neighbours": "both"}, {"max_rows": 0}, {"max_rows": 1.0}, {"epsilon": -1}, {"delta": 1}],
)
def test_other_arguments_are_refused_by_name(options: Any) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(options))):
        workload(np.eye(2), **{"epsilon": 1, **options})


@pytest.mark.parametrize("epsilon", ["1e-120", "1000"])
def test_noise_beyond_what_floats_hold_is_refused(epsilon: str) -> None:
    with pytest.raises(ln.errors.Refused, match=r"root mean square of .* is out of range"):
        workload(np.eye(2), epsilon=epsilon)


@pytest.mark.grid
@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_units_of_the_answers_do_not_matter(factor: float) -> None:
    noise = workload(factor * np.tri(40), epsilon=1, delta="1e-6")
    for name, rms in noise.rms_by_strategy.items():  # 1e-9 has more than 24 bits
        other = find_case("cumulative", "1e-6").rms_by_strategy[name]
        assert rms / factor == pytest.approx(other, rel=1e-3)
    assert noise.bound / factor == pytest.approx(find_case("cumulative", "1e-6").bound, rel=1e-6)


def test_values_of_another_shape_or_type_are_refused_and_no_value_is() -> None:
    noise = find_case("cumulative")
    for hostile in (np.ones(39), np.ones((1, 40)), 1.0, "x", [None] * 40, np.ones(40) * 1j):
        with pytest.raises(InvalidArgument, match="values"):
            noise.release(hostile)  # pyright: ignore[reportArgumentType]
    odd = np.array([np.nan, np.inf, -np.inf, 1e308, -5e-324, *range(35)])
    assert np.isfinite(noise.release(odd).values).all()


def test_a_strategy_that_the_certificate_is_not_about_is_rejected() -> None:
    noise = find_case("cumulative")
    assert noise.strategy is not None
    twice = np.minimum(noise.strategy.numerators * 2, 2**24)
    other = find_case("cumulative", neighbours="replace-one")
    for instead in (
        {"strategy": StrategyMatrix(numerators=twice)},
        {"strategy": None},
        {"max_rows": 2},
        {"neighbours": "replace-one"},
        {"mechanism": other.mechanism},
        {"queries": np.eye(3)},
    ):
        with pytest.raises(CertificateRejected):
            replace(noise, **instead)
    object.__setattr__(noise, "max_rows", 2)  # as somebody could who isn't careful
    with pytest.raises(CertificateRejected):
        noise.verify()
    object.__setattr__(noise, "max_rows", 1)
    noise.verify()


def test_it_is_kept_in_a_file_as_it_is() -> None:
    noise = find_case("cumulative")
    again = pickle.loads(pickle.dumps(noise))
    again.verify()
    assert np.array_equal(again.std, noise.std)
    assert again.rms_by_strategy == noise.rms_by_strategy


def test_what_it_says() -> None:
    noise = find_case("cumulative")
    assert str(noise).splitlines()[0].split() == ["noise", "in", "rms"]
    assert str(noise).splitlines()[-1].startswith("no additive noise has less than")
    assert "40 answers with rms" in repr(noise)


@pytest.mark.slow
def test_a_thousand_cells() -> None:
    """About a minute; theory/workloads.md: 30.4, 9.57, 4.00 at δ = 0."""
    noise = workload(np.tri(1000), epsilon=1)
    assert noise.rms_by_strategy["cells"] == pytest.approx(30.36, abs=0.01)
    assert noise.rms < 9.7
    assert noise.bound == pytest.approx(4.000, abs=1e-3)
    assert noise.release(np.zeros(1000)).values.shape == (1000,)
