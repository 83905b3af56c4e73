"""The noise of the sums of the first cells of an even tree: variances, moments and half-widths.

Notation: level 0 is the root, and level L has the cells; n is the number of cells. S_g is the sum
of the first g cells, T is the sum of all cells, and W = S_g − aT for a number a, the argument
`level`. So W weights each of the first g cells by 1 − a, and all others by −a. A node of level l
has n_l cells and b children; r_l = shares[l]/scale is its rate. A_l is the law of its sum if only
the weights of the node and of the nodes below it count. κ_l is the share of candidates that the
sampler keeps (see `levels`). E is the mean, and P is a probability.

Moments come from a pass upwards. Suppose that the first g cells include the first o cells of a node
of level l: k whole children and o' cells of the next child, so o = k·n_{l+1} + o'. Let t be the sum
of all cells of the node, and w their contribution to W. The pass carries m_i(t) = E[w^i; t], the
mean of w^i where the node's sum is t, and of 0 elsewhere, for i = 0, …, 8. Only weights of the node
and below count. Then m_i(t) = e^(−r_l|t|)·Σ_j C(i, j) (H_j * m'_{i−j})(t)/κ_l. Here m' belongs to
the next child, and H_j is the m_j of the sum of all other children. Of these, k have the weight 1 −
a, and b − 1 − k have the weight −a.

By Markov's inequality P(|X| >= h) <= E X^p/h^p for any number X and each even p. For sums of many
cells p = 6 gives about ±2.75 standard deviations at 95 %.

All sums are modulo a smaller window than in `levels`. This is exact on the event that every node's
sum is below the M of `find_window`. Outside this event the window only adds mass, which increases
even moments. The true E W^p outside the event, of probability 1e-12, is below √(E W^2p)·1e-6.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.noise.trees.levels import GIVEN_AWAY, level_laws, rates_of, solve

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from leastnoise.noise.trees.law import Agreeing

    Floats = NDArray[np.float64]
    Spectra = NDArray[np.complex128]

ORDERS = (2, 4, 6, 8)
MOST_WORK = 1 << 26
"""The largest `moments_work`: about four seconds for each level, and a gigabyte."""
MOST = ORDERS[-1]
_OUTSIDE = 1e-12
_CUT = 1e-15  # mass of a law beyond its last number, which is below 1e-15 times the first
_LOST = 1e-14  # relative size of probabilities that are cut; 8th moments change by < 1e-5
_ROUNDED_UP = 1e-3  # a bound on the sum of these errors, relative to a moment
_ALLOWANCE = 1e-12  # allowance relative to the largest moment of an order; FFTs err far less
_NO_FFT = 1 << 8  # the largest window in which laws are convolved without an FFT


def prefix_variances(branches: Sequence[int], variances: Sequence[float]) -> Floats:
    """The variances Var S_g for g = 0, …, n, given the variance of a node by level (root first).

    All children of a node are alike. Let a child have m cells, and two children the covariance C.
    Then the sum of c cells of one child has the covariance C·c/m with the sum of another child.
    """
    result, below = np.array([0.0, variances[-1]]), 1
    for b, above, of_child in zip(
        reversed(branches), reversed(variances[:-1]), reversed(variances[1:]), strict=True
    ):
        covariance = (above - b * of_child) / (b * (b - 1)) if b > 1 else 0.0
        k, rest = np.divmod(np.arange(b * below), below)
        pairs = k * (k - 1) + 2 * k * rest / below
        result = np.append(k * of_child + pairs * covariance + result[rest], above)
        below *= b
    return result


@lru_cache(maxsize=16)
def prefix_moments(noise: Agreeing, level: float = 0.0) -> Floats:
    """Upper bounds on E (S_g − aT)^p for p in `ORDERS` and g = 0, …, n; shape (n + 1, 4).

    They are floats with an allowance for rounding; a is the `level`. A bound of order p is at least
    the value (E|W|^q)^(p/q) that a lower order q implies. The sum of the last g cells has the law
    of S_g. Raises NotApplicable in the cases of `check_moments`.
    """
    check_moments(noise)
    size, branches = find_window(noise), noise.branches
    rates, solved = rates_of(noise), solve(branches, rates_of(noise))
    points = np.arange(size, dtype=np.float64)
    points[size // 2 :] -= size
    weights = [
        np.exp(-rate * np.abs(points)) / acceptance
        for rate, (acceptance,) in zip(rates[:-1], solved.acceptance, strict=True)
    ]
    subtrees = [cut_law(part.values, size) for (part,) in solved.subtrees]
    if size <= _NO_FFT:
        subtrees = _subtree_laws(subtrees[-1], branches, weights)
    cell = np.zeros((1, MOST + 1, size // 2 + 1), dtype=np.complex128)
    cell[0] = spectra_of_powers(subtrees[-1], -level, points)
    # spectra of m_0, …, m_8 for o = 0, …, n_l − 1, in batches
    parts: Iterable[Spectra] = [cell]
    for depth in reversed(range(1, len(branches))):
        beside = _beside(subtrees[depth + 1], branches[depth], level, points)
        parts = _above(beside, np.concatenate(list(parts)), weights[depth])
    beside = _beside(subtrees[1], branches[0], level, points)
    at_root = [_at_root(beside, part, weights[0]) for part in parts]
    whole = subtrees[0] @ np.power.outer((1 - level) * points, ORDERS)
    moments_of_parts = np.concatenate(at_root, axis=1).reshape(-1, len(ORDERS))
    moments = np.concatenate([moments_of_parts, whole[None, :]])
    rounded = np.arange(len(moments)) > 0  # a sum of no cells may be 0 exactly
    return add_allowances(moments, largest=moments.max(axis=0) * rounded[:, None])


def add_allowances(moments: Floats, *, largest: Floats) -> Floats:
    """Increase computed moments to upper bounds, by allowances for rounding.

    The allowances are relative to each moment and to the `largest` of its order. The last axis has
    the `ORDERS`.
    """
    orders = np.array(ORDERS, dtype=np.float64)
    raised = (1 + _ROUNDED_UP) * moments + _ALLOWANCE * ((1 + _ROUNDED_UP) * largest)
    norms = np.maximum(raised, 0.0) ** (1 / orders)
    return np.asarray(np.maximum.accumulate(norms, axis=-1) ** orders)


def check_moments(noise: Agreeing) -> None:
    """Raise NotApplicable if `prefix_moments` would take more than `MOST_WORK`.

    It is called before memory for the moments is allocated. Also raises InvalidArgument if nodes of
    a level differ, and NotApplicable if the laws are too wide.
    """
    _check_work(moments_work(noise), "takes")


def check_least_moments(branches: Sequence[int], scale: Fraction) -> None:
    """Raise NotApplicable if `check_moments` is sure to raise it, for any shares of the levels.

    `scale` is the scale of noise for which a move costs 1.
    """
    _check_work(least_moments_work(branches, scale), "takes at least")


def _check_work(work: int, takes: str) -> None:
    if work > MOST_WORK:
        why = f"bounding the noise of its sums of cells {takes} {work:.2g} units of work"
        raise NotApplicable(family="agreeing", why=f"{why}, more than {MOST_WORK:,}")


def moments_work(noise: Agreeing) -> int:
    """The work of `prefix_moments`: the window times `_work_at_each`."""
    return find_window(noise) * _work_at_each(noise.branches)


def least_moments_work(branches: Sequence[int], scale: Fraction) -> int:
    """A lower bound on `moments_work` for all shares of a tree with noise of this `scale`.

    A move costs at most 1, so a cell's noise Z has P(|Z| >= M) >= e^(−M/scale) for each integer M.
    A law is cut where less than 1e-15 lies beyond the cut on each side.
    """
    tail = 2 * _CUT + _OUTSIDE / math.prod(branches)
    most = math.ceil(-float(scale) * math.log(tail))
    return _window(branches, most) * _work_at_each(branches)


def _work_at_each(branches: Sequence[int]) -> int:
    """The work of `prefix_moments` per number of the window: the sum over levels of b·c + 20b + 8c.

    The term of a level is for a node with b children of c cells each. b·c counts convolutions, and
    20b and 8c count the arrays that are in memory at once.
    """
    below, nodes = 1, 0
    for b in reversed(branches):
        nodes += b * below + 20 * b + 8 * below
        below *= b
    return nodes


def find_window(noise: Agreeing) -> int:
    """The window: a power of two above 2bM, where b is the largest number of children of a node.

    M is the least number such that some node's sum is at least M in size with probability <= 1e-12,
    by the union bound.
    """
    laws = level_laws(noise)
    longest = max(len(law.probabilities) for law in laws)
    beyond = np.zeros(longest + 1)
    for law in laws:
        tails = np.cumsum(law.probabilities[::-1])[::-1]
        beyond[: len(tails)] += 2 * law.nodes * tails
    return _window(noise.branches, int(np.flatnonzero(beyond <= _OUTSIDE)[0]))


def _window(branches: Sequence[int], most: int) -> int:
    return 1 << max(6, math.ceil(math.log2(2 * max(branches) * most + 2)))


def cut_law(law: Floats, size: int) -> Floats:
    """Restrict a law to the smaller window `size`, and drop the mass outside of it."""
    inner = np.zeros(size)
    half = min(size, len(law)) // 2
    inner[:half] = law[:half]
    inner[-half + 1 :] = law[-half + 1 :]
    return inner


def _subtree_laws(cell: Floats, branches: Sequence[int], weights: Sequence[Floats]) -> list[Floats]:
    """The laws A_0, …, A_L of a node's sum by level, from the law of a `cell`.

    `weights` has the numbers e^(−r_l|t|)/κ_l for each level l above the cells. The laws are exact
    except for roundings.
    """
    laws = [cell]
    for b, weight in zip(reversed(branches), reversed(weights), strict=True):
        laws.insert(0, sum_laws(laws[0], b)[b] * weight)
    return laws


def sum_laws(law: Floats, most: int) -> list[Floats]:
    """The laws of the sums of 0, …, `most` independent draws from `law`.

    In a narrow window they are computed without an FFT, as sums of positive products. After an FFT,
    probabilities of large sums would be rounding noise, whose 8th moment could exceed the true one.
    """
    size = len(law)
    if size > _NO_FFT:
        spectrum = np.fft.rfft(law)
        laws = [np.fft.irfft(spectrum**k, size) for k in range(most + 1)]
        for tail in laws:
            tail[tail < _LOST * tail.max()] = 0.0
        return laws
    laws = [np.eye(1, size)[0]]
    for _ in range(most):
        longer = np.convolve(laws[-1], law)
        laws.append(longer[:size] + np.append(longer[size:], 0.0))
    return laws


def _beside(law: Floats, b: int, level: float, points: Floats) -> list[Spectra]:
    """The spectra of H_0, …, H_8 for each k = 0, …, b − 1, from the `law` of each child's sum.

    k children have the weight 1 − level, and the other b − 1 − k have the weight −level. `points`
    are the integers t modulo the window.
    """
    sums = sum_laws(law, b - 1)
    return [
        convolve_moments(
            spectra_of_powers(counted, 1 - level, points), spectra_of_powers(other, -level, points)
        )
        for counted, other in zip(sums, reversed(sums), strict=True)
    ]


def spectra_of_powers(law: Floats, times: float, points: Floats) -> Spectra:
    """The spectra of the functions t ↦ (times·t)^j·law(t) for j = 0, …, 8."""
    return np.fft.rfft(np.power.outer(times * points, range(MOST + 1)).T * law)


def _above(beside: Sequence[Spectra], below: Spectra, weight: Floats) -> Iterator[Spectra]:
    """Yield the spectra of m_0, …, m_8 of a node for k = 0, 1, …, and all o' of the next child.

    `beside` has the spectra of H_0, …, H_8 by k, and `below` has the spectra of the next child's m'
    by o'.
    """
    size = len(weight)
    for of_siblings in beside:
        sums = np.fft.irfft(
            np.stack([convolve_moments(of_siblings, of_child) for of_child in below]), size
        )
        yield np.fft.rfft(weight * sums)


def convolve_moments(first: Spectra, second: Spectra) -> Spectra:
    """The spectra of m_0, …, m_8 of a sum, from its parts' spectra, by the binomial theorem."""
    result = np.zeros_like(first)
    for i in range(MOST + 1):
        for j in range(i + 1):
            result[i] += math.comb(i, j) * first[j] * second[i - j]
    return result


def _at_root(beside: Sequence[Spectra], below: Spectra, weight: Floats) -> Floats:
    """The moments E W^p for p in `ORDERS`, for each k and each o' at the root.

    The shape is (b, number of o', 4). Sums over all t are inner products of spectra.
    """
    weights = np.fft.rfft(weight).real / len(weight)
    weights[1:-1] *= 2  # frequencies −f
    columns = below.reshape(-1, below.shape[-1]).T
    moments_by_k: list[Floats] = []
    for of_siblings in beside:
        products = ((of_siblings * weights) @ columns).real.reshape(MOST + 1, -1, MOST + 1)
        moments = [
            sum((math.comb(p, j) * products[j, :, p - j] for j in range(p + 1)), np.zeros(1))
            for p in ORDERS
        ]
        moments_by_k.append(np.stack(moments, axis=-1))
    return np.stack(moments_by_k)


# The laws of the sums of the first cells of a tree, and their half-widths.
#
# notation: as above. Given u, a pass upwards carries m(t) = E[e^(iuw); t] of a node, where w is the
# sum of its o cells among the first, and t the sum of all its cells. It is
# m(t) = e^(−r_l|t|)·(H * m')(t)/κ_l, with m' of the next child, and H of the other children: k with
# the factor e^(iut) and b − 1 − k with the factor 1. At the root, m summed over t is E e^(iuS_g).
# Its values at u = 2πj/N, j = 0, …, N − 1, determine the law of S_g modulo N.
#
# The computed P(|S_g| <= h) may be too large because windows wrap around. For sums beyond N/2 the
# excess is below E S_g^8/(N/2)^8. For nodes beyond their window it is at most the mass in excess of
# 1 (see above), plus 1e-12.


MOST_LAW_WORK = 1 << 29
"""The largest `law_work`, some seconds; beyond it half-widths follow from moments."""


def prefix_half_widths(noise: Agreeing, coverage: float) -> NDArray[np.int64]:
    """Integers h with P(|S_g| <= h) >= `coverage`, for g = 0, …, n; shape (n + 1,).

    Each is nearly the smallest such h; allowances for rounding and for the finite window may
    increase it. If the laws take too much `law_work`, only sums of a whole node have a nearly
    smallest h; the other h follow from Markov's inequality. Raises InvalidArgument unless 0 <
    coverage < 1, and if it is too close to 1 to be decided. Raises NotApplicable in the cases of
    `check_moments`.
    """
    if not 0 < coverage < 1:
        raise InvalidArgument(name="coverage", value=coverage, expected="0 < coverage < 1")
    if law_work(noise) <= MOST_LAW_WORK:
        return _least_widths(_inside(noise), coverage)
    orders = np.array(ORDERS, dtype=np.float64)
    widths = (prefix_moments(noise) / (1 - coverage)) ** (1 / orders)
    half_widths = np.floor(widths.min(axis=1)).astype(np.int64)  # P(|S| > h) = P(|S| >= h + 1)
    for law in level_laws(noise):
        inside = 2 * np.cumsum(law.probabilities) - law.probabilities[0] - GIVEN_AWAY
        half_widths[noise.dimension // law.nodes] = _least_widths(inside[None, :], coverage)[0]
    return half_widths


def _least_widths(inside: Floats, coverage: float) -> NDArray[np.int64]:
    """For each row of `inside`, the first index h at which it reaches `coverage`.

    Raises InvalidArgument if a row never reaches it.
    """
    sure = float(inside[:, -1].min())
    if sure < coverage:
        expected = f"coverage <= {sure:.12g} for this noise"
        raise InvalidArgument(name="coverage", value=coverage, expected=expected)
    return np.argmax(inside >= coverage, axis=1)


def law_work(noise: Agreeing) -> int:
    """The work of `prefix_laws`: a product of two windows and a number of transforms.

    The windows belong to the nodes' sums and to the sums S_g.
    """
    below, sums = 1, 0
    for b in reversed(noise.branches):
        below *= b
        sums += below
    return find_window(noise) * _window_of_sums(noise) * sums


def _window_of_sums(noise: Agreeing) -> int:
    """A window N for the sums S_g: a power of two with E S_g^8/(N/2)^8 <= 1e-6 for all g.

    N is at most the nodes' window, even if the inequality then fails.
    """
    largest = float(prefix_moments(noise)[:, -1].max())
    least = 2 * (largest / GIVEN_AWAY) ** (1 / ORDERS[-1])
    return min(1 << max(6, math.ceil(math.log2(max(least, 1.0)))), find_window(noise))


def _inside(noise: Agreeing) -> Floats:
    """Lower bounds on P(|S_g| <= h) for g = 0, …, n and h = 0, …, N/2 − 1; shape (n + 1, N/2).

    N is `_window_of_sums`.
    """
    halves, slack = _laws(noise)
    return 2 * np.cumsum(halves, axis=1) - halves[:, :1] - slack


def prefix_laws(noise: Agreeing) -> tuple[Floats, Floats] | None:
    """The probabilities P(S_g = t) for g = 0, …, n and t = 0, …, N/2 − 1, and an error bound.

    For each g, the error of any sum of its probabilities is at most the bound. The shapes are (n +
    1, N/2) and (n + 1, 1); N is `_window_of_sums`. None if `law_work` is too large.
    """
    return _laws(noise) if law_work(noise) <= MOST_LAW_WORK else None


@lru_cache(maxsize=16)
def _laws(noise: Agreeing) -> tuple[Floats, Floats]:
    numbers = _window_of_sums(noise)
    laws = np.fft.irfft(_characteristic(noise, numbers), axis=0).T
    excess = max(float(laws.sum(axis=1).max() - 1), 0.0)
    beyond = prefix_moments(noise)[:, -1:] / (numbers / 2) ** ORDERS[-1]
    return laws[:, : numbers // 2], beyond + excess + GIVEN_AWAY


def _characteristic(noise: Agreeing, numbers: int) -> Floats:
    """The numbers E cos(uS_g) for u = 2πj/N, j = 0, …, N/2 and g = 0, …, n; N is `numbers`.

    The shape is (N/2 + 1, n + 1). The pass upwards carries m(t) = E[e^(iuw); t] of a node, where w
    is the sum of its cells among the first g. The noise −z of all cells has the law of the noise z.
    So m(−t) is the conjugate of m(t), and all spectra are real.
    """
    size, rates = find_window(noise), rates_of(noise)
    solved = solve(noise.branches, rates)
    lengths, points = np.arange(size // 2 + 1), np.arange(size)
    subtrees = [cut_law(law.values, size) for (law,) in solved.subtrees]
    cell = np.fft.fft(subtrees[-1]).real
    powers = [
        np.fft.fft(law).real ** np.arange(b)[:, None]
        for law, b in zip(subtrees[1:], noise.branches, strict=True)
    ]
    twice = [np.concatenate([law, law], axis=1) for law in powers]
    weights = [
        np.exp(-rate * lengths) / acceptance
        for rate, (acceptance,) in zip(rates[:-1], solved.acceptance, strict=True)
    ]
    at_root = np.fft.irfft(weights[0], size)
    rows: list[Floats] = []
    for j in range(numbers // 2 + 1):
        turn = j * (size // numbers)  # e^(iut)·A has the spectrum of A, shifted by `turn`
        parts = cell[None, :]
        beside = [
            counted[:, size - turn : 2 * size - turn] * power[::-1]
            for counted, power in zip(twice, powers, strict=True)
        ]  # H, for k = 0, …, b − 1
        for of_child, weight in zip(reversed(beside[1:]), reversed(weights[1:]), strict=True):
            parts = _above_counted(parts, of_child, weight, turn)
        sums = (beside[0] * at_root) @ parts.T
        whole = subtrees[0] @ np.cos(2 * math.pi * turn / size * points)
        rows.append(np.append(sums.reshape(-1), whole))
    return np.stack(rows)


def _above_counted(parts: Floats, beside: Floats, weight: Floats, turn: int) -> Floats:
    """The spectra of m of a node for each o below its number c of cells.

    u is 2π·`turn` divided by the window of the nodes' sums.

    `parts` are the spectra of a child's m by o', and `beside` are the spectra of H by k. The last o
    cells have the law of the first o, so m for c − o cells is e^(iut) times the conjugate of m for
    o cells. The weight is symmetric, so the transform before it and the inverse transform after it
    may change places.
    """
    below, size = parts.shape
    middle, cells = len(beside) * below // 2, len(beside) * below
    blocks = [
        np.fft.irfft(np.fft.rfft(of_siblings * parts[: middle + 1 - first]) * weight, size)
        for of_siblings, first in zip(beside, range(0, middle + 1, below), strict=False)
    ]
    rows = np.concatenate(blocks)
    mirrored = rows[(cells - 1) // 2 : 0 : -1, ::-1]  # at frequency −f − 1
    return np.concatenate([rows, np.roll(mirrored, turn + 1, axis=1)])
