"""The power of tests by Clopper–Pearson bounds: the size of violations that would be found.

The numbers are computed in floats, from the laws of the counts, for the report only: no verdict
depends on them. A violation counts as found if an audit detects it with a probability of at least
99 %. Thresholds are quantiles of outputs, so they and the counts at them vary between audits. Each
is replaced by a pessimistic value. The probabilities of worse values share the remaining 1 %.

Notation: X is a coordinate of the claimed noise, Y a coordinate of an output, and c the centre. A
mechanism that keeps its claim has Y = c + X. F is the distribution function of X.

Noise on whole numbers can't be scaled slightly, because it would leave the whole numbers. The
report states which thinner tail would be found instead. Let u be a point above the centre, and s =
1 − F(u). A share r of the outputs above c + u is drawn again, from the outputs below it. Then m =
r·s is the probability that moves, and G the distribution function of Y − c: F·(1 + m/F(u)) up to u,
and 1 − (1 − r)(1 − F) above. The missing outputs move the median, which encloses the centre. So
everything is computed from G, the enclosure and the thresholds, with pessimistic values as above.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.audit import binomial
from leastnoise.audit.law import MANY
from leastnoise.numerics.bisection import Bisection

if TYPE_CHECKING:
    from leastnoise.audit.law import ClaimedLaw

MISS = 0.01  # violations are reported as detectable if found with probability >= 1 - MISS
_FINER = 0.9  # shares of thinned outputs are tried from 1 down, each 0.9 times the one before


def detectable_rate(
    other: float, trials: tuple[int, int], *, epsilon: float, delta: float, level: float
) -> float | None:
    """The smallest p that the test detects as too large for (ε, δ)-DP, with probability 99 %.

    p and q are the probabilities of an event on two neighbouring inputs, and q <= `other`. The test
    detects it if p₋ > e^ε q₊ + δ, for the lower bound p₋ and the upper bound q₊ from counts. Each
    bound is wrong with probability at most `level`. `trials` are the numbers of trials for p and q.
    None if no p below 1 suffices.
    """
    from scipy.stats import binom  # noqa: PLC0415 (it takes half a second to import)

    most = int(binom.isf(MISS / 2, trials[1], other))
    bound = binomial.upper(min(most, trials[1]), trials[1], Fraction(level))
    claimed = float(np.exp(min(epsilon, 700.0))) * bound + delta
    return detectable_above(claimed, trials[0], level=level)


def detectable_above(claimed: float, trials: int, *, level: float) -> float | None:
    """The smallest p for which counts prove, with a chance of 99.5 %, that p is above `claimed`.

    p is the probability of a success in each of `trials` trials. The number of successes proves it
    if the lower bound on p, which is wrong with probability at most `level`, exceeds `claimed`.
    None if no p below 1 suffices.
    """
    from scipy.stats import beta, binom  # noqa: PLC0415 (it takes half a second to import)

    if claimed >= 1:
        return None
    successes = int(binom.isf(level, trials, claimed)) + 1
    if successes > trials:
        return None
    rate = float(beta.ppf(1 - MISS / 2, successes, trials - successes + 1))
    return rate if rate < 1 else None


def detectable_below(claimed: float, trials: int, *, level: float, miss: float) -> float | None:
    """The largest p for which counts prove, with a chance of 1 − `miss`, that p is below `claimed`.

    p is the probability of a success in each of `trials` trials. The number of successes proves it
    if the upper bound on p, which is wrong with probability at most `level`, is below `claimed`.
    None if no number of successes proves it.
    """
    from scipy.stats import beta, binom  # noqa: PLC0415 (it takes half a second to import)

    most = int(binom.ppf(level, trials, claimed)) - 1
    if most < 0:
        return None
    return float(beta.ppf(miss, most + 1, trials - most))


def centre_reach(
    law: ClaimedLaw, *, sizes: tuple[int, int], error: Fraction, miss: float
) -> tuple[float, float]:
    """Pessimistic distances from the true centre down and up to the bounds of `law.centre_of`.

    `error` is the argument of `centre_of`. An audit's distance exceeds each with probability at
    most `miss`. A distance is inf if the centre may have no bound on that side. `sizes` are the
    number of outputs that choose the median, and the number that are counted.
    """
    from scipy.stats import binom  # noqa: PLC0415 (it takes half a second to import)

    counted, share = sizes[1], miss / 2
    down = up = 0.0
    for middle in (law.quantile(p) for p in order_statistic(0.5, sizes[0], share)):
        first = last = middle + law.beside if law.whole else middle
        below, above = (law.distribution(middle + sign * law.beside) for sign in (-1, 1))
        if above[1] - below[0] > MANY:  # then thresholds lie on both sides
            first, last = middle - law.beside, middle + law.beside
        most = int(binom.isf(share, counted, law.distribution(first)[1]))
        least = int(binom.ppf(share, counted, law.distribution(last)[0]))
        down = max(down, law.inverse_above(binomial.upper(most, counted, error / 2)) - first)
        up = max(up, last - law.inverse_below(binomial.lower(least, counted, error / 2)))
    return (float(np.floor(down)), float(np.floor(up))) if law.whole else (down, up)


def least_scale(
    law: ClaimedLaw, probabilities: list[float], *, sizes: tuple[int, int], level: Fraction
) -> float | None:
    """The largest s < 1 for which an audit refutes the noise sX with probability >= 99 %.

    Each threshold u is the outputs' quantile at one of the `probabilities` above ½. Let π = P(Y >
    u), and p = P(Y <= v) for the point v that bounds the centre. Let U(π) and U(p) be pessimistic
    values of their upper bounds from the counts, and Q the quantiles of X. The noise is refuted if
    s·(Q(1 − π) − Q(p)) < Q(1 − U(π)) − Q(U(p)). None if no s > 0 suffices. `sizes` and `level` are
    as in `TailTest`.
    """
    from scipy.stats import binom  # noqa: PLC0415 (it takes half a second to import)

    def upper(probability: float) -> float:
        most = int(binom.isf(share, sizes[1], probability))
        return binomial.upper(most, sizes[1], level)

    share = MISS / 4
    best = 0.0
    middles = order_statistic(0.5, sizes[0], share)
    for probability in probabilities:
        if probability <= 0.5:
            continue
        ends: list[float] = []
        for high in order_statistic(probability, sizes[0], share):
            for middle in middles:
                whole = law.quantile(high) - law.quantile(middle)
                left = law.inverse_below(1 - upper(1 - high)) - law.inverse_above(upper(middle))
                ends.append(left / whole if whole > 0 and math.isfinite(left) else 0.0)
        best = max(best, min(ends))
    return best if 0 < best < 1 else None


def order_statistic(probability: float, size: int, share: float) -> tuple[float, ...]:
    """Bounds on the true probability below an empirical quantile of `size` outputs.

    Returns (least, probability, most). The empirical quantile at `probability` varies between
    audits, and so does the true probability of an output at or below it. This true probability lies
    outside [least, most] with probability `share`.
    """
    from scipy.stats import beta  # noqa: PLC0415 (it takes half a second to import)

    rank = min(int(probability * size), size - 1) + 1
    least = float(beta.ppf(share / 2, rank, size - rank + 1))
    most = float(beta.ppf(1 - share / 2, min(rank + 1, size), max(1, size - rank)))
    return least, probability, most


@final
@dataclass(frozen=True, kw_only=True)
class TailTest:
    """The claimed noise, the probabilities above its thresholds, and the test's sizes and level.

    `tails` are these probabilities. `level` is the error level of each bound. `sizes` are the
    number of outputs that choose thresholds, and the number that are counted.
    """

    law: ClaimedLaw
    tails: Sequence[float]
    sizes: tuple[int, int]
    level: Fraction


@final
@dataclass(frozen=True, kw_only=True)
class Thinned:
    """A change of the law: of the outputs above centre + `above`, a `share` is missing.

    The missing outputs are drawn again from the outputs at most centre + `above`.
    """

    share: float
    above: float


def least_thinning(test: TailTest) -> Thinned | None:
    """The smallest tried change that an audit detects with probability >= 99 %.

    None if it detects none of them. The size of a change is its `share`. Larger shares of the same
    outputs were detected, too, as far as they were tried.
    """
    best: Thinned | None = None
    law = test.law
    for above in sorted({law.quantile(1 - tail) + law.beside for tail in test.tails}):
        share = 1.0 if best is None else best.share * _FINER
        if not _is_found(test, Thinned(share=share, above=above)):
            continue
        while share > 1e-4 and _is_found(test, Thinned(share=share * _FINER, above=above)):
            share *= _FINER
        best = Thinned(share=share, above=above)
    return best


def _is_found(test: TailTest, thinned: Thinned) -> bool:
    """True if some threshold detects the change with a probability of at least 99 %.

    The threshold, the count above it, the median and the count below it vary between audits. Each
    is replaced by a pessimistic value, and is worse with a probability of a quarter of 1 %.
    """
    law, outputs = test.law, _Outputs(law=test.law, thinned=thinned)
    if not outputs.moved:
        return False
    miss = MISS / 4  # for the middle, the count below it, a threshold, and its count
    reach = _reach(test, outputs, miss)
    for tail in test.tails:
        points = [
            outputs.quantile(p) + law.beside for p in order_statistic(1 - tail, test.sizes[0], miss)
        ]
        if all(_shows(test, outputs, point, reach=reach, miss=miss) for point in points):
            return True
    return False


def _shows(test: TailTest, outputs: _Outputs, point: float, *, reach: float, miss: float) -> bool:
    claimed = 1 - test.law.distribution(point + reach)[1]
    if not 0 < claimed < 1:
        return False
    rate = detectable_below(claimed, test.sizes[1], level=float(test.level), miss=miss)
    return rate is not None and 1 - outputs.distribution(point)[0] <= rate


def _reach(test: TailTest, outputs: _Outputs, miss: float) -> float:
    """A pessimistic distance from the true centre down to its lower bound; whole, or inf."""
    from scipy.stats import binom  # noqa: PLC0415 (it takes half a second to import)

    law, counted = test.law, test.sizes[1]
    least, _, most = order_statistic(0.5, test.sizes[0], miss)
    middles = {outputs.quantile(p) for p in np.linspace(least, most, 9).tolist()}
    reach = 0.0
    for first in (middle + side * law.beside for middle in middles for side in (-1, 1)):
        below = int(binom.isf(miss, counted, outputs.distribution(first)[1]))
        reach = max(reach, _steps_above(law, first, binomial.upper(below, counted, test.level)))
    return reach


def _steps_above(law: ClaimedLaw, first: float, probability: float) -> float:
    """The least whole k >= 0 with F(first + k + 1) > `probability`; inf if the search fails."""

    def holds(k: int) -> bool:
        return law.distribution(first + k)[0] > probability

    bracket = Bisection().beyond(holds, 0, 1, most=1 << 40)
    return float(bracket[1] - 1) if bracket else math.inf


@final
@dataclass(frozen=True, kw_only=True)
class _Outputs:
    """The law G of Y − c for thinned outputs Y (see `Thinned`), where c is their centre."""

    law: ClaimedLaw
    thinned: Thinned

    @property
    def kept(self) -> float:
        """A lower bound on F(u), the claimed probability that X is at most u = `thinned.above`."""
        return self.law.distribution(self.thinned.above)[0]

    @property
    def moved(self) -> float:
        """A lower bound on the probability m that moves from above u to below."""
        return self.thinned.share * (1 - self.law.distribution(self.thinned.above)[1])

    def distribution(self, t: float) -> tuple[float, float]:
        """Approximate lower and upper bounds on the distribution function G(t)."""
        low, high = self.law.distribution(t)
        if t <= self.thinned.above:
            more = 1 + self.moved / self.kept
            return min(1.0, low * more), min(1.0, high * more)
        left = 1 - self.thinned.share
        return 1 - left * (1 - low), 1 - left * (1 - high)

    def quantile(self, probability: float) -> float:
        """Approximate the t with G(t) = `probability`."""
        if probability <= self.kept + self.moved:
            return self.law.quantile(probability / (1 + self.moved / self.kept))
        return self.law.quantile(1 - (1 - probability) / (1 - self.thinned.share))
