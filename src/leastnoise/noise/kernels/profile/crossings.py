"""Sign changes of the privacy loss minus ε for sums of Gaussian kernels, for many shifts at once.

Notation: lengths are in units of σ, the width of a kernel. K (`modes`) is the number of kernels on
each side of the middle, and t (`spacing`) their distance. f is the density, φ a shift (`phi`), and
y an output. u = y + φ, and L(y) = ln f(u) − ln f(y) − ε is the privacy loss minus ε. The slope of
ln f is ℓ(x) = m(x) − x with m increasing (`KernelNoise` defines m). A cell is an interval of y.

L′ = m(u) − m(y) − φ, so the values of m at the ends of a cell bound L′ in the cell. These bounds
isolate the sign changes of L. A mixture has at most 4K + 1 sign changes (Descartes' rule for sums
of exponentials), and none beyond the outermost component on the right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from leastnoise.noise.common.profile import LOG_ROOT_2PI

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_CELL = 0.25  # length of the first cells, relative to the length over which m changes
# If decay = ε and φ is the spacing, L is 0 up to rounding over most of the line. So the condition
# is L > NOISE, which reduces H by less than NOISE.
NOISE = 1e-13
_S = np.linspace(0.0, 1.0, 9)[:, None]


class _SHARES:
    """Hermite's basis of cubics, and its derivatives, at nine equidistant points of a cell."""

    value_left, value_right = (1 + 2 * _S) * (1 - _S) ** 2, _S**2 * (3 - 2 * _S)
    slope_left, slope_right = _S * (1 - _S) ** 2, -(_S**2) * (1 - _S)
    change = 6 * _S * (1 - _S)
    change_left, change_right = (1 - _S) * (1 - 3 * _S), _S * (3 * _S - 2)


@final
@dataclass(frozen=True, kw_only=True)
class Kernels:
    """A `KernelNoise` in floats and in units of its scale, so that its kernels have width 1."""

    modes: int
    spacing: float
    decay: float
    folded: bool = False

    @cached_property
    def log_norm(self) -> float:
        """The logarithm of the mass of all kernels, relative to the mass of the kernel at 0."""
        if self.folded:
            right = math.erfc(-self.spacing / math.sqrt(2))  # 2Φ(t)
            return math.log1p(math.exp(-self.decay) * right)
        k = np.arange(1, self.modes + 1)
        return math.log1p(2 * float(np.exp(-k * self.decay).sum()))

    @property
    def sharp(self) -> float:
        """The inverse of the shortest length over which m changes."""
        return max(self.spacing, 1.0)

    def log_density_and_mean(self, x: Array) -> tuple[Array, Array]:
        """The values of ln f and m at the points x, each of shape (n,)."""
        if self.folded:
            return self._folded(x)
        t = self.spacing
        window = 8.8  # in σ; components further away are below e^-38 of the sum
        reach = min(self.modes, int(window / t) + 1)
        # the exponent −(x − kt)²/2 − |k|·decay is largest at kt = x moved towards 0 by decay/t
        k = np.copysign(np.maximum(np.abs(x) / t - self.decay / t**2, 0.0), x)
        k = np.rint(np.clip(k, reach - self.modes, self.modes - reach))
        k = k + np.arange(-reach, reach + 1.0)[:, None]
        exponents = x - k * t
        exponents *= exponents
        exponents *= -0.5
        exponents -= self.decay * np.abs(k)
        largest = exponents.max(axis=0)
        exponents -= largest
        mass = np.exp(exponents, out=exponents)
        total = mass.sum(axis=0)
        k *= mass
        return largest + np.log(total) - (self.log_norm + LOG_ROOT_2PI), t * k.sum(axis=0) / total

    def _folded(self, x: Array) -> tuple[Array, Array]:
        t, r = self.spacing, np.abs(x)
        side = t * (r - t / 2) - self.decay  # ln of the ratio of the outer to the inner kernel
        log_total = np.logaddexp(0.0, side)
        mean = t * np.exp(side - log_total)
        log_f = log_total - r * r / 2 - (self.log_norm + LOG_ROOT_2PI)
        return log_f, np.where(x < 0, -mean, mean)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Crossings:
    """The sign changes of L for several shifts, shift by shift and from left to right.

    Each root y has an entry in every array. `index` is the index of its shift, and `falling` is
    True if L falls there. f = f(u), slope_u = ℓ(u) and slope_y = ℓ(y) are values at the root.
    """

    index: NDArray[np.intp]
    roots: Array
    falling: NDArray[np.bool_]
    f: Array
    slope_u: Array
    slope_y: Array


def crossings(law: Kernels, shifts: Array, epsilon: float) -> Crossings:
    """Isolate the sign changes of L for every shift, then refine each by Newton's method."""
    index, a, b, left, right = _first_cells(law, shifts, epsilon)
    isolated: list[tuple[NDArray[Any], ...]] = []
    for _ in range(40):  # halvings of a cell
        phi = shifts[index]
        crossing, open_ = _classify(left, right, width=b - a, phi=phi, sharp=law.sharp)
        if crossing.any():
            ends = left[0][crossing], right[0][crossing]
            isolated.append((index[crossing], a[crossing], b[crossing], *ends))
        if not open_.any():
            break
        index, phi, a, b = index[open_], phi[open_], a[open_], b[open_]
        left, right = left[:, open_], right[:, open_]
        middle = (a + b) / 2
        centre = _ends(law, middle, phi, epsilon)[:3]
        index = np.concatenate((index, index))
        a, b = np.concatenate((a, middle)), np.concatenate((middle, b))
        left, right = np.concatenate((left, centre), 1), np.concatenate((centre, right), 1)
    empty = np.zeros(0)
    which, low, high, at_low, at_high = (
        (np.concatenate(parts) for parts in zip(*isolated, strict=True))
        if isolated
        else (empty,) * 5
    )
    order = np.lexsort((low, which))
    which, low, high = which[order].astype(np.intp), low[order], high[order]
    return _refine(
        law, low, high, ends=(at_low[order], at_high[order]), index=which, shifts=shifts,
        epsilon=epsilon,
    )  # fmt: skip


def _first_cells(
    law: Kernels, shifts: Array, epsilon: float
) -> tuple[NDArray[np.intp], Array, Array, Array, Array]:
    """Cells (intervals of y) that may contain a sign change of L, for each shift.

    Returns five arrays: the index of the cell's shift, its left end and its right end, and the
    values at these two ends. The values are the rows L, m(y) and m(u). L > 0 left of −Kt − φ/2 −
    ε/φ, since ln f + y²/2 has a slope of at least −Kt. Right of Kt, f decreases, so L <= −ε.
    """
    last = law.modes * law.spacing
    count = math.ceil(last * law.sharp / _CELL)
    inner = np.linspace(-last, last, 2 * count + 1)
    reach = shifts / 2 + epsilon / shifts + 1
    outer = np.stack((-last - reach, -last - np.minimum(shifts, reach)), axis=1)
    shape = (shifts.size, 2 + inner.size)
    if law.folded:  # cells end left and right of the kinks, at 0 and −φ
        kinks = np.stack((np.nextafter(-shifts, -np.inf), -shifts), axis=1)
        inner = np.concatenate((inner, [np.nextafter(0.0, -1.0)]))
        inner = np.broadcast_to(inner, (shifts.size, inner.size))
        nodes = np.sort(np.concatenate((outer, kinks, inner), axis=1), axis=1)
        nodes = np.maximum(nodes, outer[:, :1])
        log_y, mean_y = (v.reshape(nodes.shape) for v in law.log_density_and_mean(nodes.ravel()))
    else:
        nodes = np.concatenate((outer, np.broadcast_to(inner, (shifts.size, inner.size))), axis=1)
        far, near = law.log_density_and_mean(outer.ravel()), law.log_density_and_mean(inner)
        log_y, mean_y = np.empty(shape), np.empty(shape)
        for whole, left, right in zip((log_y, mean_y), far, near, strict=True):
            whole[:, :2], whole[:, 2:] = left.reshape(-1, 2), right
    log_u, mean_u = (
        v.reshape(nodes.shape) for v in law.log_density_and_mean((nodes + shifts[:, None]).ravel())
    )
    rise = log_u - log_y - epsilon
    # a bound on the slope of L excludes most cells
    least = mean_u[:, :-1] - mean_y[:, 1:] - shifts[:, None]
    most = mean_u[:, 1:] - mean_y[:, :-1] - shifts[:, None]
    steepest = np.maximum(np.abs(least), np.abs(most))
    away = np.abs(rise[:, :-1] + rise[:, 1:]) > np.diff(nodes, axis=1) * steepest
    sign = rise > 0
    away &= sign[:, :-1] == sign[:, 1:]
    index, cell = np.nonzero(~away)
    values = np.stack((rise, mean_y, mean_u))
    left, right = values[:, index, cell], values[:, index, cell + 1]
    return index, nodes[index, cell], nodes[index, cell + 1], left, right


def _ends(law: Kernels, y: Array, phi: Array, epsilon: float) -> Array:
    """The rows L(y), m(y), m(y + φ) and ln f(y + φ), shape (4, len(y)); `phi` is φ for each y."""
    log_f, mean = law.log_density_and_mean(np.concatenate((y, y + phi)))
    n = y.size
    return np.stack((log_f[n:] - log_f[:n] - epsilon, mean[:n], mean[n:], log_f[n:]))


def _classify(
    left: Array, right: Array, *, width: Array, phi: Array, sharp: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Flags for cells with exactly one sign change of L, and flags for undecided cells.

    An undecided cell may have several sign changes. `left` and `right` have the rows L, m(y) and
    m(u) at the ends of the cells. 1/`sharp` is the shortest length on which m changes.
    """
    least = left[2] - right[1] - phi  # bounds of L′, as m increases
    most = right[2] - left[1] - phi
    monotone = (least >= 0) | (most <= 0) | (width <= 1e-9)
    differ = (left[0] > 0) != (right[0] > 0)
    # two lines with the extreme slopes bound how far L can return between the ends
    span = np.where(monotone, 1.0, most - least)
    above = (right[0] * most - left[0] * least - most * least * width) / span
    below = (left[0] * most - right[0] * least + most * least * width) / span
    settled = monotone | (~differ & np.where(left[0] > 0, below > 0, above <= 0))
    rest = ~settled
    settled[rest] = _decide_by_cubic(
        left[:, rest], right[:, rest], width=width[rest], phi=phi[rest], sharp=sharp
    )
    return differ & settled, ~settled


def _decide_by_cubic(
    left: Array, right: Array, *, width: Array, phi: Array, sharp: float
) -> NDArray[np.bool_]:
    """Flags for small cells in which L keeps its sign, or is monotone, by Hermite's cubic for L.

    The cubic has an error of at most about (width·sharp)⁴/384/8. For a short φ it is smaller by the
    factor φ·sharp, as L is an integral over φ. If L and L′ are 0 up to rounding at both ends, L
    counts as 0 in between.
    """
    sign = np.where(left[0] > 0, 1.0, -1.0)
    slope_left, slope_right = (sign * (end[2] - end[1] - phi) * width for end in (left, right))
    value_left, value_right = sign * left[0], sign * right[0]
    relative = width * sharp
    error = 0.002 * relative**4 * np.minimum(1.0, phi * sharp)
    s = _SHARES
    cubic = s.value_left * value_left + s.slope_left * slope_left
    cubic += s.value_right * value_right + s.slope_right * slope_right
    away = (cubic.min(axis=0) > error) & (value_right > 0)
    change = s.change * (value_right - value_left)
    change += s.change_left * slope_left + s.change_right * slope_right
    steady = (change.min(axis=0) > 8 * error) | (change.max(axis=0) < -8 * error)
    flat = np.maximum(np.abs(slope_left), np.abs(slope_right)) < 1e-10
    nothing = (np.maximum(np.abs(value_left), np.abs(value_right)) < 100 * NOISE) & flat
    nothing &= value_right > 0
    return (relative <= _CELL * 1.0001) & (away | steady) | (relative <= 1) & nothing


def _refine(
    law: Kernels,
    low: Array,
    high: Array,
    *,
    ends: tuple[Array, Array],
    index: NDArray[np.intp],
    shifts: Array,
    epsilon: float,
) -> Crossings:
    """Refine the root of L in each cell [low, high] by Newton's steps.

    A step that leaves the bracket is replaced by a halving. `ends` are the values of L at `low` and
    at `high`, and `index` is the index of each cell's shift.
    """
    phi, falling = shifts[index], ends[0] > 0
    x = low + (high - low) * ends[0] / (ends[0] - ends[1])  # the root of the secant
    step, log_u, mean_y, mean_u = (np.zeros_like(x) for _ in range(4))
    root = 1e-10  # accuracy in σ; H is flat in its end points and changes by less than 1e-16
    for _ in range(60 if x.size else 0):  # Newton's steps
        value, mean_y, mean_u, log_u = _ends(law, x, phi, epsilon)
        before = (value > 0) == falling
        low, high = np.where(before, x, low), np.where(before, high, x)
        slope = mean_u - mean_y - phi
        step = value / np.where(slope == 0, np.inf, slope)
        # after a step the error is step²·|L″/2L′|, L″ at most about sharp²/4
        close = (step * law.sharp) ** 2 <= 8 * root * np.abs(slope)
        done = (np.abs(value) <= NOISE / 10) | close
        step[np.abs(value) <= NOISE / 10] = 0.0
        following = x - step
        if done.all():
            break
        inside = (following > low) & (following < high)
        x = np.where(inside | done, following, (low + high) / 2)
    step = x - np.clip(x - step, low, high)  # where Newton's method did not converge
    slope_u = mean_u - x - phi
    return Crossings(
        index=index,
        roots=x - step,
        falling=falling,
        f=np.exp(log_u - step * slope_u),
        slope_u=slope_u,
        slope_y=mean_y - x,
    )
