"""The top ten of 2,000 items by selection, compared with the largest noisy counts and OpenDP.

    python -m benchmarks.bench_selection

Item r has 378·(r/10)^(−0.9) persons, so that the tenth has 378 and the next 347. A person holds up
to 50 items, or any number of them. ε = 1 pays for the choice and for the counts. Recall is the
share of the ten largest items that a release selects, a mean over releases.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
import opendp.measurements as opendp
import opendp.prelude as dp
from numpy.typing import NDArray

from benchmarks.timing import print_rows
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.mechanism.selection import select_largest
from leastnoise.mechanism.values import ScaledIntegers
from leastnoise.tables.answers.selection.answer import Selected
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan
from leastnoise.tables.plan.plan import Plan

ITEMS, TOP, HELD, RELEASES = 2000, 10, 50, 300
COUNTS = np.rint(378 * (np.arange(1, ITEMS + 1) / TOP) ** -0.9).astype(np.int64)
Choose = Callable[[], list[int]]


def make_plan(*, delta: str = "0", held: int | None = HELD, **query: object) -> Plan:
    limits = {} if held is None else {"contribution": {"max_groups": held}}
    return plan(
        spec_file.lay_out(
            {
                "version": 1,
                "data": {"source": "items.parquet", "types": {"person": "int", "item": "int"}},
                "privacy": {"unit": "person", "epsilon": 1, "delta": delta},
                "query": [
                    {
                        "name": "top",
                        "statistics": ["count_units"],
                        "group_by": {"item": list(range(ITEMS))},
                        "top": TOP,
                        **query,
                    }
                ],
                **limits,
            }
        )
    )


def by_selection() -> tuple[Choose, float]:
    (answered,) = make_plan(held=None, by="selection").answered
    assert isinstance(answered, Selected)
    claim, scores = answered.selection, COUNTS.tolist()
    return lambda: select_largest(claim, scores), answered.parts[0].errors[0].half_width_95


def by_noisy_counts(*, delta: str, held: int | None) -> tuple[Choose, float]:
    (part,) = make_plan(delta=delta, held=ITEMS if held is None else held).noisy_parts
    mechanism = Mechanism(part.certificate)
    exact = ScaledIntegers(numerators=COUNTS, bits=0)

    def choose() -> list[int]:
        noisy = mechanism.release(exact).values
        return np.argsort(-noisy)[:TOP].tolist()

    return choose, part.errors[0].half_width_95


def by_opendp() -> tuple[Choose, float]:
    """OpenDP's selection for half of ε, and the 95 % half-width of counts for the other half."""
    dp.enable_features("contrib")
    measurement = opendp.make_noisy_top_k(
        dp.vector_domain(dp.atom_domain(T=int)),
        dp.linf_distance(T=int, monotonic=True),
        dp.max_divergence(),
        k=TOP,
        scale=2.0 * TOP,
    )
    assert measurement.map(1) < 0.5 + 1e-9
    scores = COUNTS.tolist()
    return lambda: measurement(scores), 2 * TOP * float(np.log(20))


def list_rows() -> Iterator[tuple[str, ...]]:
    ways: list[tuple[str, str, tuple[Choose, float]]] = [
        ("by selection", "any number", by_selection()),
        ("noisy counts", f"{HELD}", by_noisy_counts(delta="0", held=HELD)),
        ("noisy counts, δ = 1e-6", f"{HELD}", by_noisy_counts(delta="1e-6", held=HELD)),
        ("noisy counts", "any number", by_noisy_counts(delta="0", held=None)),
        ("OpenDP, noisy top k and Laplace", "any number", by_opendp()),
    ]
    for name, stored, (choose, half) in ways:
        start = time.process_time()
        hits: NDArray[np.float64] = np.array(
            [sum(item < TOP for item in choose()) / TOP for _ in range(RELEASES)]
        )
        seconds = (time.process_time() - start) / RELEASES
        error = hits.std() / RELEASES**0.5
        recall = f"{hits.mean():.3f} ± {2 * error:.3f}"
        yield name, stored, recall, f"±{half:.1f}", f"{1000 * seconds:.1f}"


def main() -> None:
    print_rows(
        f"Top {TOP} of {ITEMS:,} items for ε = 1",
        ("way", "items of a person", "recall", "95 % of a count's noise", "CPU ms"),
        [*list_rows()],
    )


if __name__ == "__main__":
    main()
