"""How much noise the sums of the first cells of a tree have: variances, and moments that bound it.

notation: as in `levels`; S_g is the sum of the first g cells, T of all n, and W = S_g − aT for a
level a: a first cell counts 1 − a times in it, another one −a times. n_l are the cells below a node
of level l. Of such a node let o cells be among the first: k whole children, o' cells of the next
one, o = k·n_{l+1} + o'. With w the part of W of those o cells and t their sum, what a pass upwards
carries is m_i(t) = E[w^i; t], i = 0, …, 8, where only weights of the node and below count:
m_i(t) = e^(−r_l|t|)·Σ_j C(i, j) (H_j * m'_{i−j})(t)/κ_l, with m' of the next child and H_j those of
k children that count (1 − a)t and b − 1 − k that count −at.

By Markov's inequality P(|X| >= h) <= E X^p/h^p for each even p; of sums of many cells p = 6 gives
about ±2.75 standard deviations for 95 %.

All is modulo a window, smaller than that of `levels`. On the event that every node is below the M
of `find_window`, that is exact; what else the window takes in is nowhere negative, and makes even
moments larger. Outside the event, of probability 1e-12, E W^p is below √(E W^2p)·1e-6.
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
"""What `moments_work` is at most: some four seconds a level, and a gigabyte."""
_MOST = ORDERS[-1]
_OUTSIDE = 1e-12
_CUT = 1e-15  # of a law, beyond its last number; that is below 1e-15 of the first
_LOST = 1e-14  # of the largest probability: its 8th moment is off by less than 1e-5
_ROUNDED_UP = 1e-3  # of a moment, by all of these
_ALLOWANCE = 1e-12  # of the largest moment of an order: FFTs are off by far less
_NO_FFT = 1 << 8  # the largest window in which laws are added without an FFT


def prefix_variances(branches: Sequence[int], variances: Sequence[float]) -> Floats:
    """Return Var S_g for g = 0, …, n, given the variance of a node of each level, the root's first.

    All children of a node are alike: c cells of the next child have with each whole child a
    covariance of c/n_{l+1} times that of two children.
    """
    found, below = np.array([0.0, variances[-1]]), 1
    for b, above, own in zip(
        reversed(branches), reversed(variances[:-1]), reversed(variances[1:]), strict=True
    ):
        covariance = (above - b * own) / (b * (b - 1)) if b > 1 else 0.0
        k, rest = np.divmod(np.arange(b * below), below)
        pairs = k * (k - 1) + 2 * k * rest / below
        found = np.append(k * own + pairs * covariance + found[rest], above)
        below *= b
    return found


@lru_cache(maxsize=16)
def prefix_moments(noise: Agreeing, level: float = 0.0) -> Floats:
    """Return what E (S_g − aT)^p is at most, p of `ORDERS`, g = 0, …, n; shape (n + 1, 4).

    In floats; a is the `level`. An allowance for rounding is added, and no moment is below the one
    that a lower order implies, E|W|^p >= (E|W|^q)^(p/q) for p > q. The last g cells have the same
    law as the first. Raises what `check_moments` raises.
    """
    check_moments(noise)
    size, branches = find_window(noise), noise.branches
    rates, solved = rates_of(noise), solve(branches, rates_of(noise))
    places = np.arange(size, dtype=np.float64)
    places[size // 2 :] -= size
    weights = [
        np.exp(-rate * np.abs(places)) / kept
        for rate, (kept,) in zip(rates[:-1], solved.kept, strict=True)
    ]
    alone = [cut_law(one.values, size) for (one,) in solved.alone]
    if size <= _NO_FFT:
        alone = _added_up(alone[-1], branches, weights)
    cell = np.zeros((1, _MOST + 1, size // 2 + 1), dtype=np.complex128)
    cell[0] = _powers(alone[-1], -level, places)
    parts: Iterable[Spectra] = [
        cell
    ]  # spectra of m_0, …, m_8 for o = 0, …, n_l − 1, some at a time
    for depth in reversed(range(1, len(branches))):
        beside = _beside(alone[depth + 1], branches[depth], level, places)
        parts = _above(beside, np.concatenate(list(parts)), weights[depth])
    beside = _beside(alone[1], branches[0], level, places)
    found = [_at_root(beside, one, weights[0]) for one in parts]
    whole = alone[0] @ np.power.outer((1 - level) * places, ORDERS)
    every = np.concatenate(found, axis=1).reshape(-1, len(ORDERS))
    moments = (1 + _ROUNDED_UP) * np.concatenate([every, whole[None, :]])
    moments[1:] += _ALLOWANCE * moments.max(axis=0)
    orders = np.array(ORDERS, dtype=np.float64)
    norms = np.maximum(moments, 0.0) ** (1 / orders)
    return np.asarray(np.maximum.accumulate(norms, axis=1) ** orders)


def check_moments(noise: Agreeing) -> None:
    """Raise NotApplicable for more than `MOST_WORK`, before anything of that size is allocated.

    Also what `level_laws` raises.
    """
    _check_work(moments_work(noise), "takes")


def check_least_moments(branches: Sequence[int], scale: Fraction) -> None:
    """Raise NotApplicable if `check_moments` would for all shares of a tree, before any is tried.

    `scale` is the scale of noise for which a move costs 1.
    """
    _check_work(least_moments_work(branches, scale), "takes at least")


def _check_work(work: int, takes: str) -> None:
    if work > MOST_WORK:
        why = f"how far its sums of cells are off {takes} {work:.2g} units of work, more than"
        raise NotApplicable(family="agreeing", why=f"{why} {MOST_WORK:,}")


def moments_work(noise: Agreeing) -> int:
    """Return the window times `_work_at_each`."""
    return find_window(noise) * _work_at_each(noise.branches)


def least_moments_work(branches: Sequence[int], scale: Fraction) -> int:
    """Return what `moments_work` is at least, whatever the shares.

    P(|Z| >= M) >= e^(−M/scale) for a cell's noise Z: as a move costs 1 at most, it is e^(−M/scale)
    of P(|Z| >= 0), or more. Laws end where less than 1e-15 is left out on each side.
    """
    tail = 2 * _CUT + _OUTSIDE / math.prod(branches)
    most = math.ceil(-float(scale) * math.log(tail))
    return _window(branches, most) * _work_at_each(branches)


def _work_at_each(branches: Sequence[int]) -> int:
    """Return the sum over nodes with children of b·n, of their b with n cells each.

    Of a level one node counts. Beside b·n, the convolutions, 20b and 8n count what is held at once.
    """
    below, nodes = 1, 0
    for b in reversed(branches):
        nodes += b * below + 20 * b + 8 * below
        below *= b
    return nodes


def find_window(noise: Agreeing) -> int:
    """Return a power of two above 2bM, where all nodes together pass M with 1e-12 at most."""
    laws = level_laws(noise)
    longest = max(len(one.probabilities) for one in laws)
    beyond = np.zeros(longest + 1)
    for one in laws:
        tails = np.cumsum(one.probabilities[::-1])[::-1]
        beyond[: len(tails)] += 2 * one.nodes * tails
    return _window(noise.branches, int(np.flatnonzero(beyond <= _OUTSIDE)[0]))


def _window(branches: Sequence[int], most: int) -> int:
    return 1 << max(6, math.ceil(math.log2(2 * max(branches) * most + 2)))


def cut_law(law: Floats, size: int) -> Floats:
    """Return the law modulo a smaller window, without what is beyond it."""
    found = np.zeros(size)
    half = min(size, len(law)) // 2
    found[:half] = law[:half]
    found[-half + 1 :] = law[-half + 1 :]
    return found


def _added_up(cell: Floats, branches: Sequence[int], weights: Sequence[Floats]) -> list[Floats]:
    """Return A_0, …, A_L from that of a cell, the weights divided by κ; all digits are right."""
    found = [cell]
    for b, weight in zip(reversed(branches), reversed(weights), strict=True):
        found.insert(0, _sums(found[0], b)[b] * weight)
    return found


def _sums(law: Floats, most: int) -> list[Floats]:
    """Return the laws of the sums of 0, …, `most` draws.

    In a narrow window by sums of positive products: after an FFT, what is far out would be rounding
    alone, and its 8th moment may exceed that of noise which is nearly always 0.
    """
    size = len(law)
    if size > _NO_FFT:
        one = np.fft.rfft(law)
        found = [np.fft.irfft(one**k, size) for k in range(most + 1)]
        for own in found:
            own[own < _LOST * own.max()] = 0.0
        return found
    found = [np.eye(1, size)[0]]
    for _ in range(most):
        longer = np.convolve(found[-1], law)
        found.append(longer[:size] + np.append(longer[size:], 0.0))
    return found


def _beside(law: Floats, b: int, level: float, places: Floats) -> list[Spectra]:
    """Return the spectra of H_0, …, H_8, for each k, of children that have this law."""
    added = _sums(law, b - 1)
    return [
        _added(_powers(own, 1 - level, places), _powers(other, -level, places))
        for own, other in zip(added, reversed(added), strict=True)
    ]


def _powers(law: Floats, times: float, places: Floats) -> Spectra:
    """Return the spectra of (times·t)^j·law, j = 0, …, 8."""
    return np.fft.rfft(np.power.outer(times * places, range(_MOST + 1)).T * law)


def _above(beside: Sequence[Spectra], below: Spectra, weight: Floats) -> Iterator[Spectra]:
    """Yield the spectra of a node's moments, from those of a child's, for one k after another."""
    size = len(weight)
    for one in beside:
        sums = np.fft.irfft(np.stack([_added(one, own) for own in below]), size)
        yield np.fft.rfft(weight * sums)


def _added(one: Spectra, other: Spectra) -> Spectra:
    """Return the moments of a sum from those of its parts, given the total: C(i, j) by binomial."""
    found = np.zeros_like(one)
    for i in range(_MOST + 1):
        for j in range(i + 1):
            found[i] += math.comb(i, j) * one[j] * other[i - j]
    return found


def _at_root(beside: Sequence[Spectra], below: Spectra, weight: Floats) -> Floats:
    """Return E S_g^p for each k and each of `below`, shape (b, o', 4).

    Sums over all t are inner products of spectra.
    """
    weights = np.fft.rfft(weight).real / len(weight)
    weights[1:-1] *= 2  # frequencies −f
    columns = below.reshape(-1, below.shape[-1]).T
    found: list[Floats] = []
    for one in beside:
        products = ((one * weights) @ columns).real.reshape(_MOST + 1, -1, _MOST + 1)
        moments = [
            sum((math.comb(p, j) * products[j, :, p - j] for j in range(p + 1)), np.zeros(1))
            for p in ORDERS
        ]
        found.append(np.stack(moments, axis=-1))
    return np.stack(found)


# The laws of the sums of the first cells of a tree, and half-widths that hold them.
#
# notation: as above. Given u, what a pass upwards carries is E[e^(iuw); t] of a node, w the
# sum of its o cells among the first, t that of all: m(t) = e^(−r_l|t|)·(H * m')(t)/κ_l, with m' of
# the next child, and H the law of k children that count e^(iut) and of b − 1 − k that count 1. At
# the root it is E e^(iuS_g), and u = 2πj/N for j = 0, …, N − 1 are all that there is to know of S_g
# modulo N.
#
# What is computed of P(|S_g| <= h) is too large by what all windows take in, at most: beyond N/2 it
# is below E S_g^8/(N/2)^8, and where a node is beyond its window it is the mass that is there in
# excess of 1 (see above), and 1e-12.


MOST_LAW_WORK = 1 << 29
"""What `law_work` is at most, some seconds; beyond it half-widths are those of moments."""


def prefix_half_widths(noise: Agreeing, coverage: float) -> NDArray[np.int64]:
    """Return whole h with P(|S_g| <= h) >= `coverage`, for g = 0, …, n, shape (n + 1,).

    Each is the smallest, but for rounding and what windows take in. Where laws would take too much
    `law_work` that is so of sums that are a node; the others are what Markov's inequality gives.
    Raises InvalidArgument unless 0 < coverage < 1, and where it is too near to 1 to tell; and what
    `check_moments` raises.
    """
    if not 0 < coverage < 1:
        raise InvalidArgument(name="coverage", value=coverage, expected="0 < coverage < 1")
    if law_work(noise) <= MOST_LAW_WORK:
        return _least_widths(_inside(noise), coverage)
    orders = np.array(ORDERS, dtype=np.float64)
    widths = (prefix_moments(noise) / (1 - coverage)) ** (1 / orders)
    found = np.floor(widths.min(axis=1)).astype(np.int64)  # P(|S| > h) is that of h + 1 or more
    for law in level_laws(noise):
        inside = 2 * np.cumsum(law.probabilities) - law.probabilities[0] - GIVEN_AWAY
        found[noise.dimension // law.nodes] = _least_widths(inside[None, :], coverage)[0]
    return found


def _least_widths(inside: Floats, coverage: float) -> NDArray[np.int64]:
    """Return the first h of each row that is inside with `coverage`."""
    sure = float(inside[:, -1].min())
    if sure < coverage:
        expected = f"coverage <= {sure:.12g} for this noise"
        raise InvalidArgument(name="coverage", value=coverage, expected=expected)
    return np.argmax(inside >= coverage, axis=1)


def law_work(noise: Agreeing) -> int:
    """Return the windows' product times the nodes' sums that are carried upwards."""
    below, sums = 1, 0
    for b in reversed(noise.branches):
        below *= b
        sums += below
    return find_window(noise) * _window_of_sums(noise) * sums


def _window_of_sums(noise: Agreeing) -> int:
    """Return a power of two N, at most the nodes' window, for which E S_g^8/(N/2)^8 <= 1e-6."""
    largest = float(prefix_moments(noise)[:, -1].max())
    least = 2 * (largest / GIVEN_AWAY) ** (1 / ORDERS[-1])
    return min(1 << max(6, math.ceil(math.log2(max(least, 1.0)))), find_window(noise))


def _inside(noise: Agreeing) -> Floats:
    """Return what P(|S_g| <= h) is at least, h = 0, …, N/2 − 1, shape (n + 1, N/2)."""
    halves, slack = _laws(noise)
    return 2 * np.cumsum(halves, axis=1) - halves[:, :1] - slack


def prefix_laws(noise: Agreeing) -> tuple[Floats, Floats] | None:
    """P(S_g = t) for t = 0, …, N/2 − 1, and how far off a sum of these is at most.

    For g = 0, …, n; shapes (n + 1, N/2) and (n + 1, 1). None where they take too much `law_work`.
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
    """Return E cos(uS_g) for u = 2πj/N, j = 0, …, N/2 and g = 0, …, n, N the `numbers`.

    As −z has the law of z, m(−t) is the conjugate of m(t), and all spectra are real.
    """
    size, rates = find_window(noise), rates_of(noise)
    solved = solve(noise.branches, rates)
    lengths, places = np.arange(size // 2 + 1), np.arange(size)
    alone = [cut_law(one.values, size) for (one,) in solved.alone]
    cell = np.fft.fft(alone[-1]).real
    powers = [
        np.fft.fft(one).real ** np.arange(b)[:, None]
        for one, b in zip(alone[1:], noise.branches, strict=True)
    ]
    twice = [np.concatenate([one, one], axis=1) for one in powers]
    weights = [
        np.exp(-rate * lengths) / kept
        for rate, (kept,) in zip(rates[:-1], solved.kept, strict=True)
    ]
    at_root = np.fft.irfft(weights[0], size)
    found: list[Floats] = []
    for j in range(numbers // 2 + 1):
        turn = j * (size // numbers)  # e^(iut)·A has the spectrum of A, moved by `turn`
        parts = cell[None, :]
        beside = [
            counted[:, size - turn : 2 * size - turn] * own[::-1]
            for counted, own in zip(twice, powers, strict=True)
        ]  # H, of k = 0, …, b − 1 that count
        for of_child, weight in zip(reversed(beside[1:]), reversed(weights[1:]), strict=True):
            parts = _above_counted(parts, of_child, weight, turn)
        sums = (beside[0] * at_root) @ parts.T
        whole = alone[0] @ np.cos(2 * math.pi * turn / size * places)
        found.append(np.append(sums.reshape(-1), whole))
    return np.stack(found)


def _above_counted(parts: Floats, beside: Floats, weight: Floats, turn: int) -> Floats:
    """Return the spectra of a node's m for o = 0, …, n − 1, from those of a child's, and of H.

    The last o cells have the law of the first, so that m of n − o cells is e^(iut) times the
    conjugate of m of o. A weight is symmetric, so that the transforms around it may change places.
    """
    below, size = parts.shape
    middle, cells = len(beside) * below // 2, len(beside) * below
    found = [
        np.fft.irfft(np.fft.rfft(one * parts[: middle + 1 - first]) * weight, size)
        for one, first in zip(beside, range(0, middle + 1, below), strict=False)
    ]
    rows = np.concatenate(found)
    mirrored = rows[(cells - 1) // 2 : 0 : -1, ::-1]  # of −f − 1
    return np.concatenate([rows, np.roll(mirrored, turn + 1, axis=1)])
