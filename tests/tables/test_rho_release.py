"""Budgets in ρ: all noise is Gaussian, its ρ adds up exactly, and ε follows at the stated δ."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import norm

import leastnoise as ln
from leastnoise.accounting.proof.composed import gaussian_square
from leastnoise.accounting.zcdp import budget_of_rho
from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.plan import COMPOSED, PlanCertificate
from leastnoise.errors import CertificateRejected, InvalidArgument, NotCertified, Refused, SpecError
from leastnoise.ledger.filters import Cost
from leastnoise.report.page import report
from leastnoise.tables.answers.base import Offer
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.total_rho import scale_to_rho
from leastnoise.tables.publish.difference import subtract_releases
from leastnoise.tables.publish.fit_plans import fit_plans
from leastnoise.tables.publish.release import Release

RHO, DELTA = Fraction(1, 10), Fraction(1, 10**6)
CELLS = {
    "name": "cells",
    "statistics": ["count"],
    "importance": 3,
    "group_by": {"region": ["n", "s"], "sex": ["f", "m"]},
    "margins": True,
}
MEANS = {
    "name": "means",
    "statistics": ["count", "mean(income)"],
    "group_by": {"region": ["n", "s"]},
}


def spec_of(query: list[dict[str, Any]] | None = None, **given: Any) -> dict[str, Any]:
    types = {"who": "int", "region": "text", "sex": "text", "income": "float", "week": "int"}
    return {
        "version": 1,
        "data": {"source": "rows.csv", "types": types},
        "privacy": {"unit": "who", "rho": "0.1", "delta": "1e-6"} | given.pop("privacy", {}),
        "contribution": {"max_rows": 1},
        "columns": {"income": {"bounds": [0, 1000]}},
        "query": query or [MEANS, CELLS],
        "output": {"path": "out", "format": "csv"},
    } | given


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = "".join(f"{n},{'ns'[n % 2]},{'fm'[n % 3 % 2]},{n % 1000},1\n" for n in range(2000))
    (tmp_path / "rows.csv").write_text(f"who,region,sex,income,week\n{rows}")
    return tmp_path


def draws_of(certificate: PlanCertificate) -> list[Certificate]:
    return [draw for _, draw in certificate.draws if isinstance(draw, Certificate)]


def plan_of(folder: Path, **given: Any) -> PlanCertificate:
    return Release(**spec_of(**given), folder=folder).plan().certificate


def rho_of(certificate: PlanCertificate) -> Fraction:
    return gaussian_square([draw.releases for draw in draws_of(certificate)], inner=False) / 2


@pytest.mark.grid
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"privacy": {"neighbours": "replace-one"}},
        {"query": [CELLS | {"margins": [["region", "sex"]]}]},
        {"query": [MEANS | {"clipping": "0.1"}]},
        {"contribution": {"max_rows": 7, "max_groups": 2}, "query": [MEANS]},
    ],
    ids=["two queries", "replaced", "one table", "clipping", "several rows"],
)
def test_rho_adds_up_exactly(folder: Path, given: dict[str, Any]) -> None:
    certificate = plan_of(folder, **given)
    assert {draw.noise.name for draw in draws_of(certificate)} == {"gaussian"}
    assert (certificate.rho, certificate.rule) == (RHO, COMPOSED)
    assert RHO * (1 - Fraction(1, 10**14)) <= rho_of(certificate) <= RHO
    assert certificate.budget == budget_of_rho(RHO, DELTA)
    proved = certificate.verify()
    assert 0.999 * DELTA < proved.lower <= proved.upper <= DELTA


def test_importances_divide_rho(folder: Path) -> None:
    query = [MEANS | {"name": name, "importance": weight} for name, weight in (("a", 1), ("b", 4))]
    a, b = draws_of(plan_of(folder, query=query))
    assert b.noise.scale / a.noise.scale == pytest.approx(0.5, rel=1e-12)
    shift = a.noise.worst_shift(a.shifts.outer)
    assert float(shift**2 / (2 * a.noise.scale**2)) == pytest.approx(0.1 / 5, rel=1e-12)


def divergence(shift: float, sigma: float, order: float, grid: float | None) -> float:
    """The Rényi divergence D_α of noise and shifted noise, by sums over a grid or quadrature."""
    if grid is None:
        log_p, log_q = norm(0, sigma).logpdf, norm(shift, sigma).logpdf

        def density(x: float) -> float:
            return math.exp(order * log_p(x) + (1 - order) * log_q(x))

        # the integrand is a normal density around (1 − α)·shift
        centre = (1 - order) * shift
        total, _ = quad(density, centre - 40 * sigma, centre + 40 * sigma, points=[centre])
        return math.log(total) / (order - 1)
    edges = np.arange(-40, 41) * grid + grid / 2
    logs = [_log_masses((edges - mean) / sigma) for mean in (0.0, shift)]
    return float(logsumexp(order * logs[0] + (1 - order) * logs[1])) / (order - 1)


def _log_masses(edges: np.ndarray) -> np.ndarray:
    """Ln of the standard normal mass between edges; on the right by symmetry, for its digits."""
    mirrored = edges[:-1] + edges[1:] > 0
    low = norm.logcdf(np.where(mirrored, -edges[1:], edges[:-1]))
    high = norm.logcdf(np.where(mirrored, -edges[:-1], edges[1:]))
    return high + np.log1p(-np.exp(low - high))


@pytest.mark.grid
@pytest.mark.parametrize("order", [1.01, 1.5, 2.0, 4.0])
def test_renyi_divergences_are_those_of_rho(folder: Path, order: float) -> None:
    """Numerical integration says so, and sums over a coarse grid to which noise is rounded."""
    exact, rounded = 0.0, 0.0
    for draw in draws_of(plan_of(folder)):
        shift, sigma = float(draw.noise.worst_shift(draw.shifts.outer)), float(draw.noise.scale)
        exact += divergence(shift, sigma, order, None)
        rounded += divergence(shift, sigma, order, sigma / 2)
    assert exact == pytest.approx(order * 0.1, rel=1e-6)
    assert rounded <= order * 0.1


@pytest.mark.parametrize("rho", ["0.001", "0.1", "2"])
def test_epsilon_is_the_least_at_delta(rho: str) -> None:
    budget = budget_of_rho(Fraction(rho), DELTA)
    mu = math.sqrt(2 * float(rho))

    def delta(epsilon: float) -> float:
        """δ(ε) = ∫ (p − e^ε q)₊ of the densities of N(μ, 1) and N(0, 1)."""
        first = epsilon / mu + mu / 2
        gain = quad(
            lambda x: -norm.pdf(x - mu) * math.expm1(epsilon - mu * (x - mu / 2)), first, first + 30
        )
        return gain[0]

    assert delta(float(budget.epsilon)) <= 1e-6 < delta(float(budget.epsilon) * (1 - 1e-5))


@pytest.mark.parametrize(
    ("query", "given", "why"),
    [
        ({"statistics": ["median(income)"]}, {}, "quantiles are chosen"),
        ({"group_by": {"region": {"keys": "private"}}}, {}, "nobody listed"),
        (
            {"statistics": [], "group_by": {"region": {"keys": "private"}}},
            {},
            "nobody listed",
        ),
        (
            {
                "statistics": [],
                "histogram": {"column": "income", "edges": [0, 5, 9], "cumulative": True},
            },
            {},
            "isn't Gaussian",
        ),
        (
            {"group_by": {"sex": {"keys": ["f", "m"], "levels": {"all": ["x", "x"]}}}},
            {},
            "isn't Gaussian",
        ),
        (
            {
                "sums": "sum,region,weight\nx,n,1\nx,s,1\ny,n,1\n",
                "group_by": {"region": ["n", "s"]},
            },
            {},
            "isn't Gaussian",
        ),
        (
            {"statistics": ["mean(income)"]},
            {
                "columns": {
                    "income": {"bounds": {"find": True, "share": "0.1", "candidates": [0, 5, 10]}}
                }
            },
            "quantiles are chosen",
        ),
        (
            {},
            {
                "privacy": {"unit": "row", "ledger": {"path": "v.ledger"}},
                "contribution": None,
                "series": {"releases": 4, "each": "row", "report": "week", "totals": True},
            },
            "isn't Gaussian",
        ),
    ],
)
def test_noise_without_a_rho_is_refused_with_the_reason(
    query: dict[str, Any], given: dict[str, Any], why: str
) -> None:
    asked = {"name": "a", "statistics": ["count"]} | query
    income = {"income": {"bounds": [0, 10], "candidates": [0, 5, 10]}}
    with pytest.raises(SpecError, match=r"Not possible with privacy\.rho") as error:
        spec_file.parse(spec_of([asked], **({"columns": income} | given)))
    assert why in str(error.value)
    privacy = {"rho": None, "epsilon": "1"} | given.get("privacy", {})
    privacy |= {"delta": None} if "series" in given else {}
    spec_file.parse(spec_of([asked], **({"columns": income} | given | {"privacy": privacy})))


@pytest.mark.parametrize(
    ("privacy", "key", "why"),
    [
        ({"delta": None}, "privacy.delta", "states epsilon"),
        ({"epsilon": "1"}, "privacy.epsilon", "Not used with rho"),
        ({"rho": "0"}, "privacy.rho", "Expected 0 < rho"),
        ({"rho": 1e5}, "privacy.rho", "Expected 0 < rho"),
        ({"rho": True}, "privacy.rho", "rho"),
        ({"rho": "1e-14"}, "privacy.rho", "no epsilon above 0"),
        ({"rho": None}, "privacy.epsilon", "Missing"),
    ],
)
def test_bad_budgets_name_the_key(privacy: dict[str, Any], key: str, why: str) -> None:
    with pytest.raises(SpecError) as error:
        spec_file.parse(spec_of([MEANS], privacy=privacy))
    (problem,) = error.value.problems
    assert problem[0] == key
    assert why in problem[1]


def test_a_spec_is_written_without_the_epsilon_that_follows() -> None:
    spec = spec_file.parse(spec_of())
    text = spec_file.dumps(spec)
    assert 'rho = "0.1"' in text
    assert "epsilon" not in text
    assert spec_file.loads(text) == spec


@pytest.mark.dense
def test_a_release_says_rho_and_the_epsilon(folder: Path) -> None:
    release = Release(**spec_of(), folder=folder)
    released = release.run()
    both = "0.1-zCDP, which is (1.995, 1e-6)-DP"
    verified = ln.verify_directory(folder / "out")
    for text in (repr(release), repr(release.plan()), repr(released), repr(verified)):
        assert both in text
    page = report(folder / "out")
    assert "zCDP with ρ = 0.1" in page
    assert "1.99453" in page
    plan = json.loads((folder / "out/plan.json").read_text())
    assert (plan["rho"], plan["epsilon"]) == ("0.1", "1.99453")
    shutil.move(folder / "out", folder / "before")
    release.run()
    change = subtract_releases(folder / "before", folder / "out")
    assert change.tables["cells"].columns.keys() >= {"count"}


def edited(certificate: PlanCertificate, **fields: Any) -> PlanCertificate:
    record = json.loads(certificate.to_json()) | fields
    return PlanCertificate.from_record(record)


def test_a_false_rho_is_rejected(folder: Path) -> None:
    certificate = Release(**spec_of(), folder=folder).plan().certificate
    assert edited(certificate).verify() == certificate.verify()
    with pytest.raises(CertificateRejected, match=r"rho=0\.09999"):
        edited(certificate, rho="0.0999").verify()
    mechanism = ln.calibrate("laplace", epsilon="0.1", delta=0, sensitivity=ln.L1(1))
    draws = (*certificate.draws, ("pure", mechanism.certificate))
    pure = replace(certificate, draws=draws, budget=ln.Budget(epsilon=9, delta=DELTA), rho=9)
    with pytest.raises(CertificateRejected, match="Only Gaussian noise"):
        pure.verify()
    with pytest.raises(NotCertified, match="Only Gaussian noise"):
        PlanCertificate.prove(budget=pure.budget, draws=draws, rho=Fraction(9))
    Release(**spec_of(), folder=folder).run()
    path = folder / "out/certificate.json"
    path.write_text(edited(certificate, rho="0.2").to_json())
    with pytest.raises(CertificateRejected):
        ln.verify_directory(folder / "out")


def test_other_noise_is_never_taken_for_gaussian() -> None:
    mechanism = ln.calibrate("laplace", epsilon="1", delta="1e-6", sensitivity=ln.L1(1))
    offer = Offer(index=0, claims=(("counts", mechanism.certificate),))
    with pytest.raises(Refused, match="counts isn't Gaussian"):
        scale_to_rho([offer], RHO, "add-remove")


@pytest.mark.dense
def test_a_ledger_in_epsilon_and_delta_is_charged_for_both(folder: Path) -> None:
    """Sums use the (ε, δ) that follows from ρ; the filter zcdp uses ρ itself."""
    ledger = ln.Ledger(folder / "v.ledger")
    budget = ln.Budget(epsilon=3, delta="1e-5")
    for rule, fitting in (("sums", 1), ("zcdp", 1)):
        ledger.open_account(rule, unit="who", budget=budget, rule=rule)
        given = {"privacy": {"ledger": {"path": "v.ledger", "dataset": rule}}}
        release = Release(**spec_of(**given), folder=folder)
        released = release.run()
        cost = Cost.of(released.certificate)
        assert (cost.epsilon, cost.delta, cost.leak) == (Fraction("1.99453"), DELTA, 0)
        assert float(cost.rho) == pytest.approx(0.1, rel=1e-12)
        account = ledger.accounts()[rule]
        assert (account.charges, account.rule) == (fitting, rule)
        assert account.spent.rho == cost.rho
        shutil.rmtree(folder / "out")


@pytest.mark.dense
def test_a_series_spends_rho_once(folder: Path) -> None:
    ln.Ledger(folder / "v.ledger").open_account(
        "visits", unit="who", budget=ln.Budget(epsilon=2, delta="1e-6")
    )
    given = {"privacy": {"ledger": {"path": "v.ledger"}}, "series": {"releases": 52}}
    release = Release(**spec_of(**given), folder=folder)
    certificate = release.plan().certificate
    alone = plan_of(folder)
    assert rho_of(certificate) == pytest.approx(RHO, rel=1e-14)
    pairs = zip(draws_of(certificate), draws_of(alone), strict=True)
    for draw, once in pairs:
        assert float(draw.noise.scale / once.noise.scale) == pytest.approx(52**0.5, rel=1e-9)
    assert release.run().release_number == 1
    assert release.run().release_number == 2


def test_plans_in_rho_are_not_scaled_in_epsilon(folder: Path) -> None:
    release = Release(**spec_of(), folder=folder)
    with pytest.raises(InvalidArgument, match="a rho can't be scaled"):
        fit_plans([(release, 2)], budget=ln.Budget(epsilon=3, delta="1e-5"))


def test_python_takes_rho() -> None:
    frame = pl.DataFrame({"region": ["n", "s", "s"] * 50})
    builder = ln.release(frame, unit="row", rho="0.1", delta="1e-6")
    plan = builder.count(by="region", keys={"region": ["n", "s"]}).plan()
    assert plan.certificate.rho == RHO
    with pytest.raises(SpecError, match="Missing"):
        ln.release(frame, unit="row", delta="1e-6")
