"""δ(ε) of sums of Gaussian kernels in floats, and their quantiles.

Notation: lengths are in units of σ, the width of a kernel. X is a draw of the noise, f its density,
and ℓ = (ln f)′. H(φ) is δ(ε) of the single shift φ; H′ and H″ are its derivatives. For an output y,
u = y + φ, and L(y) = ln f(u) − ln f(y) − ε is the privacy loss minus ε.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.noise.common.profile import solve
from leastnoise.noise.kernels.law import KernelNoise
from leastnoise.noise.kernels.profile.crossings import NOISE, Crossings, Kernels, crossings
from leastnoise.numerics.bisection import Bisection
from leastnoise.numerics.quadrature import gauss_legendre

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


# δ(ε) of sums of Gaussian kernels at their worst shift (theory/noise.md §1).
#
# H(φ) = ∫ (f(u) − e^ε f(y))₊ dy, an integral over {L > 0}; δ(ε) = sup H over the shifts.
#
# Let rᵢ be the sign changes of L, sᵢ = −1 where L falls and +1 where it rises. Then H′ = −Σ sᵢ f(rᵢ
# + φ), and H″ is the sum of f(u)ℓ(u)ℓ(y)/|L′| over the sign changes.


_BESIDE = 1e-5  # relative distance at which H′ is evaluated next to a jump
# The first nodes for H′, in units of the spacing. Near integer multiples H may fall and rise again
# within a small part of the spacing: if decay = ε, L vanishes on stretches of the line there.
_NODES = np.array(
    [0.05, 0.3, 0.5, 0.65, 0.76, 0.84, 0.89, 0.925, 0.95, 0.97, 0.985, 0.995, 1 - _BESIDE]
)
_FALL = Bisection(halvings=20)
_WITHIN = np.linspace(0.0, 1.0, 9)[:, None]
_ROUGH = 0.1  # the allowed relative deviation of H′ from its interpolation


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Peaks:
    """Local maxima of H: their shifts, ln H there, and flags that Newton's method converged.

    The arrays have one entry for each maximum. `settled` has the flags.
    """

    shifts: Array
    log_h: Array
    settled: NDArray[np.bool_]

    @property
    def log_delta(self) -> float:
        """The logarithm of δ(ε), which is H at the highest maximum."""
        return float(self.log_h.max())

    @property
    def worst(self) -> float:
        """The shift of the highest maximum."""
        return float(self.shifts[int(self.log_h.argmax())])


def peaks(law: Kernels, *, shift: float, epsilon: float) -> Peaks:
    """Return the local maxima of H on [0, shift] that may be the highest, and last the end `shift`.

    The zeros of H′ are isolated between nodes, and refined by Newton's method. The nodes get closer
    until H and H′ agree with Hermite's cubic. Nothing is proved: only the proof excludes a maximum
    that rises and falls between two nodes.
    """
    end = log_divergence(law, shift=shift, epsilon=epsilon)
    nodes, known, matters = _resolve(
        law, _first_nodes(law, shift, epsilon), end=math.exp(end), epsilon=epsilon
    )
    turns = np.flatnonzero((known[1, :-1] > 0) & (known[1, 1:] <= 0) & matters)
    low, high = nodes[turns], nodes[turns + 1]
    at = low + (high - low) * _fall_between(known[:, turns], known[:, turns + 1], high - low)
    polished = polish(law, at, low=low, high=high, epsilon=epsilon)
    return Peaks(
        shifts=np.append(polished.shifts, shift),
        log_h=np.append(polished.log_h, end),
        settled=np.append(polished.settled, True),
    )


def polish(law: Kernels, shifts: Array, *, low: Array, high: Array, epsilon: float) -> Peaks:
    """Refine the maxima of H near `shifts`, each in [low, high], by Newton's method.

    Where Newton's method stops, the remaining rise to the maximum, H′²/2|H″|, is added to H. If it
    finds no maximum, `settled` is False, and `log_h` belongs to some shift in [low, high].
    """
    phi, log_h, settled = shifts, np.zeros(0), np.zeros(0, dtype=bool)
    left_over = 1e-9  # relative rise that remains; once it is added, the error is far smaller
    for _ in range(16 if phi.size else 0):  # Newton's corrections
        roots = crossings(law, phi, epsilon + NOISE)
        first, second = _derivatives(roots, phi.size)
        log_h = _log_integrals(law, roots, phi, epsilon)
        h = np.exp(log_h)
        step = -first / np.where(second < 0, second, -np.inf)
        rise = np.where(second < 0, step * first / 2, 0.0)
        settled = (second < 0) & (rise <= left_over * h)
        log_h += np.log1p(np.minimum(rise, h) / np.maximum(h, 1e-300))
        if settled.all():
            phi = np.clip(phi + step, low, high)
            break
        low, high = np.where(first > 0, phi, low), np.where(first > 0, high, phi)
        following = phi + step
        good = (second < 0) & (following > low) & (following < high)
        phi = np.where(settled, phi, np.where(good, following, (low + high) / 2))
    return Peaks(shifts=phi, log_h=log_h, settled=settled)


def _first_nodes(law: Kernels, shift: float, epsilon: float) -> Array:
    """The shifts at which H and H′ are evaluated first, in ascending order."""
    extent = 2 * (law.modes + 1) * law.spacing + 20  # beyond, the two laws hardly overlap
    end = min(shift, extent)
    periods = np.arange(min(math.ceil(end / law.spacing), 2 * law.modes + 3))
    nodes = (law.spacing * (periods[:, None] + _NODES)).ravel()
    nodes = np.concatenate((nodes, _islands(law, epsilon), [end * (1 - _BESIDE)]))
    return np.unique(nodes[nodes < end])


def _islands(law: Kernels, epsilon: float) -> Array:
    """The distances from valleys to modes of f, which are shifts near which H may rise.

    Only distances at which L > 0, or hardly less, are returned. An island is a connected part of {L
    > 0} in the plane of y and φ. L is stationary only if ℓ(y) = ℓ(y + φ) = 0, and largest if y is a
    valley of f and y + φ a mode. Every bounded island that touches neither φ = 0 nor the longest
    shift contains such a point. So nodes that include these shifts miss no such island. Shifts that
    are equal up to a millionth of the spacing are merged.
    """
    step = 0.25 / law.sharp
    x = np.arange(0.0, law.modes * law.spacing + step, step) + step / 3
    log_f, mean = law.log_density_and_mean(x)
    slope = mean - x
    turns = np.flatnonzero((slope[:-1] > 0) != (slope[1:] > 0))
    is_mode = np.tile(slope[turns] > 0, 2)
    before, at = x[turns], x[turns + 1]
    slope_before, slope_at, height = slope[turns], slope[turns + 1], log_f[turns]
    for _ in range(5):  # secants to a mode or a valley
        change = slope_at - slope_before
        step = slope_at * (at - before) / np.where(change == 0, np.inf, change)
        before, at, slope_before = at, at - step, slope_at
        height, mean = law.log_density_and_mean(at)
        slope_at = mean - at
    # 0 is a mode or a valley, too, by symmetry
    at, height = np.concatenate((at, -at, [0.0])), np.concatenate((height, height, log_f[:1]))
    is_mode = np.append(is_mode, slope[0] <= 0)
    rise = height[is_mode][:, None] - height[~is_mode]
    gaps = (at[is_mode][:, None] - at[~is_mode])[rise > epsilon - 0.01]
    merged = 1e6
    rounded = np.rint(gaps * (merged / law.spacing))
    return law.spacing / merged * np.unique(rounded[rounded > 0])


def _resolve(
    law: Kernels, nodes: Array, *, end: float, epsilon: float
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Add nodes until the values at the nodes determine H near its maximum.

    Returns the nodes, the rows H, H′ and H″ there, and flags for cells that may contain the
    maximum. A cell is the interval between two nodes. A cell that may contain the maximum is halved
    in two cases. H′ may change sign more often than the ends of the cell show, or H differs from
    the integral of Hermite's cubic for H′. `end` is H at the longest shift.
    """
    known = _evaluate(law, nodes, epsilon)
    matters, doubtful = _examine_cells(nodes, known, end)
    for _ in range(8):  # halvings
        cells = np.flatnonzero(matters & doubtful)
        if not cells.size:
            break
        middle = (nodes[cells] + nodes[cells + 1]) / 2
        nodes = np.insert(nodes, cells + 1, middle)
        known = np.insert(known, cells + 1, _evaluate(law, middle, epsilon), axis=1)
        matters, doubtful = _examine_cells(nodes, known, end)
    return nodes, known, matters


def _examine_cells(
    nodes: Array, known: Array, end: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Flags for cells that may contain the maximum, and for cells that need another node.

    `known` has the rows H, H′ and H″ at the nodes, and `end` is H at the longest shift.
    """
    left, right, width = known[:, :-1], known[:, 1:], np.diff(nodes)
    best = max(end, float(known[0].max()))
    slope = _interpolate_slope(left, right, width, _WITHIN)
    size = np.abs(slope).max(axis=0)
    digits = 1e-12  # relative accuracy of H
    surprise = np.maximum(np.abs(_surprise(left, right, width)) - digits * best, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        wrong = surprise / (width * size)
    up, down = (width * np.maximum(part, 0.0).max(axis=0) for part in (slope, -slope))
    highest = np.minimum(left[0] + 1.2 * up, right[0] + 1.2 * down) + 3 * surprise
    matters = (highest >= best) & (size > 0) & (width > _BESIDE**2 * nodes[1:])
    signs = slope > 0
    changes = (signs[1:] != signs[:-1]).sum(axis=0)
    # H′ nears 0 within the cell, not towards an end
    inside = np.abs(slope[1:-1]).min(axis=0)
    touches = (changes == 0) & (inside <= 2 * _ROUGH * size)
    touches &= inside < np.minimum(np.abs(slope[0]), np.abs(slope[-1]))
    hidden = 1e-6  # largest deviation from the cubic without halving, relative to the maximum
    unsure = ~(wrong <= _ROUGH) | (surprise > hidden * best)
    return matters, touches | (changes > 1) | unsure


def _evaluate(law: Kernels, shifts: Array, epsilon: float) -> Array:
    """The rows H, H′ and H″ at `shifts`, shape (3, len(shifts))."""
    roots = crossings(law, shifts, epsilon + NOISE)
    h = np.exp(_log_integrals(law, roots, shifts, epsilon))
    return np.stack((h, *_derivatives(roots, shifts.size)))


def _interpolate_slope(left: Array, right: Array, width: Array, s: Array) -> Array:
    """Interpolate H′ by a quartic, from H, H′ and H″ at the `left` and `right` ends of the cells.

    `s` is the position in a cell, relative to its width.
    """
    value = (1 + 2 * s) * (1 - s) ** 2 * left[1] + s**2 * (3 - 2 * s) * right[1]
    value += width * (s * (1 - s) ** 2 * left[2] - s**2 * (1 - s) * right[2])
    missing = _surprise(left, right, width) / np.maximum(width, 1e-300)
    return value + 30 * missing * (s * (1 - s)) ** 2


def _surprise(left: Array, right: Array, width: Array) -> Array:
    """The rise of H in each cell, minus the rise that Hermite's cubic for H′ predicts."""
    mean = (left[1] + right[1]) / 2 + width * (left[2] - right[2]) / 12
    return right[0] - left[0] - width * mean


def _fall_between(left: Array, right: Array, width: Array) -> Array:
    """The position where H′ falls through 0 in each cell, relative to the cell's width."""
    low, high = _FALL.shares(lambda s: ~(_interpolate_slope(left, right, width, s) > 0), width.size)
    return (low + high) / 2


def _derivatives(roots: Crossings, count: int) -> Array:
    """The rows H′ and H″ at `count` shifts, shape (2, count), given the sign changes of L."""
    steepness = np.maximum(np.abs(roots.slope_u - roots.slope_y), 1e-300)
    signed = np.where(roots.falling, roots.f, -roots.f)
    bends = roots.f * roots.slope_u * roots.slope_y / steepness
    sums = [np.bincount(roots.index, part, minlength=count) for part in (signed, bends)]
    return np.stack(sums).astype(float)


def log_divergence(law: Kernels, *, shift: float, epsilon: float) -> float:
    """The logarithm of H(shift), which is δ(ε) of this single shift; −∞ for 0."""
    periods = round(shift / law.spacing)
    whole = 1e-14  # relative distance below which a shift counts as a multiple of the spacing
    if not law.folded and periods and abs(shift / law.spacing - periods) <= whole * periods:
        return _log_divergence_at_multiple(law, periods, epsilon)
    phi = np.array([shift])
    return float(_log_integrals(law, crossings(law, phi, epsilon + NOISE), phi, epsilon)[0])


def _log_integrals(law: Kernels, roots: Crossings, shifts: Array, epsilon: float) -> Array:
    """The values of ln H at `shifts`, from the positive integrand f(u)(1 − e^(−L)) where L > 0.

    `roots` are the ends of the intervals of {L > 0}. On each interval the integrand is a sum of
    Gaussians of width 1, so pieces of length at most 4 with 24 nodes give full precision. The
    leftmost interval begins at −∞; it is cut where f(u) is negligible.
    """
    ends, index = roots.roots[roots.falling], roots.index[roots.falling]
    phi = shifts[index]
    before = np.concatenate(([-np.inf], roots.roots[:-1]))
    fresh = np.concatenate(([True], roots.index[1:] != roots.index[:-1]))[: roots.index.size]
    # the first interval begins at −∞, where f falls at least like a normal tail
    first = np.minimum(ends + phi, -law.modes * law.spacing) - 10.0 - phi
    starts = np.where(fresh[roots.falling], first, before[: roots.roots.size][roots.falling])
    if law.folded:  # no piece contains a kink, at −φ or 0
        kinks = np.stack((starts, np.clip(-phi, starts, ends), np.clip(0.0, starts, ends), ends))
        starts, ends = kinks[:-1].ravel(), kinks[1:].ravel()
        index, phi = np.tile(index, 3), np.tile(phi, 3)
    pieces = np.maximum(np.ceil((ends - starts) / 4), 1).astype(np.intp)
    which = np.repeat(np.arange(ends.size), pieces)
    piece_index = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    width = ((ends - starts) / pieces)[which]
    unit, weight = gauss_legendre(0.0, 1.0, nodes=24)
    y = ((starts[which] + piece_index * width)[:, None] + width[:, None] * unit).ravel()
    u = y + np.repeat(phi[which], unit.size)
    log_f, _ = law.log_density_and_mean(np.concatenate((y, u)))
    log_u = log_f[y.size :]
    gap = log_u - log_f[: y.size] - epsilon
    values = np.exp(log_u) * -np.expm1(-np.maximum(gap, 0.0))
    parts = width * (values.reshape(-1, unit.size) @ weight)
    with np.errstate(divide="ignore"):
        return np.log(np.bincount(index[which], parts, minlength=shifts.size))


def _log_divergence_at_multiple(law: Kernels, periods: int, epsilon: float) -> float:
    """The value of ln H if the shift is `periods` spacings of a mixture; −∞ for 0.

    Let c = e^ε, t the spacing, w_k the weight of kernel k, and N the normal density. Then
    f(u) − c f(y) is the sum of d_k N(y − kt) over k, with d_k = w_{k+periods} − c w_k, where terms
    that cancel are exactly 0. The d_k change sign once, from positive to negative. So L falls
    through 0 once, and the ratio of the positive to the negative part decreases everywhere.
    """
    from scipy.special import ndtr  # noqa: PLC0415  (0.4 s, needed here alone)

    t, K = law.spacing, law.modes
    k = np.arange(-K - periods, K + 1)
    gap = law.decay * (np.abs(k) - np.abs(k + periods)) - epsilon  # ln (w_{k+periods}/c w_k)
    gap[np.abs(gap) <= 1e-15 * (periods * law.decay + epsilon)] = 0.0
    only_u, only_y = k < -K, k + periods > K
    gap[only_u], gap[only_y] = np.inf, -np.inf
    larger = np.where(gap > 0, -law.decay * np.abs(k + periods), epsilon - law.decay * np.abs(k))
    keep = (gap != 0) & ~(only_u & only_y)
    k, gap, larger = k[keep], gap[keep], larger[keep]
    log_d = larger + np.log(-np.expm1(-np.abs(gap))) - law.log_norm
    positive = gap > 0

    def parts(y: float) -> tuple[float, float]:
        """Return ln of the ratio of the positive to the negative terms at y, and its slope."""
        exponents = log_d - (y - k * t) ** 2 / 2
        logs, means = [], []
        for side in (positive, ~positive):
            top = exponents[side].max()
            mass = np.exp(exponents[side] - top)
            logs.append(top + math.log(mass.sum()))
            means.append(t * float(mass @ k[side]) / float(mass.sum()))
        return logs[0] - logs[1], means[0] - means[1]

    y = following = -law.modes * t
    low, high = -math.inf, math.inf
    for _ in range(60):  # Newton's steps in a bracket
        value, slope = parts(y)
        low, high = (y, high) if value > 0 else (low, y)
        following = y - value / slope
        if not low < following < high:
            following = (low + high) / 2 if math.isfinite(low + high) else following
        if abs(following - y) <= 1e-9:
            break
        y = following
    signed = np.where(positive, 1.0, -1.0) * np.exp(log_d) * ndtr(following - k * t)
    total = math.fsum(signed.tolist())
    return math.log(total) if total > 0 else -math.inf


# Quantiles of sums of Gaussian kernels.


def quantile(noise: KernelNoise, outside: float) -> float:
    """The magnitude, in scales, that the noise exceeds with probability `outside`.

    The probability is a sum of normal tails. An outer kernel of a folded law has only one tail, on
    its own side of 0.
    """
    spacing, decay = float(noise.spacing / noise.scale), float(noise.decay)
    if noise.folded:
        kernels = [(0.0, 1.0), (spacing, math.exp(-decay))]
        total = 1 + math.exp(-decay) * math.erfc(-spacing / math.sqrt(2))
    else:
        kernels = [
            (k * spacing, math.exp(-abs(k) * decay)) for k in range(-noise.modes, noise.modes + 1)
        ]
        total = math.fsum(weight for _, weight in kernels)

    def tail(t: float) -> float:
        return math.fsum(w * math.erfc((t - m) / math.sqrt(2)) for m, w in kernels) / total

    return solve(tail, outside, guess=1.5)
