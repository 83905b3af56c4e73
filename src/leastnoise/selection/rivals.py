"""Choose the families that a comparison searches; skip slow families that can't win."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from fractions import Fraction

from leastnoise.certificate.subject import shifts_of
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.structured import Linf
from leastnoise.noise.base import Noise
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.question import Loss, Question
from leastnoise.noise.registry import all_families, family_named, registered_family
from leastnoise.selection.comparison import Candidate
from leastnoise.selection.constructions import Construction

_SPHERICAL = {"gaussian", "l2"}
_ON_WHOLE_NUMBERS = {"discrete-staircase", "geometric"}
_ON_THE_LINE = {
    "laplace", "optimal", "staircase", "truncated-laplace", "truncated-staircase", "tulap"
}  # fmt: skip
_CUT_OFF, _CUT_OFF_WHOLE = "truncated-k-staircase", "discrete-staircase"


def _search_order(family: type[Noise]) -> int:
    """The sort key for the order of the search: families that can rule out others come first."""
    if issubclass(family, VectorNoise) or family.name in _SPHERICAL:
        return 0
    order = ("geometric", _CUT_OFF_WHOLE, "laplace", "truncated-staircase")
    return 1 + order.index(family.name) if family.name in order else 1 + len(order)


def list_quick() -> tuple[type[Noise], ...]:
    """The families that are quick to search, each after the families that may rule it out."""
    known = (family for family in all_families() if not registered_family(family).slow)
    return tuple(sorted(known, key=_search_order))


def list_slow() -> tuple[type[Noise], ...]:
    """The slow families: spherical noise whose search takes seconds."""
    return tuple(family for family in all_families() if registered_family(family).slow)


def list_first() -> tuple[type[Noise], ...]:
    """The families that a plan tries first: the quick ones, without the truncated k-staircase."""
    return tuple(family for family in list_quick() if family.name != _CUT_OFF)


def list_later() -> tuple[type[Noise], ...]:
    """The families that a plan tries last: the truncated k-staircase and slow spherical laws."""
    return (family_named(_CUT_OFF), *list_slow())


def may_lead(family: type[Noise], question: Question) -> bool:
    """True if a plan of several releases should search `family`.

    Let k be the number of compositions. If k > 1, δ > 0 and ε/k <= ½, only a few smooth families
    are searched. Noise in steps, on whole numbers, with truncated tails or close to Gaussian then
    reduces the standard deviation by at most 0.2 %, but takes seconds. This was measured for eight
    shapes at ε = 1, δ = 1e-6 and k from 4 to 52.
    """
    budget, draws = question.budget, question.compositions
    several = draws > 1 and budget.delta > 0 and budget.epsilon <= _SMALL * draws
    return not several or family.name in _SMOOTH


_SMOOTH = {
    "gaussian", "l2", "laplace", "geometric", "k-norm", "two-sided-laplace", "generalized-gamma"
}  # fmt: skip
_NEAR_THE_GAUSSIAN = {"cactus", "flipped-huber", "gaussian-mixture", "quasi-gaussian"}
# Laws between Laplace and Gaussian noise, and the ratio of the loss of Gaussian to Laplace noise
# above which they lose to Laplace noise, for several releases.
_BETWEEN = {"cactus": Fraction(13, 10), "flipped-huber": Fraction(3)}
_SEVERAL_FAR_AHEAD = Fraction(3, 5)  # a loss below this share of another rules the other out
_MOST_GAINED_IN_CELLS = Fraction(3, 4)  # least share of the loss of Laplace or Gaussian noise
# Slow spherical families reduced the loss by at most 18 % in 36 settings, and from `_MANY_NUMBERS`
# dimensions d on by at most 0.7/d, for ε from 0.1 to 10 and δ up to 0.1.
_MOST_GAINED_BY_SPHERES = 0.85
_MANY_NUMBERS = 30
# Designed noise reduced the loss of a truncated staircase by 9 % for ε from 0.1 to 10 and δ up to
# `_LARGEST_SIMPLE_DELTA`, and by 47 % for ε = 10 and δ = 0.5.
_MOST_GAINED_BY_DESIGN = 0.5
_LARGEST_SIMPLE_DELTA = Fraction(1, 10)
_SMALL = Fraction(1, 2)  # up to this ε/k, whole numbers and steps gain at most 2 %
_BEHIND = "it isn't expected to have a smaller loss than other noise"


def list_worthwhile(
    family: type[Noise],
    question: Question,
    constructions: Sequence[Construction],
    candidates: Sequence[Candidate],
    *,
    to_beat: float | None = None,
) -> list[Construction]:
    """The `constructions` in which `family` should be searched, given the candidates so far.

    A construction is left out if measurements or bounds show that its loss will be far above the
    candidates' loss. With `to_beat`, it is also left out if its loss isn't expected to be below
    `to_beat` and below all candidates. Raises NotApplicable, with the reason, if none is left that
    the family can serve.
    """
    why = _why_needless(family, candidates, question.loss) or _why_between(
        family, question, candidates
    )
    least = math.inf
    if to_beat is not None:
        best = _least(candidates, question.loss)
        least = min(to_beat, best[0]) if best else to_beat
        why = why or _why_behind(family, question, candidates, least)
    if why is not None:
        raise NotApplicable(family=family.name, why=why)
    kept: list[Construction] = []
    for construction in constructions:
        needless = _why_needless_in_cells(question, construction, candidates)
        needless = needless or _why_bounded(family, question, construction, candidates)
        if needless is None and to_beat is not None:
            needless = _why_behind_in_cells(family, question, construction, candidates, least)
            needless = needless or _why_behind_alike(
                family, question, construction, candidates, least
            )
            needless = needless or _why_cut_off_in_vain(
                family, question, construction, candidates, least
            )
        if needless is None:
            kept.append(construction)
        else:
            why = needless
    if why is not None and not _serves_any(family, question, kept):
        raise NotApplicable(family=family.name, why=why)
    return kept


def _serves_any(
    family: type[Noise], question: Question, constructions: Sequence[Construction]
) -> bool:
    """True if the family has noise for one of `constructions`.

    A family for single numbers serves a vector only in constructions that draw noise for each cell
    separately.
    """
    vectors = family.why_not(dimension=question.dimension, delta=question.budget.delta) is None
    return any(
        vectors
        or (construction.geometry is not None and construction.geometry.noise_dimension == 1)
        for construction in constructions
    )


def _why_needless(family: type[Noise], candidates: Sequence[Candidate], loss: Loss) -> str | None:
    """The reason not to search a slow `family`, as text; None if it should be searched.

    A slow spherical family isn't searched if noise in the shape of the body has less than three
    quarters of the loss of `gaussian` and `l2`. At moderate ε, a slow spherical family has at least
    three quarters of the smaller of these two losses. At a large ε its steps save more, but a
    staircase in the shape of the body has steps, too.
    """
    if not registered_family(family).slow:
        return None
    body = _least(candidates, loss, {"k-norm", "laplace", "two-sided-laplace"})
    sphere = _least(candidates, loss, _SPHERICAL)
    if body is None or sphere is None or body[0] >= 0.75 * sphere[0]:
        return None
    share = 100 * body[0] / sphere[0]
    return (
        f"it isn't searched, because the shape decides: {body[1]} noise has {share:.0f} % of the "
        f"{loss.value} of {sphere[1]} noise; calibrate it alone to see it"
    )


def _why_between(
    family: type[Noise], question: Question, candidates: Sequence[Candidate]
) -> str | None:
    """The reason not to search cactus or flipped Huber noise for several releases, or None.

    These laws lie between Laplace and Gaussian noise. They aren't searched if the loss of Gaussian
    noise is far above the loss of Laplace noise: by the factor in `_BETWEEN`, or 4 for samples. The
    factors were measured for one number, the mse, ε from 1e-4 to 50, δ from 1e-12 to 0.1 and 2 to
    30 releases. Beyond them, cactus noise had at least 1.3 times the loss of Laplace noise, and
    flipped Huber noise at most 2e-5 less.
    """
    if family.name not in _BETWEEN or question.compositions == 1:
        return None
    far = _BETWEEN[family.name] if question.sampling_rate == 1 else 4
    laplace = _least(candidates, question.loss, {"laplace"})
    gaussian = _least(candidates, question.loss, {"gaussian"})
    if laplace is None or gaussian is None or far * laplace[0] >= gaussian[0]:
        return None
    return (
        "it isn't searched, because it lies between Laplace and Gaussian noise: "
        f"{gaussian[1]} noise has {gaussian[0] / laplace[0]:.1f} times the {question.loss.value} "
        f"of {laplace[1]} noise; "
        "calibrate it alone to see it"
    )


def _why_behind(
    family: type[Noise], question: Question, candidates: Sequence[Candidate], least: float
) -> str | None:
    """The reason not to expect a loss below `least` from `family`; None if it may have one."""
    loss = question.loss
    if family.name == _CUT_OFF:
        return _why_not_cut_off(question, candidates, least)
    gaussian = _least(candidates, loss, {"gaussian"})
    sphere = _least(candidates, loss, _SPHERICAL)
    laplace = _least(candidates, loss, {"laplace", "geometric"})
    behind = False
    if registered_family(family).slow and sphere:
        behind = least < _least_of_spheres(question.dimension) * sphere[0]
    elif family.name in _NEAR_THE_GAUSSIAN and gaussian and laplace:
        # for one draw, no noise near the Gaussian beat a truncated staircase
        cut_off = _least(candidates, loss, {"truncated-staircase", _CUT_OFF_WHOLE})
        draws = question.dimension  # an upper bound on the number of draws
        if question.once and (
            _is_tiny(question, draws=draws, spare=10**6)
            or _is_behind_cut_off(question, candidates, draws=draws, least=least)
        ):
            cut_off = cut_off or _least(candidates, loss, {"geometric"})
        # if the Gaussian has four times Laplace's loss, laws between them lose to Laplace too
        behind = cut_off is not None or 4 * laplace[0] < gaussian[0]
    return _BEHIND if behind else None


def _why_not_cut_off(
    question: Question, candidates: Sequence[Candidate], least: float
) -> str | None:
    """The reason not to expect a loss below `least` from `truncated-k-staircase`, or None."""
    epsilon, delta = question.budget.epsilon, question.budget.delta
    if delta < epsilon / 10**5:  # at δ = 1e-5 ε, the gain was at most 7e-4 of the mse
        return "with a delta this small k-staircase has at most a thousandth more loss"
    body = _least(candidates, question.loss, {"k-norm", "k-staircase"})
    # truncating a staircase reduced the mse by 30 to 100 times δ/ε (relative)
    behind = body is not None and least < body[0] * (1 - 200 * delta / epsilon)
    return _BEHIND if behind else None


def _least_of_spheres(dimension: int) -> float:
    """The smallest loss to expect of slow spherical families, relative to `gaussian` and `l2`."""
    return _MOST_GAINED_BY_SPHERES if dimension < _MANY_NUMBERS else 1 - 1 / dimension


def _why_behind_in_cells(  # noqa: PLR0917 (as `_why_behind`, and a construction)
    family: type[Noise],
    question: Question,
    construction: Construction,
    candidates: Sequence[Candidate],
    least: float,
) -> str | None:
    """The reason not to expect a loss below `least` from `family` in cells, or None.

    If a unit affects many draws, ε is small for each. Then noise in steps has only a few per cent
    less loss than composed Laplace noise. Noise close to Gaussian has no less loss than Gaussian
    noise, if Laplace noise has far more. Their search takes seconds to minutes if many draws share
    a budget.
    """
    draws = construction.draws
    standard = _standard_in_cells(question, construction, candidates)
    behind = standard is not None and least < _MOST_GAINED_IN_CELLS * standard
    standard_law = family.name in {"laplace", "gaussian"}
    if draws > 1 and question.budget.epsilon <= _SMALL * draws and not standard_law:
        laplace = _least(candidates, question.loss, {"laplace", "geometric"})
        near = _SEVERAL_FAR_AHEAD if family.name in _NEAR_THE_GAUSSIAN else _MOST_GAINED_IN_CELLS
        behind |= laplace is not None and least < near * laplace[0]
    return _BEHIND if behind else None


def _why_behind_alike(  # noqa: PLR0917 (as `_why_behind`, and a construction)
    family: type[Noise],
    question: Question,
    construction: Construction,
    candidates: Sequence[Candidate],
    least: float,
) -> str | None:
    """The reason not to expect a loss below `least` from `family` in this construction, or None.

    Only candidates with the geometry of `construction` count. A slow spherical family is given up
    if `least` is far below the smaller loss of `gaussian` and `l2`. For small δ, `optimal` is given
    up if `least` is far below the loss of `truncated-staircase`. Suppose that a unit moves a whole
    number by 1. Then noise on the line is given up if there is noise on whole numbers. Its variance
    is smaller by about 1/12, since it needn't hide shorter shifts.
    """
    alike = [
        candidate
        for candidate in candidates
        if candidate.mechanism.certificate.geometry == construction.geometry
    ]
    if construction.geometry is not None:  # only one of several balls is used
        alike = [
            candidate
            for candidate in alike
            if candidate.mechanism.certificate.sensitivity == construction.sensitivity
        ]
    if registered_family(family).slow:
        sphere = _least(alike, question.loss, _SPHERICAL)
        most = _least_of_spheres(question.dimension)
        return _BEHIND if sphere and least < most * sphere[0] else None
    if family.name == "optimal" and question.budget.delta <= _LARGEST_SIMPLE_DELTA:
        cut_off = _least(alike, question.loss, {"truncated-staircase"})
        if cut_off and least < _MOST_GAINED_BY_DESIGN * cut_off[0]:
            return _BEHIND
    if family.name not in _ON_THE_LINE or not _least(alike, question.loss, _ON_WHOLE_NUMBERS):
        return None
    shifts = shifts_of(family, construction.sensitivity, construction.geometry).outer
    return _BEHIND if shifts.radius("integer", dimension=1) == 1 else None


def _why_cut_off_in_vain(  # noqa: PLR0917 (as `_why_behind`, and a construction)
    family: type[Noise],
    question: Question,
    construction: Construction,
    candidates: Sequence[Candidate],
    least: float,
) -> str | None:
    """The reason not to expect a loss below `least` from a truncated or designed staircase.

    None if it may have one. The search is expensive: for several draws it designs a law for each
    share of the budget. For one draw on many lattice points its program takes seconds.
    """
    draws = construction.draws
    if family.name == _CUT_OFF_WHOLE and _is_behind_cut_off(
        question, candidates, draws=draws, least=least
    ):
        return _BEHIND
    spare = 10**6 if construction.draws > 1 else 10**9
    designed = {_CUT_OFF_WHOLE: {"geometric"}, "optimal": {"geometric", "truncated-staircase"}}
    if family.name not in designed or not _is_tiny(question, draws=construction.draws, spare=spare):
        return None
    alike = [
        candidate
        for candidate in candidates
        if candidate.mechanism.certificate.geometry == construction.geometry
    ]
    if _least(alike, question.loss, designed[family.name]) is None:
        return None
    return "with a delta this small simpler staircases have at most a thousandth more loss"


def _is_behind_cut_off(
    question: Question, candidates: Sequence[Candidate], *, draws: int, least: float
) -> bool:
    """True if no loss below `least` is to be expected from a truncated staircase in cells.

    A unit affects at most k = `draws` cells. The rule was measured with k = 2 to 50 and ε/k from
    0.002 to ½. Truncation reduced the mse of a full staircase by at most 140·kδ/ε (relative). Where
    Gaussian noise had a smaller mse, truncation even raised the mse.
    """
    epsilon, delta = question.budget.epsilon, question.budget.delta
    full = _least(candidates, question.loss, {"geometric"})
    if full is None or draws == 1 or not 0 < epsilon <= _SMALL * draws:
        return False
    return least < full[0] * (1 - 200 * draws * delta / epsilon)


def _is_tiny(question: Question, *, draws: int, spare: int) -> bool:
    """True if δ > 0, and δ times the number of draws is at most ε/`spare`."""
    return 0 < spare * question.budget.delta * draws <= question.budget.epsilon


def _why_needless_in_cells(
    question: Question, construction: Construction, candidates: Sequence[Candidate]
) -> str | None:
    """The reason not to search noise in cells, in this construction; None if it is searched.

    If a unit affects several cells, it affects several draws, and the search takes seconds. It is
    omitted if noise in the shape of a body has far less loss.
    """
    standard = _standard_in_cells(question, construction, candidates)
    body = _least(
        [
            candidate
            for candidate in candidates
            if isinstance(candidate.mechanism.noise, VectorNoise)
        ],
        question.loss,
    )
    if standard is None or body is None or body[0] >= _SEVERAL_FAR_AHEAD * standard:
        return None
    return (
        f"it isn't searched for {construction.draws} cells of one person: {body[1]} noise has "
        f"{100 * body[0] / standard:.0f} % of the {question.loss.value} of Laplace or Gaussian "
        "noise in each; calibrate it alone to see it"
    )


def _why_bounded(
    family: type[Noise],
    question: Question,
    construction: Construction,
    candidates: Sequence[Candidate],
) -> str | None:
    """The reason, from the family's `behind`, why its loss can't be below the candidates' loss.

    None if its loss may be lower, or if the family has no such function.
    """
    behind = registered_family(family).part("behind")
    least = _least(candidates, question.loss)
    asked = question.through(construction.sensitivity, construction.geometry)
    if behind is None or least is None or asked.noise_dimension != 1:
        return None
    shifts = shifts_of(family, construction.sensitivity, construction.geometry).outer
    unit = float(family.radius_of(shifts, dimension=1))
    deviations = (
        [(1.0, 1)] if construction.geometry is None else construction.geometry.counted_deviations
    )
    order = 1 if question.loss is Loss.MAE else 2
    whole = math.fsum(count * (unit * deviation) ** order for deviation, count in deviations)
    why = behind(asked.behind_geometry(shifts), least[0] / whole)
    if why is None:
        return None
    loss = question.loss.value
    return (
        f"it isn't searched, because its {loss} is not below the {loss} of {least[1]} noise: "
        f"{why}; calibrate it alone to see it"
    )


def _standard_in_cells(
    question: Question, construction: Construction, candidates: Sequence[Candidate]
) -> float | None:
    """The smaller loss of Laplace noise in cells and of Gaussian noise, as a standard for others.

    Let k be the number of draws that a unit affects. Laplace noise has ε/k in each cell. With tight
    composition, noise for one number had a loss at most a quarter below the standard, except for
    steps at a large ε/k. None for ε/k = 0 or ε/k > 1, for other sensitivities than `Linf`, and if a
    unit affects only one cell.
    """
    sensitivity, draws = construction.sensitivity, construction.draws
    if draws == 1 or not isinstance(sensitivity, Linf):
        return None
    share = question.budget.epsilon / draws
    if not 0 < share <= 1:  # for a larger share a staircase may be far better than smooth noise
        return None
    apart = float(sensitivity.bound / share)  # the scale of Laplace noise
    laplace = question.dimension * (2 * apart**2 if question.loss is Loss.MSE else apart)
    gaussian = _least(candidates, question.loss, {"gaussian"})
    return min(laplace, gaussian[0]) if gaussian else laplace


def _least(
    candidates: Sequence[Candidate], loss: Loss, names: Container[str] | None = None
) -> tuple[float, str] | None:
    """The smallest loss of the candidates, and the label of the candidate that has it.

    With `names`, only candidates of these families count. None if there are no candidates.
    """
    losses = [
        (loss.of(candidate.mechanism), candidate.label)
        for candidate in candidates
        if names is None or candidate.mechanism.noise.name in names
    ]
    return min(losses, default=None)
