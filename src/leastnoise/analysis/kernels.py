"""δ(ε) of sums of Gaussian kernels at their worst shift (theory/noise.md §1).

All lengths are in units of σ. notation: f the density, φ a shift, u = y + φ, c = e^ε,
L(y) = ln f(u) − ln f(y) − ε, ℓ = (ln f)′ = m(x) − x with m increasing (`noise.kernels`).
H(φ) = ∫ (f(u) − c f(y))₊ dy, an integral over {L > 0}; δ(ε) = sup H over the shifts.

L′ = m(u) − m(y) − φ, so that values of m at the ends of a cell bound L′ in it: this is how sign
changes of L are isolated. There are at most 4K + 1 of them in a mixture (Descartes' rule for sums
of exponentials), and none beyond the outermost component on the right.

With rᵢ the sign changes, sᵢ = −1 where L falls and +1 where it rises: H′ = −Σ sᵢ f(rᵢ + φ),
H″ = Σ f(u)ℓ(u)ℓ(y)/|L′| there, and for a mixture σ∂H/∂σ = −Σ f(u)|L′| (heat equation).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.numerics.quadrature import gauss_legendre

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_WINDOW = 8.8  # in σ: what is farther from its component is e^-38 of the whole
_ROUNDS = 40  # halvings of a cell; the last are 2^-40 of a quarter of the spacing
_NEWTON = 60
_ROOT = 1e-9  # in σ: H is flat in its end points, so this costs it less than 1e-16
_BESIDE = 1e-5  # a shift is looked at from this (relative) distance where H′ may jump
# Where H′ is looked at first, in units of the spacing. Towards whole multiples H may fall and rise
# again within a small part of it: where decay = ε, L vanishes on stretches of the line there.
_NODES = np.array([0.01, 0.3, 0.6, 0.75, 0.85, 0.91, 0.945, 0.97, 0.985, 0.995, 1 - _BESIDE])
_HALVINGS = 6
# Where decay = ε and φ is the spacing, L is 0 up to rounding over most of the line: what counts is
# L > _NOISE, which loses less than _NOISE of H.
_NOISE = 1e-13
_LOG_ROOT_2PI = math.log(2 * math.pi) / 2


@final
@dataclass(frozen=True, kw_only=True)
class Kernels:
    """Kernels of width 1 at k·spacing, weights ∝ e^(−|k|·decay); see `KernelNoise`."""

    modes: int
    spacing: float
    decay: float
    folded: bool = False

    @cached_property
    def _log_norm(self) -> float:
        if self.folded:
            right = math.erfc(-self.spacing / math.sqrt(2))  # 2Φ(t)
            return math.log1p(math.exp(-self.decay) * right) + _LOG_ROOT_2PI
        k = np.arange(1, self.modes + 1)
        return math.log1p(2 * float(np.exp(-k * self.decay).sum())) + _LOG_ROOT_2PI

    def log_density_and_mean(self, x: Array) -> tuple[Array, Array]:
        """Return ln f and m at the points x, each of shape (n,)."""
        if self.folded:
            return self._folded(x)
        t = self.spacing
        reach = min(self.modes, int(_WINDOW / t) + 1)
        # the exponent −(x − kt)²/2 − |k|·decay is largest at kt = x moved towards 0 by decay/t
        k = np.sign(x) * np.maximum(np.abs(x) / t - self.decay / t**2, 0.0)
        k = np.rint(np.clip(k, reach - self.modes, self.modes - reach))
        k = k[:, None] + np.arange(-reach, reach + 1)
        exponents = x[:, None] - k * t
        exponents *= exponents
        exponents *= -0.5
        exponents -= self.decay * np.abs(k)
        largest = exponents.max(axis=1)
        exponents -= largest[:, None]
        mass = np.exp(exponents, out=exponents)
        total = mass.sum(axis=1)
        k *= mass
        return largest + np.log(total) - self._log_norm, t * k.sum(axis=1) / total

    def _folded(self, x: Array) -> tuple[Array, Array]:
        t, r = self.spacing, np.abs(x)
        side = t * (r - t / 2) - self.decay  # log of the outer kernel over the inner one
        log_total = np.logaddexp(0.0, side)
        mean = t * np.exp(side - log_total)
        return log_total - r * r / 2 - self._log_norm, np.where(x < 0, -mean, mean)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _Crossings:
    """The sign changes of L for several shifts: roots r in y, which shift each is for, and more."""

    index: NDArray[np.intp]
    roots: Array
    falling: NDArray[np.bool_]


def log_delta(law: Kernels, *, shift: float, epsilon: float) -> float:
    """Return ln sup H over [0, shift], to about 1e-12; −inf if H vanishes in floats."""
    return worst_shift(law, shift=shift, epsilon=epsilon)[0]


def worst_shift(law: Kernels, *, shift: float, epsilon: float) -> tuple[float, float]:
    """Return ln sup H over [0, shift] and a shift where it is met.

    H′ is evaluated at nodes, and its zeros where it stops being positive are found by Newton's
    method. Nothing is proved: a maximum that rises and falls between two nodes is for `certify`.
    """
    peaks = _peaks(law, shift=shift, epsilon=epsilon)
    return max((log_divergence(law, shift=phi, epsilon=epsilon), phi) for phi in peaks)


def _peaks(law: Kernels, *, shift: float, epsilon: float) -> list[float]:
    """Local maxima of H on [0, shift]."""
    extent = 2 * (law.modes + 1) * law.spacing + 20  # beyond, the two laws hardly overlap
    end = min(shift, extent)
    periods = np.arange(min(math.ceil(end / law.spacing), 2 * law.modes + 3))
    nodes = (law.spacing * (periods[:, None] + _NODES)).ravel()
    nodes = np.concatenate((nodes, _islands(law, epsilon), [end * (1 - _BESIDE)]))
    nodes = np.unique(nodes[nodes < end])
    nodes, slopes = _resolved(law, nodes, epsilon)
    peaks = [shift]
    turns = np.flatnonzero((slopes[:-1] > 0) & (slopes[1:] <= 0))
    peaks += [_peak_between(law, nodes[i], nodes[i + 1], epsilon) for i in turns]
    if slopes[0] < 0:
        peaks.append(_peak_between(law, nodes[0] / 64, nodes[0], epsilon))
    return peaks


def _islands(law: Kernels, epsilon: float) -> Array:
    """Return shifts between the centres of the islands of {L > 0} in the plane of y and φ.

    L(y, φ) is stationary only where ℓ(y) = ℓ(y + φ) = 0, and largest where y is a valley of f and
    y + φ a mode. Every island that doesn't reach the border holds such a point, so no rise of H is
    overlooked between these shifts (equal ones, up to a thousandth of the spacing, are merged).
    """
    step = 0.25 / max(law.spacing, 1.0)
    x = np.arange(0.0, law.modes * law.spacing + step, step) + step / 3
    log_f, mean = law.log_density_and_mean(x)
    slope = mean - x
    turns = np.flatnonzero((slope[:-1] > 0) != (slope[1:] > 0))
    at = x[turns] + step * slope[turns] / (slope[turns] - slope[turns + 1])
    at, height = np.concatenate((at, -at)), np.tile(log_f[turns], 2)
    is_mode = np.tile(slope[turns] > 0, 2)
    # 0 is a mode or a valley, too, by symmetry
    at, height = np.append(at, 0.0), np.append(height, log_f[0])
    is_mode = np.append(is_mode, slope[0] <= 0)
    rise = height[is_mode][:, None] - height[~is_mode]
    gaps = (at[is_mode][:, None] - at[~is_mode])[rise > epsilon - 0.1]  # 0.1: heights are rough
    rounded = np.rint(gaps * (1000 / law.spacing))
    return law.spacing / 1000 * np.unique(rounded[rounded > 0])


def _resolved(law: Kernels, nodes: Array, epsilon: float) -> tuple[Array, Array]:
    """Return shifts and the sign of H′ there, so close that no sign change hides between two.

    A cell is halved until Hermite's cubic through H′ and H″ at its ends foretells H′ in its middle.
    """
    first, second = _slopes(law, nodes, epsilon)
    signs = [(nodes, first)]
    left = np.stack((nodes[:-1], first[:-1], second[:-1]))
    right = np.stack((nodes[1:], first[1:], second[1:]))
    for _ in range(_HALVINGS):
        middle = (left[0] + right[0]) / 2
        first, second = _slopes(law, middle, epsilon)
        centre = np.stack((middle, first, second))
        signs.append((middle, first))
        foretold = (left[1] + right[1]) / 2 + (right[0] - left[0]) * (left[2] - right[2]) / 8
        least = np.minimum(np.minimum(np.abs(left[1]), np.abs(right[1])), np.abs(first))
        open_ = np.abs(foretold - first) > 0.5 * least
        if not open_.any():
            break
        left, centre, right = left[:, open_], centre[:, open_], right[:, open_]
        left, right = np.concatenate((left, centre), 1), np.concatenate((centre, right), 1)
    shifts, slopes = (np.concatenate(parts) for parts in zip(*signs, strict=True))
    order = np.argsort(shifts)
    return shifts[order], slopes[order]


def _peak_between(law: Kernels, low: float, high: float, epsilon: float) -> float:
    """Return about where H′ changes sign; H is flat there, so 1e-8 of the cell is plenty."""
    width, phi = high - low, (low + high) / 2
    for _ in range(_NEWTON):
        slope, curvature = (float(v[0]) for v in _slopes(law, np.array([phi]), epsilon))
        low, high = (phi, high) if slope > 0 else (low, phi)
        step = -slope / curvature if curvature < 0 else math.inf
        following = phi + step if low < phi + step < high else (low + high) / 2
        if abs(following - phi) <= 1e-8 * width:
            return following
        phi = following
    return phi


def _slopes(law: Kernels, shifts: Array, epsilon: float) -> tuple[Array, Array]:
    """Return H′ and H″ at `shifts`."""
    found = _crossings(law, shifts, epsilon + _NOISE)
    phi = shifts[found.index]
    log_f, mean_u = law.log_density_and_mean(found.roots + phi)
    _, mean_y = law.log_density_and_mean(found.roots)
    f = np.exp(log_f)
    slope_u, slope_y = mean_u - found.roots - phi, mean_y - found.roots
    steepness = np.maximum(np.abs(slope_u - slope_y), 1e-300)
    signed = np.where(found.falling, f, -f)
    first = np.bincount(found.index, signed, minlength=shifts.size)
    second = np.bincount(found.index, f * slope_u * slope_y / steepness, minlength=shifts.size)
    return np.asarray(first, dtype=float), np.asarray(second, dtype=float)


def _crossings(law: Kernels, shifts: Array, epsilon: float) -> _Crossings:
    """Isolate the sign changes of L for every shift, then close in on each by Newton's method."""
    phi, a, b = _first_cells(law, shifts, epsilon)
    # shift numbers, as floats so that they travel with the rest
    index = np.repeat(np.arange(shifts.size, dtype=float), a.size // shifts.size)
    left, right = _ends(law, a, phi, epsilon), _ends(law, b, phi, epsilon)
    kept: list[tuple[Array, ...]] = []
    for _ in range(_ROUNDS):
        crossing, open_ = _classified(
            left, right, width=b - a, phi=phi, sharp=max(law.spacing, 1.0)
        )
        if crossing.any():
            kept.append((index[crossing], a[crossing], b[crossing], left[0][crossing]))
        if not open_.any():
            break
        index, phi, a, b = index[open_], phi[open_], a[open_], b[open_]
        left, right = left[:, open_], right[:, open_]
        middle = (a + b) / 2
        centre = _ends(law, middle, phi, epsilon)
        index, phi = np.concatenate((index, index)), np.concatenate((phi, phi))
        a, b = np.concatenate((a, middle)), np.concatenate((middle, b))
        left, right = np.concatenate((left, centre), 1), np.concatenate((centre, right), 1)
    if not kept:
        return _Crossings(index=np.zeros(0, np.intp), roots=np.zeros(0), falling=np.zeros(0, bool))
    which, low, high, log_low = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    which = which.astype(np.intp)
    falling = log_low > 0
    roots = _closed_in(law, low, high, falling=falling, phi=shifts[which], epsilon=epsilon)
    return _Crossings(index=which, roots=roots, falling=falling)


def _first_cells(law: Kernels, shifts: Array, epsilon: float) -> tuple[Array, Array, Array]:
    """Return shift, left and right end of cells that hold all sign changes, shift by shift.

    For y < −Kt − φ/2 − ε/φ, L > 0: ln f + y²/2 has slope at least −Kt. For y > Kt, f falls, and
    L <= −ε.
    """
    t, last = law.spacing, law.modes * law.spacing
    if law.spacing * law.modes > 0:
        step = max(t / 4, 0.25) if not law.folded else t / 4
        count = max(1, math.ceil(last / step))
        inner = np.linspace(-last, last, 2 * count + 1)
    else:
        inner = np.zeros(1)
    first = -last - shifts / 2 - epsilon / shifts - 1
    extra = np.stack((first, -last - np.minimum(shifts, -first - last), -shifts), axis=1)
    nodes = np.concatenate((extra, np.broadcast_to(inner, (shifts.size, inner.size))), axis=1)
    nodes = np.sort(np.clip(nodes, first[:, None], None), axis=1)
    phi = np.repeat(shifts, nodes.shape[1] - 1)
    return phi, nodes[:, :-1].ravel(), nodes[:, 1:].ravel()


def _ends(law: Kernels, y: Array, phi: Array, epsilon: float) -> Array:
    """Return L(y), m(y) and m(y + φ), stacked."""
    log_f, mean = law.log_density_and_mean(np.concatenate((y, y + phi)))
    n = y.size
    return np.stack((log_f[n:] - log_f[:n] - epsilon, mean[:n], mean[n:]))


def _classified(
    left: Array, right: Array, *, width: Array, phi: Array, sharp: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which cells hold exactly one sign change, and which may hold several.

    m changes within lengths of 1/`sharp` and more.
    """
    least = left[2] - right[1] - phi  # bounds of L′, as m increases
    most = right[2] - left[1] - phi
    monotone = (least >= 0) | (most <= 0)
    differ = (left[0] > 0) != (right[0] > 0)
    # two lines of the steepest slopes allowed bound how far L can come back between the ends
    span = np.where(monotone, 1.0, most - least)
    above = (right[0] * most - left[0] * least - most * least * width) / span
    below = (left[0] * most - right[0] * least + most * least * width) / span
    same = np.where(left[0] > 0, below > 0, above <= 0) | monotone
    same[~same] = _stays_away(
        left[:, ~same], right[:, ~same], width=width[~same], phi=phi[~same], sharp=sharp
    )
    tiny = width <= 1e-9
    return differ & (monotone | tiny), np.where(differ, ~monotone, ~same) & ~tiny


def _stays_away(left: Array, right: Array, *, width: Array, phi: Array, sharp: float) -> Array:
    """Return which small cells keep the sign of their ends, by Hermite's cubic for L.

    The cubic errs by (width·sharp)⁴/384 times at most about 1/8. Ends that are 0 up to rounding
    mean a stretch where L is 0.
    """
    sign = np.sign(left[0])
    slope_left, slope_right = (sign * (end[2] - end[1] - phi) * width for end in (left, right))
    value_left, value_right = sign * left[0], sign * right[0]
    s = np.linspace(0.125, 0.875, 7)[:, None]
    cubic = (1 + 2 * s) * (1 - s) ** 2 * value_left + s * (1 - s) ** 2 * slope_left
    cubic += s**2 * (3 - 2 * s) * value_right - s**2 * (1 - s) * slope_right
    relative = width * sharp
    away = cubic.min(axis=0) > 0.002 * relative**4
    flat = np.maximum(np.abs(slope_left), np.abs(slope_right)) < 1e-10
    nothing = (np.maximum(value_left, value_right) < 100 * _NOISE) & flat
    return (relative <= 0.25) & away | (relative <= 1) & nothing


def _closed_in(
    law: Kernels,
    low: Array,
    high: Array,
    *,
    falling: NDArray[np.bool_],
    phi: Array,
    epsilon: float,
) -> Array:
    """Return the roots of L in [low, high]: Newton's steps, halvings where they leave."""
    x = (low + high) / 2
    for _ in range(_NEWTON):
        value, mean_y, mean_u = _ends(law, x, phi, epsilon)
        before = (value > 0) == falling
        low, high = np.where(before, x, low), np.where(before, high, x)
        slope = mean_u - mean_y - phi
        step = value / np.where(slope == 0, np.inf, slope)
        done = (np.abs(step) <= _ROOT) & (slope != 0) | (np.abs(value) <= _NOISE / 10)
        inside = (x - step > low) & (x - step < high)
        x = np.where(done, x, np.where(inside, x - step, (low + high) / 2))
        if done.all():
            break
    return x


def log_divergence(law: Kernels, *, shift: float, epsilon: float) -> float:
    """Return ln H(shift), from a positive integrand: f(u)(1 − e^(−L)) where L > 0.

    Each stretch of {L > 0} is a sum of Gaussians of width 1, so pieces of length 4 or less with 24
    nodes give all digits; the leftmost stretch is cut where f(u) is e^-45 of its end.
    """
    found = _crossings(law, np.array([shift]), epsilon + _NOISE)
    order = np.argsort(found.roots)
    roots, falling = found.roots[order], found.falling[order]
    starts, ends = roots[~falling], roots[falling]
    if not ends.size:
        return -math.inf
    # the first stretch comes from −∞; its density falls at least like a normal tail there
    first = min(ends[0] + shift, -law.modes * law.spacing) - 10.0 - shift
    starts = np.concatenate(([first], starts))
    pieces = np.maximum(np.ceil((ends - starts) / 4), 1).astype(np.intp)
    which = np.repeat(np.arange(ends.size), pieces)
    place = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    width = ((ends - starts) / pieces)[which]
    unit, weight = gauss_legendre(0.0, 1.0, nodes=24)
    y = ((starts[which] + place * width)[:, None] + width[:, None] * unit).ravel()
    log_f, _ = law.log_density_and_mean(np.concatenate((y, y + shift)))
    log_u = log_f[y.size :]
    gap = log_u - log_f[: y.size] - epsilon
    top = log_u.max()
    values = np.exp(log_u - top) * -np.expm1(-np.maximum(gap, 0.0))
    total = float(np.dot(values.reshape(-1, 24) @ weight, width))
    return math.log(total) + float(top) if total > 0 else -math.inf
