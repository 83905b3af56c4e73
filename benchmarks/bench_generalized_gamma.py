"""δ, scale, shape and proof of generalized gamma noise at about (1, 1e-5)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

from benchmarks.timing import median_seconds, print_rows, show
from leastnoise.certificate.certificate import Certificate
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.question import Question
from leastnoise.noise.radial.fit import generalized_gamma_search
from leastnoise.noise.radial.law import GeneralizedGamma
from leastnoise.noise.radial.profile import log_delta

SHAPES = ((2, "1", "1.5"), (2, "0.9", "1.5"), (7, "5.9", "1.051"), (1000, "999", "1.09"))
TARGETS = ("1.5 ms, 5 ms for α < d − 1", "30 ms", "2 s", "3 s")


def _fresh(counter: itertools.count[int]) -> Budget:
    """A new budget in each call, because searches cache their results."""
    return Budget(epsilon="1", delta=Fraction(1, 10**5 + next(counter)))


def _delta(law: GeneralizedGamma) -> float:
    return log_delta(
        dimension=law.dimension,
        alpha=float(law.alpha),
        kappa=float(law.kappa),
        p=float(law.p),
        shift=1 / float(law.scale),
        epsilon=1.0,
    )


def rows(median: Callable[..., float] = median_seconds) -> list[tuple[str, ...]]:
    """One row per shape. The search for the best shape is timed in the same dimension."""
    counter = itertools.count()
    results = []
    for dimension, alpha, p in SHAPES:
        fixed = {"alpha": Fraction(alpha), "p": Fraction(p)}

        def calibrated(d: int = dimension, fixed: dict[str, Fraction] = fixed) -> GeneralizedGamma:
            return generalized_gamma_search(
                Question(budget=_fresh(counter), dimension=d, fixed=fixed)
            )

        def searched(d: int = dimension) -> GeneralizedGamma:
            return generalized_gamma_search(Question(budget=_fresh(counter), dimension=d))

        law = calibrated()
        budget = Budget(epsilon="1", delta="1e-5")
        times = (
            median(lambda law=law: _delta(law)),
            median(calibrated),
            median(searched, runs=3),
            median(
                lambda law=law, budget=budget: Certificate.prove(
                    budget=budget, noise=law.scaled("1.0001"), sensitivity=L2(1)
                ),
                runs=5,
            ),
        )
        results.append((f"d = {dimension:,}, α = {alpha}, p = {p}", *map(show, times)))
    return [*results, ("targets", *TARGETS)]


def main() -> None:
    print_rows(
        "Generalized gamma noise at (1, 1e-5)",
        ("shape", "δ", "scale at this shape", "best shape at this d", "proof"),
        rows(),
    )


if __name__ == "__main__":
    main()
