"""The search for scales and their proofs, compared with the alternatives of users."""

from __future__ import annotations

import resource
import time
import warnings

from benchmarks.searches import COMPARED, PLANNED, compared, planned
from benchmarks.timing import median_seconds, print_rows, show
from leastnoise.certificate.certificate import Certificate
from leastnoise.design.bounds.lower_bound import LowerBound
from leastnoise.design.programs import radial_dual
from leastnoise.design.programs.effort import Effort
from leastnoise.design.programs.refine import Task, refine
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.question import Loss, Question
from leastnoise.noise.registry import family_named, part_of
from leastnoise.selection.public import calibrate

BUDGET = Budget(epsilon="1", delta="1e-5")
EXACT_SIGMA = 3.730631634815941832250  # the Gaussian's σ, by 400-bit ball arithmetic


def own_rows() -> list[tuple[str, ...]]:
    rows = []
    targets = {("gaussian", 7): "0.3 ms / 20 ms", ("l2", 7): "1 ms", ("l2", 1000): "3 ms / 1 s"}
    targets[("l2", 10**6)] = "50 ms"
    targets[("spherical-staircase", 7)] = "200 ms / 3 s"
    targets[("gaussian-mixture", 1)] = "1 s / 2 s"
    targets[("quasi-gaussian", 1)] = "60 ms / 2 s"
    for (name, dimension), target in targets.items():
        family = family_named(name)
        search = median_seconds(
            lambda family=family, d=dimension: part_of(family, "fit")(
                Question(budget=BUDGET, dimension=d)
            )
        )
        noise = calibrate(
            name, epsilon="1", delta="1e-5", sensitivity=L2(1), dimension=dimension
        ).noise
        proof = median_seconds(
            lambda noise=noise: Certificate.prove(budget=BUDGET, noise=noise, sensitivity=L2(1))
        )
        rows.append((f"{name}, d = {dimension:,}", show(search), show(proof), target))
    return rows


def peer_rows() -> list[tuple[str, ...]]:
    """σ of a Gaussian at (1, 1e-5), sensitivity 1, from each library's own search."""
    warnings.simplefilter("ignore")
    import diffprivlib.mechanisms as diffprivlib
    import opendp.prelude as dp
    from dp_accounting.pld import common, privacy_loss_mechanism

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=7), dp.l2_distance(T=float)

    def opendp_at(scale: float) -> object:
        concentrated = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale))
        return dp.c.make_fix_delta(concentrated, 1e-5)

    def from_dp_accounting() -> float:
        asked = common.DifferentialPrivacyParameters(1.0, 1e-5)
        loss = privacy_loss_mechanism.GaussianPrivacyLoss.from_privacy_guarantee(asked, 1.0)
        return loss.standard_deviation

    def from_leastnoise() -> float:
        noise = calibrate("gaussian", epsilon="1", delta="1e-5", sensitivity=L2(1), dimension=7)
        return float(noise.noise.scale)

    searches = {
        "leastnoise (proof included)": from_leastnoise,
        "dp-accounting": from_dp_accounting,
        "diffprivlib": lambda: (
            diffprivlib.GaussianAnalytic(epsilon=1.0, delta=1e-5, sensitivity=1.0)._scale  # noqa: SLF001
        ),
        "opendp (through zCDP)": lambda: dp.binary_search_param(
            opendp_at, d_in=1.0, d_out=(1.0, 1e-5), T=float
        ),
    }
    rows = []
    for name, search in searches.items():
        sigma = search()
        excess = sigma / EXACT_SIGMA - 1
        verdict = "below the minimum: not private" if excess < 0 else "private"
        rows.append(
            (name, f"{sigma:.13g}", f"{excess:+.1e}", verdict, show(median_seconds(search, runs=7)))
        )
    return rows


def bound_rows() -> list[tuple[str, ...]]:
    """Lower bounds on the mse of any noise at (1, 1e-5): their search and their proof."""
    rows = []
    for dimension in (2, 7, 100):
        started = time.perf_counter()
        witness = radial_dual.propose(BUDGET, dimension, effort=Effort())
        search = time.perf_counter() - started
        bound = LowerBound.prove(
            loss=Loss.MSE, epsilon=BUDGET.epsilon, delta=BUDGET.delta, witness=witness
        )
        proof = median_seconds(bound.verify, runs=3)
        shown = (f"bound, d = {dimension}", f"{bound.value:.6g}", show(search), show(proof))
        rows.append((*shown, "60 s / 5 s"))
    return rows


def design_rows() -> list[tuple[str, ...]]:
    """The best noise for one number, and its lower bound, without a cache; CPU seconds."""
    rows = []
    for epsilon, delta, loss, gap in (
        ("0.1", "1e-9", Loss.MSE, 0.001),
        ("1", "1e-2", Loss.MAE, 0.01),
        ("1", "1e-9", Loss.MSE, 0.001),
        ("2", "0.1", Loss.MAE, 0.001),
        ("5", "1e-6", Loss.MAE, 0.005),
        ("5", "0.1", Loss.MAE, 0.005),
        ("10", "1e-2", Loss.MSE, 0.02),
    ):
        task = Task(budget=Budget(epsilon=epsilon, delta=delta), loss=loss)
        started = time.process_time()
        result = refine(task, gap=gap, effort=Effort())
        seconds = time.process_time() - started
        target = f"{100 * gap:g} % in {3 if gap == 0.01 else 60} s"
        shown = f"ε = {epsilon}, δ = {delta}, {loss.value}"
        rows.append((shown, f"{100 * result.gap:.2g} %", show(seconds), target))
    return rows


def comparison_rows() -> list[tuple[str, ...]]:
    """Comparisons of all families that once took up to a minute: CPU seconds and peak memory."""
    rows: list[tuple[str, ...]] = []
    for index, (name, _, target) in enumerate(COMPARED):
        seconds, noise = compared(index)
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        rows.append((name, noise, show(seconds), f"{megabytes:.0f} MB", target))
    return rows


def plan_rows() -> list[tuple[str, ...]]:
    """A row per plan, each with a search over all families: name, noise, time and target."""
    rows: list[tuple[str, ...]] = []
    for index, (name, *_, target) in enumerate(PLANNED):
        seconds, noise = planned(index)
        rows.append((name, noise, show(seconds), target))
    return rows


def main() -> None:
    print_rows(
        "Every family compared, CPU seconds",
        ("", "least noise", "time", "memory so far", "targets"),
        comparison_rows(),
    )
    print_rows("Plans, CPU seconds", ("", "first noise", "time", "targets"), plan_rows())
    print_rows(
        "The best noise for one number",
        ("", "gap to the proved bound", "time", "targets"),
        design_rows(),
    )
    print_rows(
        "Lower bounds on the mse of any noise at (1, 1e-5)",
        ("", "no mse below", "search", "verification", "targets"),
        bound_rows(),
    )
    print_rows(
        "Scale search and proof at (1, 1e-5), in process",
        ("noise", "search", "proof", "targets"),
        own_rows(),
    )
    print_rows(
        "σ of a Gaussian at (1, 1e-5), from each library's own search",
        ("library", "σ", "relative to the exact minimum", "", "time"),
        peer_rows(),
    )


if __name__ == "__main__":
    main()
