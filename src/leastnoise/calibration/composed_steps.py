"""Several releases with steps whose heights are searched for one: which shape is the best.

The best shape for one release at some (ε', δ') need not be the best for k; but what is lost is
accuracy alone: the proved bound on all k together is what ε' is solved for.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

from flint import arb

from leastnoise.balls.convolution import composed_upper
from leastnoise.balls.core import float_above
from leastnoise.balls.losses import symmetric_lattice
from leastnoise.calibration.composed import excess_of, law_of_best_share
from leastnoise.calibration.samples import share_of
from leastnoise.calibration.search import Search
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.hidden import Hidden
from leastnoise.guarantees.sensitivity import Integer
from leastnoise.noise.base import Noise
from leastnoise.noise.releases import Releases
from leastnoise.noise.request import Request
from leastnoise.noise.shells import fit as spherical_staircase
from leastnoise.noise.shells.law.spherical_staircase import SphericalStaircase
from leastnoise.noise.shells.profile import log_delta

# Of δ/k: what one release may leak by itself. Where losses just add up it is all of δ.
_SHARES = (Fraction(1, 2), Fraction(63, 64))
_RELATIVE = 1e-4  # of ε'
_MOST_DIMENSIONS = 10


def composed_whole_numbers(
    request: Request, compositions: int, rate: Fraction, *, search: Search
) -> Noise:
    """Return noise on whole numbers that may be drawn `compositions` times for a shift of 1; δ > 0.

    It can't be spread out, and has a largest loss of ε' but for what leaks: ε' is searched, between
    ε/k and ε/√k. Raises what `search` raises.
    """
    budget, hidden = request.budget, Hidden.of(Integer(request.shift))

    @cache
    def law_at(factor: float, share: Fraction) -> Noise:
        one = share_of(budget, factor, share / compositions, rate=rate)
        return search(replace(request, budget=one))

    def excess(law: Noise, fineness: int) -> float:
        wide = law.scaled(request.shift)
        part = Releases(noise=wide, hidden=hidden, count=compositions, rate=rate)
        return excess_of(part, budget, fineness=fineness)

    return law_of_best_share(
        law_at,
        excess,
        shares=_SHARES,
        compositions=compositions,
        loss=request.loss,
        relative=_RELATIVE,
    )


def composed_radial_steps(request: Request, compositions: int) -> SphericalStaircase:
    """Return the spherical staircase for a worst shift of 1 and `compositions` draws; ε > 0.

    Its steps are as wide as the shift, so that losses are −ε', 0, ε' and ∞, and δ at 0 and at ε'
    says all of them: ε' is searched in floats, before a proof decides. `fixed` may set gamma.
    Raises NotApplicable in more than 10 dimensions, InvalidArgument for other fixed parameters.
    """
    if request.dimension > _MOST_DIMENSIONS:
        why = f"for several releases its proof takes long beyond {_MOST_DIMENSIONS} dimensions"
        raise NotApplicable(family=SphericalStaircase.name, why=why)
    if others := sorted(set(request.fixed) - {"gamma"}):
        raise InvalidArgument(
            name="parameter",
            value=", ".join(others),
            expected="gamma at most: for several releases the others are searched",
        )
    budget = request.budget
    log_target = math.log(budget.delta.numerator) - math.log(budget.delta.denominator)

    @cache
    def law_at(factor: float, share: Fraction) -> SphericalStaircase:
        one = share_of(budget, factor, share / compositions, rate=Fraction(1))
        return spherical_staircase.search(replace(request, budget=one))

    def excess(law: SphericalStaircase, fineness: int) -> float:
        del fineness  # that lattice of three points is exact
        logs = (log_delta(law, shift=Fraction(1), epsilon=at) for at in (Fraction(0), law.decay))
        lattice = symmetric_lattice([arb(math.exp(one)) for one in logs], law.decay)
        found = float_above(composed_upper([(lattice, compositions)], budget.epsilon))
        return math.log(found) - log_target if found > 0 else -math.inf

    return law_of_best_share(
        law_at,
        excess,
        shares=_SHARES[:1],  # each law takes a second to search
        compositions=compositions,
        loss=request.loss,
        relative=_RELATIVE,
    )
