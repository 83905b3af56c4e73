"""The tables in experiments/wei2026 are what its script computes; its page agrees."""

from __future__ import annotations

import csv
import math
import re
from fractions import Fraction

import mpmath
import pytest

import leastnoise as ln
from leastnoise.guarantees.budget import Budget
from leastnoise.noise.common import fit as common_fit
from leastnoise.noise.question import Question
from leastnoise.noise.radial.fit import generalized_gamma_search
from tests.experiments.scripts import FOLDER, numbers, script, table

RUN = script("wei2026")

# R1SMG at T = 128, σ* = 2/(εψ): δ by mpmath's radial integrals (Wei et al. 2026, Table 3, has 6
# digits of them).
R1SMG = {
    "0.1": 0.8132837955656065,
    "1": 0.983593610971436,
    "2": 0.9950198355221244,
    "8": 0.9997550779296016,
}
# mse at ε = 0.1 and the δ at which Gaussian and l2 cross, for the best (α, p): an optimiser of its
# own over radial integrals, within 1e-6 of the least.
CROSSINGS = {
    2: (0.0022860, 361.62),
    5: (0.0015126923, 1172.656373),
    10: (0.0012620856, 2636.132517),
}
# mse of a release of l2 at T = 10, k for (1, 1e-5), (tight, basic): the closed-form MGF inverted.
COMPOSED = {2: (227.0640116616, 330.9231027155), 8: (1142.330480218, 5239.96526517)}


def figure_2() -> list[dict[str, str]]:
    with (FOLDER / "wei2026" / "figure2.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("epsilon", RUN.TABLE_2)
def test_table_2_is_computed_again_and_is_the_published_one(epsilon: str) -> None:
    row = table("wei2026", "table2.csv")[epsilon]
    assert row == RUN.table_2(epsilon)
    assert float(row[2]) == pytest.approx(float(row[1]), abs=6e-7)


@pytest.mark.parametrize("epsilon", ["0.25", "4"])
def test_the_threshold_is_where_the_tangent_leaves_g(epsilon: str) -> None:
    """The definition is checked: the tangent at u is below g on [0, u] only from u* on."""
    with mpmath.workdps(30):
        e = mpmath.mpf(epsilon)

        def g(u: mpmath.mpf) -> mpmath.mpf:
            root = mpmath.sqrt(u)
            far = mpmath.ncdf(-e * root - 1 / (2 * root))
            return mpmath.ncdf(-e * root + 1 / (2 * root)) - mpmath.exp(e) * far

        delta = mpmath.mpf(table("wei2026", "table2.csv")[epsilon][2])
        u_star = mpmath.findroot(lambda u: g(u) - delta, (0.05, 2), solver="anderson")

        def is_below(u: mpmath.mpf) -> bool:
            slope = mpmath.diff(g, u)
            points = [u * k / mpmath.mpf(400) for k in range(1, 400)] + [u / 10**6]
            return all(g(x) >= g(u) + slope * (x - u) for x in points)

        assert is_below(u_star * mpmath.mpf("1.0001"))
        assert not is_below(u_star * mpmath.mpf("0.9999"))


@pytest.mark.parametrize("epsilon", ["1"])
def test_table_3_is_computed_again(epsilon: str) -> None:
    assert numbers(table("wei2026", "table3.csv")[epsilon]) == pytest.approx(
        numbers(RUN.table_3(epsilon)), rel=1e-11
    )


def test_every_row_of_table_3_encloses_the_truth_and_refutes_the_claim() -> None:
    rows = table("wei2026", "table3.csv")
    assert list(rows) == list(RUN.TABLE_3)
    for epsilon, row in rows.items():
        published, lower, upper = numbers(row)[-3:]
        assert 0.81 < lower < upper < 0.9998
        assert published == pytest.approx(lower, abs=6e-7)
        if epsilon in R1SMG:
            assert lower - 1e-12 <= R1SMG[epsilon] <= upper + 1e-12


@pytest.mark.parametrize("dimension", CROSSINGS)
def test_the_gain_where_gaussian_and_l2_cross(dimension: int) -> None:
    delta, mse = CROSSINGS[dimension]
    row = next(r for r in figure_2() if int(r["T"]) == dimension and r["bound"])
    assert float(row["delta"]) == pytest.approx(delta, rel=3e-5)  # 5 digits of it are given
    assert float(row["gaussian"]) == pytest.approx(float(row["l2"]), rel=1e-8)
    assert float(row["sgg"]) == pytest.approx(mse, rel=2e-5)
    assert float(row["bound"]) < float(row["best_mse"]) <= float(row["sgg"])


def test_one_point_of_figure_2_is_computed_again() -> None:
    row = next(r for r in figure_2() if (r["T"], r["delta"]) == ("10", "0.01"))
    mechanism = ln.calibrate(
        "generalized-gamma",
        epsilon="0.1",
        delta=row["delta"],
        sensitivity=ln.L2(1),
        dimension=10,
        parameters={"alpha": row["alpha"], "p": row["p"]},
    )
    assert mechanism.mse == pytest.approx(float(row["sgg"]), rel=1e-5)


def test_more_is_gained_beyond_where_the_paper_looks() -> None:
    for dimension in RUN.FIGURE_2_DIMENSIONS:
        rows = [r for r in figure_2() if int(r["T"]) == dimension]
        gains = {float(r["delta"]): RUN.gain(list(r.values())) for r in rows}
        crossing = next(float(r["delta"]) for r in rows if r["bound"])
        assert gains[0.1] > gains[crossing] > gains[0.01]
        assert gains[0.3] > gains[0.1]


@pytest.mark.parametrize("count", COMPOSED)
def test_figure_3_has_the_reference_scales(count: int) -> None:
    tight, basic = COMPOSED[count]
    _, l2_basic, l2_tight, *_ = numbers(table("wei2026", "figure3.csv")[str(count)])
    assert l2_basic == pytest.approx(basic, rel=1e-8)
    assert l2_tight == pytest.approx(tight, rel=1e-8)


def test_tight_composition_of_gaussians_needs_k_times_the_variance() -> None:
    rows = table("wei2026", "figure3.csv")
    single = numbers(rows["1"])[3]
    assert all(numbers(r)[3] == pytest.approx(int(k) * single, rel=3e-4) for k, r in rows.items())
    assert math.isclose(numbers(rows["1"])[1], numbers(rows["1"])[2], rel_tol=1e-8)


def test_the_best_shape_goes_from_near_l2_to_the_gaussian_and_beats_both() -> None:
    rows = [numbers(row) for row in table("wei2026", "figure3.csv").values()]
    assert all(sgg < min(l2, normal) for _, _, l2, normal, sgg, _, _ in rows)
    powers = [row[6] for row in rows]
    assert powers == sorted(powers)
    assert powers[0] < 1.2
    assert powers[-1] > 1.6


def test_every_figure_that_the_page_shows_is_there() -> None:
    page = (FOLDER / "wei2026" / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"\]\((\w+\.\w+)\)", page)
    assert len(shown) == 3
    assert all((FOLDER / "wei2026" / name).is_file() for name in shown)


# Wei, Bienstock & Polychroniadou (2026), Algorithm 6, at ε = 0.1: δ to their digits, mse as above
ADVANTAGES = (
    (2, 0.0022860, 361.62),
    (3, 0.0018572, 616.60),
    (5, 0.0015127, 1172.66),
    (10, 0.0012621, 2636.13),
)


@pytest.mark.slow
@pytest.mark.parametrize(("dimension", "delta", "mse"), ADVANTAGES)
def test_the_greatest_advantage_is_where_the_classics_cross(
    dimension: int, delta: float, mse: float
) -> None:
    result = RUN.greatest_advantage(dimension=dimension, epsilon=Fraction(1, 10))
    assert float(result.delta) == pytest.approx(delta, rel=3e-5)
    assert result.law.mse == pytest.approx(mse, rel=5e-5)
    gaussian, l2 = (
        float(scale) ** 2 * factor
        for scale, factor in (
            (common_fit.gaussian(dimension, Budget(epsilon="0.1", delta=result.delta)), dimension),
            (
                common_fit.spherical_laplace(dimension, Budget(epsilon="0.1", delta=result.delta)),
                dimension * (dimension + 1),
            ),
        )
    )
    assert gaussian == pytest.approx(l2, rel=1e-6)
    assert result.gain == pytest.approx(1 - result.law.mse / gaussian, abs=1e-9)


@pytest.mark.slow
def test_beside_the_greatest_advantage_there_is_less() -> None:
    result = RUN.greatest_advantage(dimension=2, epsilon=Fraction(1, 10))
    assert result.gain == pytest.approx(0.156, abs=5e-4)
    for factor in ("0.9", "1.1"):
        budget = Budget(epsilon="0.1", delta=result.delta * Fraction(factor))
        law = generalized_gamma_search(Question(budget=budget, dimension=2))
        gaussian = float(common_fit.gaussian(2, budget)) ** 2 * 2
        l2 = float(common_fit.spherical_laplace(2, budget)) ** 2 * 6
        assert 1 - law.mse / min(gaussian, l2) < result.gain - 1e-3
