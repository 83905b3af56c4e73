"""The search for noise and a threshold for unlisted groups, from public numbers.

A group is published if its noisy count reaches the threshold. The count is of units; for quantiles,
it is of rows. Let n₅₀ and n₉₅ be the smallest exact counts with which a group is published with
probability ½ and .95. Candidates for the noise are ranked by n₅₀, then by the noise of the count: a
group that isn't published has no number at all. With `prefer = "accuracy"` candidates are ranked by
their noise first.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, final

from leastnoise.certificate.unlisted import find_threshold
from leastnoise.errors import InvalidArgument, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import decimal_text
from leastnoise.guarantees.sensitivity import L1, Integer
from leastnoise.mechanism.rounding import default_grid
from leastnoise.noise.draw import find_quantile
from leastnoise.noise.question import Question
from leastnoise.selection.public import find_candidate
from leastnoise.tables.answers.noisy import FINEST_GRID
from leastnoise.tables.layout.boundings.in_unlisted_groups import InUnlistedGroups
from leastnoise.tables.layout.layout import MAX_UNITS
from leastnoise.tables.spec.query import ACCURACY, SMALL_GROUPS

if TYPE_CHECKING:
    from leastnoise.certificate.certificate import Certificate
    from leastnoise.certificate.unlisted import ThresholdCertificate
    from leastnoise.guarantees.sensitivity import Neighbours, Sensitivity
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.spec.query import Preference

_AS_WHOLE = 1e-9  # rounding errors: a float this little below a number may stand for that number


@final
@dataclass(frozen=True, kw_only=True)
class GroupSizes:
    """The sizes of groups that are published with one noise: `half` is n₅₀, `nearly` is n₉₅.

    `noise` is the name of the noise. `std` is the standard deviation of the noise in a group's
    count. `threshold` is the smallest noisy count of a published group.
    """

    noise: str
    threshold: float
    half: int
    nearly: int
    std: float

    @classmethod
    def of(cls, claim: ThresholdCertificate, *, std_of_total: float | None = None) -> GroupSizes:
        """The sizes of groups that are published with this certificate.

        If the sum of all numbers decides on publication, `std_of_total` has to be given: the
        standard deviation of the noise in this sum.
        """
        noise, grid = claim.noise.noise, claim.noise.grid or Fraction(0)
        # With the noise X before rounding, a group of n is published if n + X >= edge. X is
        # symmetric: n₅₀ is near the edge, and n₉₅ near the edge plus a quantile of X.
        edge, ninety = float(claim.threshold - grid / 2), 0.0
        std = std_of_total
        if claim.coordinate is not None:
            ninety = find_quantile(noise, 0.9, claim.coordinate)
            std = math.sqrt(noise.variance_at(claim.coordinate))
        if std is None:
            raise TypeError("the standard deviation of a sum of all numbers has to be given")
        return cls(
            noise=noise.name,
            threshold=float(claim.threshold - (grid if claim.chance_below else 0)),
            half=_first(claim, 0.5, near=edge),
            nearly=_first(claim, 0.95, near=edge + ninety),
            std=std,
        )

    def in_words(self, claim: ThresholdCertificate) -> str:
        """Sentences about the threshold, and about the sizes of published groups."""
        return (
            f"A group is published if its noisy count is {self.least_count(claim)}. So a "
            f"{sizes_in_words('group of {}', 'published', self.half, self.nearly)}"
        )

    def least_count(self, claim: ThresholdCertificate) -> str:
        """The words for the noisy counts with which a group is published: "57 or more"."""
        chance = float(claim.chance_below)
        sometimes = (
            f", and with probability {chance:.3g} if its noisy count is {self.threshold:.6g}"
        )
        return f"{float(claim.threshold):.6g} or more{sometimes if chance else ''}"


def sizes_in_words(of_size: str, shown: str, half: int, nearly: int) -> str:
    """The sizes from which groups or keys are `shown` with probability ½ and .95, after an article.

    `of_size` has {} in place of the size: "group of {}". A probability may be far above ½ or .95,
    since sizes are whole numbers.
    """
    likely = f"{of_size.format(f'{half:,}')} is {shown} with a probability of at least"
    if half == nearly:
        return f"{likely} 95 %."
    return f"{likely} ½, and a {of_size.format(f'{nearly:,}')} with a probability of at least 95 %."


def _first(claim: ThresholdCertificate, chance: float, *, near: float) -> int:
    """The smallest count with which a group is published with probability `chance` or more.

    The probability may be missed by a rounding error (1e-9 of it). `near` is an estimate of this
    count; the search starts slightly below it and goes up.
    """
    units = max(math.floor(near - float(claim.noise.grid or 0)) - 1, 1)
    while publication_chance(claim, units) < chance * (1 - _AS_WHOLE):
        units += 1
    return units


def publication_chance(claim: ThresholdCertificate, units: int) -> float:
    """The probability with which a group of this many `units` is published, as a float."""
    grid = claim.noise.grid or Fraction(0)

    def reached(steps: int) -> float:
        t = claim.threshold - units - grid * (steps + Fraction(1, 2))
        below = float(claim.beyond(abs(t)).mid())
        return below if t >= 0 else 1 - below

    chance = float(claim.chance_below)
    return reached(0) if not chance else (1 - chance) * reached(0) + chance * reached(1)


@final
@dataclass(frozen=True, kw_only=True)
class Otherwise:
    """The noise that the spec would get with the other value of `prefer`.

    `noise` has the name of this noise, and the sizes of groups that it publishes. `ratio` is the
    standard deviation of this noise divided by the chosen noise's: the geometric mean over the
    published numbers. `counts` is True if the count that decides on publication is itself
    published.
    """

    noise: GroupSizes
    ratio: float
    counts: bool

    @classmethod
    def of(cls, layout: Layout, claim: ThresholdCertificate) -> Otherwise | None:
        """The noise for the other preference; None if `claim` has noise of the same family."""
        layout = replace(layout, accurate=not layout.accurate)
        best = find_claims(layout, claim.budget)[0]
        if best.noise.noise.name == claim.noise.noise.name:
            return None
        stds, drawn = _stds(layout, best), _stds(layout, claim)
        ratios = [std / other for std, other in zip(stds, drawn, strict=True)]
        return cls(
            noise=GroupSizes.of(best),
            ratio=statistics.geometric_mean(ratios),
            counts=any(layout.counted in uses for uses in layout.uses),
        )

    def in_words(self) -> str:
        """The effects of the other preference, to end a sentence about its noise."""
        of_count = f" (std {self.noise.std:.4g} of the count)" if self.counts else ""
        return (
            f"would be {self.ratio:.3g} times as large{of_count}, and a group of "
            f"{self.noise.half:,} would be published with a probability of at least ½."
        )


@final
@dataclass(frozen=True, kw_only=True)
class UnlistedPlan:
    """The noise and the threshold for unlisted groups, compared with alternatives.

    `claim` is the certificate, and `chosen` has the sizes of groups that it publishes. `others` has
    such sizes for other proved noise, and `plain` for Laplace noise with a threshold, all at the
    same budget. No mechanism at this budget publishes a group of fewer than `least` units with
    probability ½; `least` is None if this isn't known. `preferred` is the value of the spec's
    `prefer`. `otherwise` is the noise for its other value; None if it is the same noise.
    """

    claim: ThresholdCertificate
    chosen: GroupSizes
    others: tuple[GroupSizes, ...]
    plain: GroupSizes | None
    least: int | None
    preferred: Preference
    otherwise: Otherwise | None

    @classmethod
    def of(cls, layout: Layout, claim: ThresholdCertificate) -> UnlistedPlan:
        """The plan of the groups of a query, given its certificate."""
        chosen = GroupSizes.of(claim)
        offers = [GroupSizes.of(offer) for offer in find_claims(layout, claim.budget)]
        return cls(
            claim=claim,
            chosen=chosen,
            others=tuple(offer for offer in offers if offer.noise != chosen.noise),
            plain=_plain(layout, claim.budget),
            least=find_least(claim.budget, claim.neighbours),
            preferred=ACCURACY if layout.accurate else SMALL_GROUPS,
            otherwise=Otherwise.of(layout, claim),
        )

    def in_words(self) -> list[str]:
        """Sentences about the threshold, the sizes of published groups, and `prefer`."""
        least = (
            [] if self.least is None else [least_in_words(f"group of fewer than {self.least:,}")]
        )
        return [self.chosen.in_words(self.claim), *self._trade, *least]

    @property
    def _trade(self) -> list[str]:
        """Sentences about the other preference; empty if it would choose the same noise."""
        if self.otherwise is None:
            return []
        if self.preferred == ACCURACY:
            other = SMALL_GROUPS
            chosen = "The noise is chosen for small errors, so only larger groups are published."
        else:
            other = ACCURACY
            chosen = "The noise is chosen so that smaller groups are published, but it is larger."
        return [f'{chosen} With prefer = "{other}", the noise {self.otherwise.in_words()}']

    def to_record(self) -> dict[str, Any]:
        """The plan as JSON values, which follow from spec and certificate."""
        claim = self.claim
        return {
            "threshold": decimal_text(claim.threshold),
            "chance_below": decimal_text(claim.chance_below),
            "groups": claim.groups,
            "chosen": vars(self.chosen),
            "others": [vars(sizes) for sizes in self.others],
            "plain_laplace": None if self.plain is None else vars(self.plain),
            "least_possible": self.least,
            **({"prefer": ACCURACY} if self.preferred == ACCURACY else {}),
        }


def least_in_words(small: str) -> str:
    """A sentence that no mechanism publishes small groups or keys with probability ½.

    `small` names them, such as "group of fewer than 4".
    """
    return (
        f"With this part of the budget, no mechanism publishes a {small} with probability ½ or "
        "more."
    )


def find_claims(layout: Layout, budget: Budget) -> tuple[ThresholdCertificate, ...]:
    """The proved certificates for a query at its `budget`, one for each noise, the best first.

    The layout's preference ranks them. Raises Refused if no certificate is proved.
    """
    bounding = layout.bounding
    if not isinstance(bounding, InUnlistedGroups) or layout.counted is None:
        raise TypeError("a query whose groups nobody listed has a limit on the groups of a unit")
    claims = _find_claims(
        layout.sensitivities, bounding.groups, layout.counted, budget, layout.neighbours,
        len(layout.components),
    )  # fmt: skip
    if not claims:
        raise Refused(
            f"The query {layout.label!r}: with this part of the budget, no noise is proved for "
            "groups that nobody listed. Raise epsilon or delta, or lower max_groups."
        )
    return _sort_by_accuracy(layout, claims) if layout.accurate else claims


def _sort_by_accuracy(
    layout: Layout, claims: tuple[ThresholdCertificate, ...]
) -> tuple[ThresholdCertificate, ...]:
    """Sort certificates by the noise of the published numbers, the least first, then by n₅₀.

    If persons and their rows are both counted, noise may be smaller for one number and larger for
    the other. Certificates with more noise in any number than `claims[0]`, which has the smallest
    n₅₀, come last.
    """
    most = _stds(layout, claims[0])

    def rank(claim: ThresholdCertificate) -> tuple[bool, float, int]:
        stds = _stds(layout, claim)
        larger = any(std > other for std, other in zip(stds, most, strict=True))
        return larger, sum(map(math.log, stds)), GroupSizes.of(claim).half

    return tuple(sorted(claims, key=rank))


def _stds(layout: Layout, claim: ThresholdCertificate) -> list[float]:
    """The standard deviations of the noise in the numbers from which statistics are computed."""
    used = sorted({number for uses in layout.uses for number in uses})
    return [math.sqrt(claim.noise.noise.variance_at(number)) for number in used]


def find_claims_of_units(
    budget: Budget, groups: int, neighbours: Neighbours
) -> tuple[ThresholdCertificate, ...]:
    """The proved certificates for counts of units without other numbers, the best first."""
    return _find_claims((Integer(1),), groups, 0, budget, neighbours, 1)


@lru_cache(maxsize=256)
def _find_claims(  # noqa: PLR0917 (one call of its own)
    offered: tuple[Sensitivity, ...],
    groups: int,
    counted: int,
    budget: Budget,
    neighbours: Neighbours,
    numbers: int,
) -> tuple[ThresholdCertificate, ...]:
    one_way, pure = split_budget(budget, neighbours)
    tried = [("gaussian", one_way), ("k-norm" if numbers > 1 else "geometric", pure)]
    if numbers == groups == 1:  # the best of all noise here: its tail is truncated
        tried.append(("discrete-staircase", one_way))
    claims: list[ThresholdCertificate] = []
    for family, noise_budget in tried:
        noise = _noise(family, noise_budget, offered, groups, numbers)
        if noise is not None:
            claim = _claim(budget, noise, counted, neighbours)
            claims += [] if claim is None else [claim]

    def rank(claim: ThresholdCertificate) -> tuple[int, float]:
        shown = GroupSizes.of(claim)
        return shown.half, shown.std

    return tuple(sorted(claims, key=rank))


def split_budget(budget: Budget, neighbours: Neighbours) -> tuple[Budget, Budget]:
    """Two budgets for noise that hides one unit, added or removed: one with δ, one with δ = 0.

    For replace-one neighbours both have ε/2, and the first has δ/(1 + e^(ε/2)): see
    `ThresholdCertificate`. With ε = 0 no noise meets δ = 0; then the second is the given `budget`,
    with its δ.
    """
    epsilon, delta = budget.epsilon, budget.delta
    if neighbours == "replace-one":
        epsilon = epsilon / 2
        # rounded down: nine digits suffice
        below = float(delta) / (1 + math.exp(float(epsilon))) * (1 - 1e-9)
        delta = Fraction(f"{below:.12g}")
    pure = Budget(epsilon=epsilon, delta=0) if epsilon else budget
    return Budget(epsilon=epsilon, delta=delta), pure


def _noise(  # noqa: PLR0917 (two calls of its own)
    family: str, budget: Budget, offered: tuple[Sensitivity, ...], groups: int, numbers: int
) -> Certificate | None:
    """The certificate of a family's noise in `groups` draws; None if the family can't be used."""
    try:
        question = Question(
            budget=budget, sensitivities=offered, dimension=numbers, compositions=groups
        )
        mechanism = find_candidate(family, question).mechanism
        least = Fraction(1) if numbers == 1 and family != "laplace" else FINEST_GRID
        grid = max(default_grid(mechanism.noise), least)
        return mechanism.certificate.about("add-remove").on_grid(grid)
    except (Refused, InvalidArgument):
        return None


def _claim(
    budget: Budget, noise: Certificate, counted: int, neighbours: Neighbours
) -> ThresholdCertificate | None:
    try:
        return find_threshold(
            budget=budget,
            noise=noise,
            reach=Fraction(1),
            coordinate=counted,
            neighbours=neighbours,
            most=MAX_UNITS,
        )
    except Refused:
        return None


def _plain(layout: Layout, budget: Budget) -> GroupSizes | None:
    """The sizes of groups that Laplace noise with a threshold would publish.

    The noise hides any shift of a group's numbers by a unit, bounded in the l1 norm. None if no
    such noise is proved.
    """
    bounding = layout.bounding
    if not isinstance(bounding, InUnlistedGroups) or layout.counted is None:
        return None
    claim = _plain_claim(
        bounding.l1(layout.numbers) / bounding.groups, bounding.groups, layout.counted, budget,
        layout.neighbours, len(layout.components),
    )  # fmt: skip
    return None if claim is None else GroupSizes.of(claim)


@lru_cache(maxsize=256)
def _plain_claim(  # noqa: PLR0917 (one call of its own)
    norm: Fraction,
    groups: int,
    counted: int,
    budget: Budget,
    neighbours: Neighbours,
    numbers: int,
) -> ThresholdCertificate | None:
    _, pure = split_budget(budget, neighbours)
    noise = _noise("laplace", pure, (L1(norm),), groups, numbers)
    return None if noise is None else _claim(budget, noise, counted, neighbours)


def find_least(budget: Budget, neighbours: Neighbours) -> int | None:
    """The fewest units of a group that a mechanism at this budget publishes with probability ½.

    If units are in several groups, this is a lower bound. Let π(n) be the largest probability with
    which a mechanism may publish a group of n units, each in this group alone. Then π(0) = 0 and
    π(n + 1) = min(e^ε·π(n) + δ, 1 − e^−ε·(1 − π(n) − δ)) (Desfontaines, Voss, Gipson & Mandayam
    2022). This is known for add-remove neighbours; the result is None for others.
    """
    if neighbours != "add-remove":
        return None
    if not budget.epsilon:
        return math.ceil(Fraction(1, 2) / budget.delta)
    # in logarithms, since e^ε/δ may be too large for a float
    epsilon, log_delta = float(budget.epsilon), math.log(budget.delta)
    log_rise, log_2 = epsilon + math.log(-math.expm1(-epsilon)), math.log(2)  # of e^ε − 1
    # up to n = turn the first term of the minimum is the smaller one
    log_turn = _log_sum(log_rise, log_2 + log_delta) - log_delta - _log_sum(log_rise, log_2)
    turn = 1 + math.floor(log_turn / epsilon)
    first = math.ceil(_log_sum(0, log_rise - log_2 - log_delta) / epsilon - _AS_WHOLE)
    if first <= turn:
        return first
    more = math.exp(log_delta - log_rise)
    reached = math.exp(log_delta - log_rise + epsilon * turn) - more
    return turn + math.ceil(math.log((1 - reached + more) / (0.5 + more)) / epsilon - _AS_WHOLE)


def _log_sum(a: float, b: float) -> float:
    """The logarithm of e^a + e^b."""
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))
