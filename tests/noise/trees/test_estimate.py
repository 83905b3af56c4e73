"""Estimates by numpy's FFT in floats, against the laws with proved errors."""

from __future__ import annotations

from fractions import Fraction

import pytest

from leastnoise.noise.trees.estimate import estimate_acceptance, estimate_variances
from leastnoise.noise.trees.fit import scale_to_search, search_shares
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.levels import cell_laws, find_window, node_laws, rates_of, solve
from leastnoise.noise.trees.prefixes import least_moments_work, moments_work

TREES = (
    Agreeing(scale=1, branches=(4,), shares=("0.3", "0.7")),
    Agreeing(scale=2, branches=(3, 5), shares=("0.1", "0.3", "0.6")),
    Agreeing(scale=1, branches=(6, 1, 4), shares=("0", "0.2", "0", "0.8")),
    Agreeing(scale="0.1", branches=(3, 3, 3), shares=("0.1", "0.2", "0.3", "0.4")),
    Agreeing(scale=1, branches=(3, 4, 2, 4), shares=("0.1", "0.3", "0.6")),
    Agreeing(scale=1, branches=(3, 2, 1, 2, 3, 1, 3, 1, 4), shares=("0", "0.2", "0.2", "0.6")),
)


@pytest.mark.parametrize("law", TREES, ids=lambda law: str(law.branches))
@pytest.mark.parametrize("proved", [True, False])
def test_variances_are_those_of_the_laws(law: Agreeing, *, proved: bool) -> None:
    window = find_window(law.branches, rates_of(law), proved=proved)
    variances = estimate_variances(law.branches, rates_of(law), window=window)
    exact = [[item.variance for item in law] for law in node_laws(law)]
    assert list(map(len, variances)) == list(map(len, exact))
    for computed, wanted in zip(variances, exact, strict=True):
        assert computed == pytest.approx(wanted, rel=1e-9 if proved else 1e-5)


@pytest.mark.parametrize("law", TREES, ids=lambda law: str(law.branches))
def test_what_nodes_keep_is_that_of_the_laws(law: Agreeing) -> None:
    result, exact = (of(law.branches, rates_of(law)) for of in (estimate_acceptance, solve))
    assert list(map(len, result)) == list(map(len, exact.acceptance))
    for computed, wanted in zip(result, exact.acceptance, strict=True):
        assert computed == pytest.approx(wanted, rel=1e-9)


def test_cells_below_a_root_without_a_share_are_a_tree_by_themselves() -> None:
    law = Agreeing(scale=1, branches=(5, 1, 3, 2), shares=("0", "0", "0.2", "0.1", "0.7"))
    (result,), (exact,) = cell_laws(law), node_laws(law)[-1]
    assert (result.level, result.nodes, result.share) == (exact.level, exact.nodes, exact.share)
    assert result.variance == pytest.approx(exact.variance, rel=1e-12)
    assert result.covariance == pytest.approx(exact.covariance, rel=1e-9)
    assert result.half_width(0.99) == exact.half_width(0.99)
    assert law.variances == pytest.approx([exact.variance] * 30, rel=1e-12)


@pytest.mark.parametrize("scale", ["0.1", "1", "7"])
@pytest.mark.parametrize(
    ("branches", "shares"),
    [
        ((30,), ("0", "1")),
        ((30,), ("0.9", "0.1")),
        ((12, 12), ("0", "0", "1")),
        ((12, 12), ("0.1", "0.3", "0.6")),
        ((12, 12), ("0.5", "0.45", "0.05")),
        ((5, 5, 5), ("0.1", "0.2", "0.3", "0.4")),
        ((2, 2, 2, 2, 2), ("0", "0", "0.4", "0.3", "0.2", "0.1")),
    ],
)
def test_no_shares_take_less_work_than_the_least(
    branches: tuple[int, ...], shares: tuple[str, ...], scale: str
) -> None:
    noise = Agreeing(scale=scale, branches=branches, shares=shares)
    least = least_moments_work(branches, noise.scale)
    assert least <= moments_work(noise)
    if shares[-1] == "1" and len(branches) == 1:  # most of the work is for the cells
        assert moments_work(noise) <= 4 * least


@pytest.mark.parametrize("scale", ["0.2", "0.31", "0.77", "1.37"])
@pytest.mark.parametrize("cells", [3, 40])
def test_shares_of_a_scale_nearby_are_as_good(cells: int, scale: str) -> None:
    """Against all shares of two levels near the ones found: farther off may be a better optimum."""

    def mean(share: Fraction) -> float:
        rates = tuple(float(candidate / Fraction(scale)) for candidate in (share, 1 - share))
        window = find_window((cells,), rates)
        (root,), (cell,) = estimate_variances((cells,), rates, window=window)
        return (root * cell) ** 0.25  # the geometric mean of both standard deviations

    shares = search_shares((cells,), scale, lambda computed: computed[0] * computed[1])
    near = [shares[0] + Fraction(units, 1000) for units in range(-50, 51, 2)]
    best = min(mean(candidate) for candidate in near if 0 <= candidate < 1)
    assert mean(shares[0]) <= 1.001 * best


def test_few_scales_are_searched_and_each_is_near() -> None:
    assert [scale_to_search(item) for item in ("0.5", 1, 2, 3, 1000)] == [
        Fraction(1, 2),
        1,
        2,
        2,
        2,
    ]
    assert scale_to_search("0.25") == Fraction(1, 4)
    assert scale_to_search("0.31") == Fraction(0.31)
    asked = [Fraction(index, 1000) for index in range(500, 2000)]
    results = [scale_to_search(item) for item in asked]
    assert len(set(results)) < 70
    assert max(abs(b / a - 1) for a, b in zip(asked, results, strict=True)) < Fraction(12, 1000)
    assert results == sorted(results)
