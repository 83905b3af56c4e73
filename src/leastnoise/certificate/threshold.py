"""A certificate for groups that nobody listed: a group's noisy row is published from a count on.

The keys are data. A group that nobody is in can't be named; one that a single unit is in may be
published, with a small probability that counts as δ (theory/release.md §9).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache, lru_cache
from typing import ClassVar, final

from flint import arb

from leastnoise._record import field, instance_of, record, takes, whole
from leastnoise.accounting.proof.composed import prove_composed
from leastnoise.balls.core import PLAIN_BITS, ball, float_above, precision
from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.of_tables import TableCertificate
from leastnoise.errors import NotApplicable, NotCertified, NotRegistered
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import Interval, exact
from leastnoise.guarantees.sensitivity import Neighbours
from leastnoise.noise.question import Releases
from leastnoise.noise.registry import part_of, registered
from leastnoise.numerics.bisection import Bisection

_ASSUMPTION = (
    "a group's row is published only if its noisy count, as it is published, reaches the "
    "threshold, or by a fair coin of that chance if it is one step of the grid below; nothing is "
    "said of other groups, not even how many there are"
)
_COIN = 2**20  # chances are so many parts of it


@final
@record()
class ThresholdCertificate(TableCertificate):
    """The statement: publishing the rows of groups that nobody listed meets `budget`.

    A group's row is its numbers plus the `noise`, drawn anew for each group. It is published if the
    number at `coordinate`, rounded to the noise's grid, is at least `threshold`; one step of the
    grid below it is, too, with the probability `chance_below`, by a fresh coin. `noise` is a
    certificate about as many draws as a unit may be in groups (its `compositions`), each for what a
    unit that is there or not adds to one row; to the count it adds at most `reach`.

    notation: k groups, p₁ the chance that the row of a group with this unit alone is published,
    p_j = 1 − (1 − p₁)^j, δ_m(ε) of m draws. Where j of a unit's groups have nobody else, the other
    k − j are noise that is post-processed: δ = max_j p_j + (1 − p_j)·δ_(k−j)(ε), with add-remove
    `neighbours`. With replace-one ones it is shown at ε/2 and δ/(1 + e^(ε/2)), through the table
    without either unit.
    """

    kind: ClassVar[str] = "threshold-certificate"
    assumption: ClassVar[str] = _ASSUMPTION
    noise: Certificate = field(converter=instance_of(Certificate, like="a Certificate"))
    threshold: Fraction = field(converter=takes(exact))
    reach: Fraction = field(converter=takes(exact), default=Fraction(1))
    chance_below: Fraction = field(converter=takes(exact), default=Fraction(0))
    coordinate: int = field(converter=whole(least=0), default=0)

    @property
    def groups(self) -> int:
        """In how many groups a unit may be."""
        return self.noise.compositions

    @property
    def sampling_rate(self) -> Fraction:
        """That of the noise: what is stated is about whole tables, where it is 1."""
        return self.noise.sampling_rate

    def verify(self) -> Interval:
        self.noise.verify()
        return super().verify()

    def chance_alone(self) -> arb:
        """Return a ball no point of which is below p₁: reach + X is published."""
        at, below = self._reached(0), self.chance_below
        return at if not below else ball(1 - below) * at + ball(below) * self._reached(1)

    def _reached(self, steps: int) -> arb:
        """Enclose P(reach + X is, rounded, so many steps below the threshold at least)."""
        noise, grid = self.noise.noise, self.noise.grid
        if registered(type(noise)).beyond is None:
            why = "the chance of a large error isn't proved for it"
            raise NotApplicable(family=noise.name, why=why)
        if grid is None:
            raise NotApplicable(family=noise.name, why="its grid has to be known")
        # A little less than half of the grid below: noise on whole numbers may be at the very half,
        # which is rounded up, and P(X > t) leaves out X = t.
        edge = Fraction(1, 2**40)  # of the grid
        t = self.threshold - self.reach - grid * (steps + Fraction(1, 2) + edge)
        if t < 0:
            return arb(1)
        return part_of(type(noise), "beyond")(noise, t, self.coordinate)

    def _delta(self) -> tuple[float, str]:
        if why := self._why_unfit():
            return 1.0, why
        epsilon = self.budget.epsilon
        replaced = self.neighbours == "replace-one"
        with precision(PLAIN_BITS):
            factor = 1 + ball(epsilon / 2).exp() if replaced else arb(1)
            try:
                alone, worst = self.chance_alone(), arb(0)
            except (NotApplicable, NotRegistered) as error:
                return 1.0, str(error)
            for new in range(self.groups + 1):
                published = 1 - (1 - alone) ** new
                rest = self._of_draws(self.groups - new, epsilon / 2 if replaced else epsilon)
                found = factor * (published + (1 - published) * rest)
                if not found <= ball(self.budget.delta):
                    return 1.0, (
                        f"Not proved: with {new} of {self.groups} groups that no other unit is in, "
                        "delta may be larger than the budget's."
                    )
                worst = worst.max(found)
        return float_above(worst), ""

    def _why_unfit(self) -> str:
        """Return why such a statement isn't about this noise; "" if it is."""
        noise = self.noise
        if noise.sampling_rate != 1 or noise.geometry is not None:
            return "Groups that nobody listed are for whole tables, and noise without a geometry."
        if not self.coordinate < noise.dimension:
            return "There is no such coordinate."
        if not 0 <= self.chance_below < 1:
            return "A coin falls with a probability: expected 0 <= chance_below < 1."
        if self.reach <= 0:
            return "A unit adds something to the count of its groups: expected reach > 0."
        if noise.neighbours != "add-remove":
            return "The certificate of the noise has to be about a unit that is there or not."
        return ""

    def _of_draws(self, draws: int, epsilon: Fraction) -> arb:
        """Return a number that δ(ε) of so many draws is at most."""
        if draws == 0:
            return arb(0)
        noise = self.noise
        if noise.proved and not noise.budget.delta and noise.budget.epsilon <= epsilon:
            return arb(0)  # all draws together are purely private, and so are some
        return _bound_draws(noise.one_release.times(draws), epsilon)


def find_threshold(
    *,
    budget: Budget,
    noise: Certificate,
    reach: Fraction,
    coordinate: int,
    neighbours: Neighbours,
    most: int,
) -> ThresholdCertificate:
    """Return the statement with the least threshold on the noise's grid, up to `most`.

    On a coarse grid with the largest chance below it, too. Raises NotCertified if none is proved.
    """
    grid = noise.grid
    if grid is None:
        raise NotApplicable(family=noise.noise.name, why="its grid has to be known")

    @cache
    def prove(steps: int, heads: int = 0) -> ThresholdCertificate:
        return ThresholdCertificate(
            budget=budget,
            noise=noise,
            threshold=steps * grid,
            reach=reach,
            coordinate=coordinate,
            neighbours=neighbours,
            chance_below=Fraction(heads, _COIN),
        ).prove()

    def holds(steps: int, heads: int = 0) -> bool:
        try:
            prove(steps, heads)
        except NotCertified:
            return False
        return True

    low = -(-reach // grid)  # at the reach the chance is ½ at least, and it falls from there
    first, last = low + max(1, round(reach / grid)), 2 * math.ceil(most / grid)
    found = Bisection().beyond(holds, low, first, most=last)
    if found is None:
        why = f"No threshold up to {most:,} is enough for this noise and budget."
        raise NotCertified(interval=None, why=why)
    threshold = found[1]
    fine = 2**6  # steps of a grid in one unit, from which on a chance between two is worth nothing
    coins = _COIN if grid * fine > reach else 1
    heads, _ = Bisection().close(lambda heads: not holds(threshold, heads), 0, coins)
    return prove(threshold, heads)


@lru_cache(maxsize=4096)
def _bound_draws(draws: Releases, epsilon: Fraction) -> arb:
    """Return an upper bound of δ(ε) of these draws; a search for a threshold asks often."""
    return prove_composed((draws,), epsilon).upper
