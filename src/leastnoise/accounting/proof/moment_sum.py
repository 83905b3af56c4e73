"""Bounds on δ of l2, Gaussian and Laplace noise together, from moment generating functions.

Notation (theory/accounting.md §2): Mⱼ(s) = E e^(sZⱼ) is the moment generating function of the loss
Zⱼ of one release of law j, which is released kⱼ times. M = Π Mⱼ^kⱼ belongs to the total loss Z, and
K(c) = ln M(c). The tilt c > 0 is the real part of all nodes s, u the imaginary part of a node, and
Xⱼ(u) = Mⱼ(c + iu)/Mⱼ(c). κ(c) is the maximum of e^(−cy)(1 − e^(−y)) over y >= 0. For any c > 0 and
any spacing 2π/Λ of the nodes

```
T = (1/Λ)·Σ_n M(s)e^(−sε)/(s(s+1)), s = c + 2πin/Λ,  is  Σ_m e^(cmΛ)δ(ε + mΛ):
```

T is δ(ε) plus terms that aren't negative, so δ <= T. The other terms sum to at most

```
κ(c')e^(K(c')−c'ε)q/(1−q) + r/(1−r), q = e^(−(c'−c)Λ), r = e^(−cΛ), c' > c.
```

Nodes s = c + iu with |u| > U are left out. There |M(s)| <= M(c)·E for a bound E that falls as |u|
grows. So the omitted terms sum to less than e^(K−cε)E/(πU), with E at U. About 30 nodes usually
give 12 digits; few releases in few dimensions need more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Self, final

import numpy as np
from flint import acb, arb

from leastnoise.accounting.proof.moment_sum_laws import LossMoments, has_moments, is_l2, laws_of
from leastnoise.balls.core import ball, precision
from leastnoise.balls.losses import LONGEST_LOSS
from leastnoise.noise.question import ProvedDelta
from leastnoise.numerics.bisection import Bisection

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.noise.question import Releases

# Pairs (tolerance relative to δ, largest number of nodes); the first with enough nodes is used.
_TOLERANCES = ((1e-13, 400), (1e-11, 800), (1e-9, 1600), (1e-7, 4000), (1e-5, 4000))
_NEWTON = 60


def serves(parts: Sequence[Releases]) -> bool:
    """True if the proof by moments is tried for `parts`: all are l2, Gaussian or Laplace noise.

    False if a part is sampled. False, too, if all parts are Gaussian, since they have a closed form
    together. And False if all are Laplace, for which |M(c + iu)| doesn't fall to 0 as the imaginary
    part u grows.
    """
    if any(part.sampling_rate != 1 or not has_moments(part.noise) for part in parts):
        return False
    gaussian = [part.noise.gaussian_square is not None for part in parts]
    return any(is_l2(part.noise) for part in parts) or (any(gaussian) and not all(gaussian))


def prove_by_moments(
    parts: Sequence[Releases], epsilon: Fraction, *, closest: float = 0.0
) -> ProvedDelta | None:
    """Enclose δ(epsilon) of parts that this module `serves`.

    None if the search for c fails, if too many nodes are needed, or if the enclosure is wider than
    1e-4 of δ. A relative width of about `closest` is enough, so a larger `closest` takes fewer
    nodes.
    """
    inner, outer = (laws_of(parts, inner=side) for side in (True, False))
    upper = _ends(outer, epsilon, closest)
    lower = upper if inner == outer else _ends(inner, epsilon, closest)
    if lower is None or upper is None:
        return None
    return ProvedDelta(lower=lower[0], upper=upper[1])


def bound_by_moments(parts: Sequence[Releases], epsilon: Fraction) -> arb | None:
    """An upper bound on δ(epsilon), as a ball; None for the same reasons as `prove_by_moments`."""
    ends = _ends(laws_of(parts, inner=False), epsilon, 0.0)
    return None if ends is None else ends[1]


def _ends(laws: Sequence[LossMoments], epsilon: Fraction, closest: float) -> tuple[arb, arb] | None:
    """A lower and an upper bound on δ(epsilon), as balls.

    None for the same reasons as `prove_by_moments`.
    """
    reach = _reach(laws)
    if reach is not None and reach <= epsilon:
        return arb(0), arb(0)
    moment_sum = MomentSum.near(laws, epsilon, closest=closest)
    if moment_sum is None:
        return None
    lower, upper = moment_sum.delta(epsilon)
    return (lower, upper) if _useful(lower, upper) else None


def _useful(lower: arb, upper: arb) -> bool:
    with precision():
        useful = 1e-4  # relative width of δ; lattices are as good if it is more
        return bool(upper - lower <= arb(useful) * upper)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class MomentSum:
    """The terms of the sum T at its nodes, on the line Re s = c.

    They bound δ at every ε, most tightly near the ε for which c was chosen.
    """

    tilt: Fraction  # c
    spacing: Fraction  # 2π/Λ, of the nodes
    log_moment: arb  # K(c)
    nodes: list[acb]  # Π Xⱼ^kⱼ/(s(s+1)) at u >= 0; the node at −u is the conjugate
    dropped: arb  # E/(πU)
    far: tuple[Fraction, arb]  # c', K(c')
    reach: Fraction | None

    @classmethod
    def near(
        cls, laws: Sequence[LossMoments], epsilon: Fraction, *, closest: float = 0.0
    ) -> Self | None:
        """Choose c and the nodes for ε near `epsilon`; `closest` is as in `prove_by_moments`.

        None if the search for c fails, or if too many nodes are needed.
        """
        with precision():
            point = _saddle(laws, float(epsilon))
            return cls._at(laws, point, epsilon, closest) if point else None

    @classmethod
    def for_delta(cls, laws: Sequence[LossMoments], delta: float) -> tuple[Self, float] | None:
        """The sum for the ε >= 0 at which δ is about `delta`, and this approximate ε.

        None if the search for c fails, if too many nodes are needed, or if the bounds on δ are
        further apart than 1e-4 of δ.
        """
        with precision():
            point = _saddle_of(laws, math.log(delta))
        epsilon = max(0.0, point.epsilon) if point else 0.0
        moment_sum = cls.near(laws, Fraction(epsilon)) if point else None
        if moment_sum is None:
            return None
        epsilon = moment_sum.solve(delta, epsilon)
        lower, upper = moment_sum.delta(Fraction(epsilon))
        return (moment_sum, epsilon) if _useful(lower, upper) else None

    @classmethod
    def _at(
        cls, laws: Sequence[LossMoments], point: _Tilt, epsilon: Fraction, closest: float
    ) -> Self | None:
        for tolerance, most in _TOLERANCES:
            if tolerance < closest:
                continue
            spacing, far = _spacing(laws, point, epsilon, math.log(tolerance))
            # relative to e^(K−cε), so that the dropped nodes are `tolerance` of δ
            room = math.log(tolerance) + point.log_weight
            counted = _node_count(laws, point, spacing, room=room, most=most)
            if counted:
                break
        else:
            return None
        count, dropped = counted
        nodes = _nodes(laws, point.tilt, spacing, count)
        return cls(
            tilt=point.tilt,
            spacing=spacing,
            log_moment=point.log_moment,
            nodes=nodes,
            dropped=dropped,
            far=far,
            reach=_reach(laws),
        )

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """A lower and an upper bound on δ(epsilon), as balls."""
        with precision():
            e, c = ball(epsilon), ball(self.tilt)
            scale = (self.log_moment - c * e).exp()
            total = scale * self._sum(epsilon)
            dropped = scale * self.dropped
            return total - dropped - self._aliases(epsilon), total + dropped

    def solve(self, delta: float, near: float) -> float:
        """Approximate the ε >= 0 at which δ is `delta`, in floats, starting from `near`.

        The result is no part of the proof. Newton's method uses −c as the slope of ln δ, which is
        about the slope at the ε for which c is the best.
        """
        epsilon = near
        exact = 1e-15  # relative accuracy of ε
        for _ in range(_NEWTON):
            over = self._approximate(epsilon) / delta
            move = math.log(over) / float(self.tilt) if over > 0 else 0.0
            epsilon = max(0.0, epsilon + move)
            if abs(move) <= exact * epsilon:
                break
        return epsilon

    def _approximate(self, epsilon: float) -> float:
        weights, c, spacing = self._weights, float(self.tilt), float(self.spacing)
        turns = np.exp(-1j * spacing * epsilon * np.arange(len(weights)))
        total = float((weights @ turns).real) * spacing / (2 * math.pi)
        exponent = float(self.log_moment) - c * epsilon
        return total * math.exp(
            min(exponent, LONGEST_LOSS)
        )  # the limit only acts far from the root

    @cached_property
    def _weights(self) -> NDArray[np.complex128]:
        weights = 2 * np.array([complex(node.mid()) for node in self.nodes])
        weights[0] /= 2
        return weights

    def _sum(self, epsilon: Fraction) -> arb:
        total, angle = self.nodes[0].real, ball(-self.spacing * epsilon)
        for n, node in enumerate(self.nodes[1:], start=1):
            # computed anew, because powers of one ball would widen with n
            total += 2 * (node * acb(0, n * angle).exp()).real
        return total / self._period

    @property
    def _period(self) -> arb:
        return 2 * arb.pi() / ball(self.spacing)

    def _aliases(self, epsilon: Fraction) -> arb:
        """An upper bound on the sum of the terms of T other than δ(epsilon)."""
        below = (-ball(self.tilt) * self._period).exp()
        return below / (1 - below) + self._above(epsilon)

    def _above(self, epsilon: Fraction) -> arb:
        """An upper bound on the sum of the terms e^(cmΛ)·δ(ε + mΛ) of T over m > 0."""
        if self.reach is not None and ball(epsilon) + self._period >= ball(self.reach):
            return arb(0)
        tilt, log_moment = self.far
        q = (-ball(tilt - self.tilt) * self._period).exp()
        return (log_moment - ball(tilt * epsilon)).exp() * _kappa(ball(tilt)) * q / (1 - q)


@final
@dataclass(frozen=True, kw_only=True)
class _Tilt:
    """A candidate `tilt` for c, with the enclosure `log_moment` of K(c).

    `mean` and `variance` of the total loss Z, tilted by e^(cZ), are approximate. They guide the
    search and are no part of the proof.
    """

    tilt: Fraction
    log_moment: arb
    mean: float
    variance: float

    @classmethod
    def of(cls, laws: Sequence[LossMoments], c: float) -> Self:
        tilt = Fraction(c).limit_denominator(2**24) if c > 2**-8 else Fraction(c)
        chord = Fraction(1, 2**12)  # relative step in c for differences of ln M
        apart = tilt * chord
        low, here, high = _log_moments(laws, (tilt - apart, tilt, tilt + apart))
        return cls(
            tilt=tilt,
            log_moment=here,
            mean=float(((high - low) / (2 * ball(apart))).mid()),
            variance=float(((high - 2 * here + low) / ball(apart) ** 2).mid()),
        )

    @property
    def epsilon(self) -> float:
        """The approximate ε for which this c minimizes e^(K(c)−cε)/(c(c+1))."""
        c = float(self.tilt)
        return self.mean - 1 / c - 1 / (c + 1)

    @property
    def curvature(self) -> float:
        """The second derivative of K(c) − ln(c(c+1)), approximately."""
        c = float(self.tilt)
        return self.variance + c**-2 + (c + 1) ** -2

    @property
    def log_weight(self) -> float:
        """Approximate ln(δ(ε)/e^(K(c)−cε)) at this candidate's ε, by the saddle-point method."""
        c = float(self.tilt)
        return -math.log(c) - math.log1p(c) - math.log(2 * math.pi * self.curvature) / 2

    def log_delta(self, epsilon: float) -> float:
        """Approximate ln δ(epsilon) by the saddle-point method with this c."""
        exponent = self.log_moment - ball(self.tilt) * arb(epsilon)
        return float(exponent.mid()) + self.log_weight


def _log_moments(laws: Sequence[LossMoments], tilts: Sequence[Fraction]) -> list[arb]:
    totals = [arb(0) for _ in tilts]
    for law in laws:
        for i, log_moment in enumerate(law.log_moments(tilts)):
            totals[i] += law.compositions * log_moment
    return totals


def _reach(laws: Sequence[LossMoments]) -> Fraction | None:
    """The largest sum of the losses of all releases; None if it is unbounded."""
    total = Fraction(0)
    for law in laws:
        if law.reach is None:
            return None
        total += law.compositions * law.reach
    return total


def _saddle(laws: Sequence[LossMoments], epsilon: float, start: float = 1.0) -> _Tilt | None:
    """Approximate the c for which e^(K(c)−cε)/(c(c+1)) is least; None if the search fails."""

    def step(point: _Tilt) -> float:
        return (epsilon - point.epsilon) / point.curvature

    return _newton(laws, step, start)


def _saddle_of(laws: Sequence[LossMoments], log_delta: float) -> _Tilt | None:
    """Approximate the best c for the ε at which δ is e^log_delta; None if the search fails."""

    def step(point: _Tilt) -> float:
        # at its own ε the logarithm of e^(K−cε) falls by c·dε = c·curvature·dc
        over = point.log_delta(point.epsilon) - log_delta
        return over / (float(point.tilt) * point.curvature)

    return _newton(laws, step, 1.0)


def _newton(laws: Sequence[LossMoments], step: Callable[[_Tilt], float], c: float) -> _Tilt | None:
    enough = 1e-3  # of ln c
    for _ in range(_NEWTON):
        point = _Tilt.of(laws, c)
        if not (point.log_moment.is_finite() and point.variance > 0):
            return None
        move = step(point) / c
        if abs(move) < enough:
            return point
        c *= math.exp(min(1.0, move) if move > 0 else max(-1.0, move))
        if not 1e-9 < c < 1e24:  # the range of the search
            return None
    return None


def _spacing(
    laws: Sequence[LossMoments], point: _Tilt, epsilon: Fraction, log_tolerance: float
) -> tuple[Fraction, tuple[Fraction, arb]]:
    """A spacing 2π/Λ for which the terms of T other than δ are small, and a pair (c', K(c')).

    Small means about e^log_tolerance·δ, as predicted in floats; the proof bounds the terms
    afterwards. The bound on the terms holds for any c' > c.
    """
    wanted = log_tolerance + min(0.0, point.log_delta(float(epsilon)))
    period, reach = -wanted / float(point.tilt), _reach(laws)
    far = (2 * point.tilt, _log_moments(laws, (2 * point.tilt,))[0])
    for _ in range(12):  # ever longer periods
        beyond = float(epsilon) + period
        if reach is not None and beyond > reach:
            break
        there = _saddle(laws, beyond, float(point.tilt))
        if there and there.tilt > point.tilt:
            far = (there.tilt, there.log_moment)
            rise = float(there.tilt - point.tilt) * period
            if there.log_delta(float(epsilon)) - rise <= wanted:
                break
        period *= 1.25
    return Fraction(2 * math.pi / period), far


def _node_count(
    laws: Sequence[LossMoments], point: _Tilt, spacing: Fraction, *, room: float, most: int
) -> tuple[int, arb] | None:
    """A number of nodes with u > 0 for which E/(πU) <= e^room, and the value of E/(πU).

    U is the u of the last node, and E the bound of the module's docstring. None if the number
    exceeds `most`.
    """
    envelopes = [(law.envelope(point.tilt), law.compositions) for law in laws]

    def dropped(count: int) -> arb:
        bound = arb(1)
        for envelope, times in envelopes:
            bound *= envelope.beyond(spacing * count) ** times
        return bound / (arb.pi() * ball(spacing * count))

    def enough(count: int) -> bool:
        return bool(dropped(count) <= arb(room).exp())

    bracket = Bisection().beyond(
        enough, 4, 8, most=2 * most, until=lambda low, high: high - low <= 1 + low // 16
    )
    return (bracket[1], dropped(bracket[1])) if bracket and bracket[1] <= most else None


def _nodes(laws: Sequence[LossMoments], tilt: Fraction, spacing: Fraction, count: int) -> list[acb]:
    c, step = ball(tilt), ball(spacing)
    points = [acb(c, n * step) for n in range(count + 1)]
    products = [1 / (s * (s + 1)) for s in points]
    for law in laws:
        for i, ratio in enumerate(law.ratios(tilt, spacing, count)):
            products[i] *= ratio**law.compositions
    return products


def _kappa(c: arb) -> arb:
    """Enclose κ(c) = c^c/(c+1)^(c+1)."""
    return (c * c.log() - (c + 1) * (c + 1).log()).exp()
