"""Published entries beside computed losses and proved lower bounds: what to say of each.

notation: a is the loss of what a mixture is compared with, m that of the mixture; an entry is
v = 100·(a − m)/max(a, m), in per cent, so that m = a·(1 − v/100), or a/(1 + v/100) for v < 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from losses import BENCHMARKS, Cell, Cells

from leastnoise.noise.kernels.law import GaussianMixture, QuasiGaussian
from leastnoise.noise.kernels.profile.crossings import Kernels
from leastnoise.noise.kernels.profile.divergence import log_divergence, peaks
from leastnoise.noise.question import Loss

# Which laws each table compares with which one, and by which loss. That "multimodal Gaussians"
# include the quasi-Gaussian shows where Table 1 agrees with Table 5 (ε = δ = 0.25, say), and that
# the best of the benchmarks is truncated Laplace noise follows from Tables 1 and 2 together
# (`benchmark_loss`). Of Table 3 the entries are numbers of modes.
TABLES: dict[int, tuple[tuple[str, ...], str, Loss]] = {
    1: (("mixture", "quasi-gaussian"), "gaussian", Loss.MAE),
    2: (("mixture", "quasi-gaussian"), "truncated-laplace", Loss.MAE),
    4: (("mixture", "quasi-gaussian"), "gaussian", Loss.MSE),
    5: (("quasi-gaussian",), "gaussian", Loss.MAE),
    6: (("quasi-gaussian",), "gaussian", Loss.MSE),
    7: (("mixture", "quasi-gaussian"), "truncated-laplace", Loss.MSE),
}
BESIDE = {
    2: "ours_over_best_benchmark",
    5: "theorem_4_2",
    6: "theorem_4_2",
    7: "ours_over_best_benchmark",
}
MOST_MODES = 20  # of the paper
HALF_DIGIT = 0.005  # published entries have two decimals
ROUNDING = 0.006  # that, and room for floats
CLOSE = 0.05  # an improvement this near to ours counts as the same
# Kernels so narrow that a shift of ½ bares them all: δ > 0.999999 there, hence nearly the worst.
APART = 0.05
CONFIRMED = "confirmed"
BETTER = "better ones exist"
NONE = "no improvement, as published"
MISSED = "an improvement exists"
UNREACHED = "not private"
IMPOSSIBLE = "impossible"
VERDICTS = (CONFIRMED, BETTER, NONE, MISSED, UNREACHED, IMPOSSIBLE)


@final
@dataclass(frozen=True, kw_only=True)
class Leak:
    """A law that has a published loss: δ at its worst shift. `modes` is "quasi" for that family."""

    modes: str
    sigma: float
    shift: float
    delta: float


@final
@dataclass(frozen=True, kw_only=True)
class Row:
    """One entry of a table; losses are of sensitivity 1, improvements in per cent.

    `beside` is what BESIDE names, and None for the other tables.
    """

    delta: str
    epsilon: str
    published: str
    ours: float
    most_possible: float
    published_loss: float
    our_loss: float
    lower_bound: float
    beside: float | None
    verdict: str
    leak: Leak | None = None

    def leak_texts(self) -> list[str]:
        """Return the leak as it is written, four empty texts where there is none."""
        if self.leak is None:
            return [""] * 4
        numbers = (self.leak.sigma, self.leak.shift, self.leak.delta)
        return [self.leak.modes, *(f"{x:.4g}" for x in numbers)]


def improvement(mixture: float, other: float) -> float:
    return 100 * (other - mixture) / max(other, mixture)


def loss_with(value: float, other: float) -> float:
    """Return m for an improvement over `other` of `value` per cent."""
    return other * (1 - value / 100) if value >= 0 else other / (1 + value / 100)


def verdict(published: str, ours: float, most: float) -> str:
    """Compare a published improvement with ours and with the most that is possible."""
    if published == "NA":
        return NONE if ours <= ROUNDING else MISSED
    value = float(published)
    if value > most + ROUNDING:
        return IMPOSSIBLE
    if value > ours + ROUNDING:
        return UNREACHED
    return CONFIRMED if value > ours - CLOSE else BETTER


def row_of(table: int, entry: Cell, known: Cells) -> Row:
    """Return what there is to say of an entry of published.csv, of any table but the third.

    But for its leak, which takes seconds (`least_leak`).
    """
    mixtures, compared, loss = TABLES[table]
    cell = known[entry["delta"], entry["epsilon"], loss.value]
    mixture = min(float(cell[name]) for name in mixtures)
    other = float(cell[compared])
    ours, most = improvement(mixture, other), improvement(float(cell["bound"]), other)
    published = entry["value"]
    claimed = math.nan if published == "NA" else loss_with(float(published), other)
    return Row(
        delta=entry["delta"],
        epsilon=entry["epsilon"],
        published=published,
        ours=ours,
        most_possible=most,
        published_loss=claimed,
        our_loss=mixture,
        lower_bound=float(cell["bound"]),
        beside=_beside(table, cell, mixture),
        verdict=verdict(published, ours, most),
    )


def _beside(table: int, cell: Cell, mixture: float) -> float | None:
    if BESIDE.get(table) == "theorem_4_2":
        return improvement(float(cell["theorem"]), float(cell["gaussian"]))
    return improvement(mixture, best_benchmark(cell)[1]) if table in BESIDE else None


def best_benchmark(cell: Cell) -> tuple[str, float]:
    """Return the benchmark of least loss, and its loss."""
    losses = {name: float(cell[name]) for name in BENCHMARKS}
    name = min(losses, key=losses.__getitem__)
    return name, losses[name]


def benchmark_loss(cell: Cell, over_gaussian: str, over_benchmark: str) -> tuple[float, float]:
    """Return the least and largest loss of the paper's benchmark by two of its entries."""
    gaussian, first, second = float(cell["gaussian"]), float(over_gaussian), float(over_benchmark)
    ends = []
    for off in (-HALF_DIGIT, HALF_DIGIT):
        mixture, v = loss_with(first - off, gaussian), (second + off) / 100
        ends.append(mixture / (1 - v) if v >= 0 else mixture * (1 + v))
    return min(ends), max(ends)


def least_leak(table: int, row: Row) -> Leak | None:
    """Return the law with the published loss that leaks least, None if no σ > 0 gives that loss.

    Tried are the quasi-Gaussian law and, where the table is about them, mixtures with K = 1 …
    MOST_MODES, each at the σ that gives the loss.
    """
    laws, _, loss = TABLES[table]
    leaks: list[Leak] = []
    for modes in (None, *(range(1, MOST_MODES + 1) if "mixture" in laws else ())):
        sigma = _sigma(row.epsilon, modes, loss, row.published_loss)
        if sigma is not None:
            leaks.append(_leak(float(row.epsilon), modes, sigma))
    return min(leaks, key=lambda leak: leak.delta, default=None)


def _sigma(epsilon: str, modes: int | None, loss: Loss, claimed: float) -> float | None:
    """Return the σ with loss `claimed`, None if it is larger for every σ; the loss rises with σ."""
    # a Gaussian with this σ has the least loss of all laws made of its like
    low, high = 1e-4, claimed * math.sqrt(math.pi / 2) if loss is Loss.MAE else math.sqrt(claimed)
    if loss.of(_law(epsilon, modes, low)) > claimed:
        return None
    for _ in range(50):
        middle = math.sqrt(low * high)
        if loss.of(_law(epsilon, modes, middle)) < claimed:
            low = middle
        else:
            high = middle
    return high


def _law(epsilon: str, modes: int | None, sigma: float) -> GaussianMixture | QuasiGaussian:
    if modes is None:
        return QuasiGaussian(scale=sigma, spacing=1, decay=epsilon)
    return GaussianMixture(scale=sigma, modes=modes, spacing=1, decay=epsilon)


def _leak(epsilon: float, modes: int | None, sigma: float) -> Leak:
    # in units of σ
    unit = Kernels(modes=modes or 1, spacing=1 / sigma, decay=epsilon, folded=modes is None)
    if sigma < APART:
        shift, log_delta = 0.5, log_divergence(unit, shift=0.5 / sigma, epsilon=epsilon)
    else:
        result = peaks(unit, shift=1 / sigma, epsilon=epsilon)
        shift, log_delta = result.worst * sigma, result.log_delta
    return Leak(
        modes="quasi" if modes is None else str(modes),
        sigma=sigma,
        shift=shift,
        delta=math.exp(log_delta),
    )
