"""Which families a comparison searches: not those that take seconds and can't be ahead."""

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
from leastnoise.selection.constructions import Way

_SPHERICAL = {"gaussian", "l2"}
_ON_WHOLE_NUMBERS = {"discrete-staircase", "geometric"}
_ON_THE_LINE = {
    "laplace", "optimal", "staircase", "truncated-laplace", "truncated-staircase", "tulap"
}  # fmt: skip
_CUT_OFF, _CUT_OFF_WHOLE = "truncated-k-staircase", "discrete-staircase"


def _turn(family: type[Noise]) -> int:
    """Return the order of search: families that others are measured by come first."""
    if issubclass(family, VectorNoise) or family.name in _SPHERICAL:
        return 0
    order = ("geometric", _CUT_OFF_WHOLE, "laplace", "truncated-staircase")
    return 1 + order.index(family.name) if family.name in order else 1 + len(order)


def list_quick() -> tuple[type[Noise], ...]:
    """Return the families that are quick to search, each after those that may rule it out."""
    known = (family for family in all_families() if not registered_family(family).slow)
    return tuple(sorted(known, key=_turn))


def list_slow() -> tuple[type[Noise], ...]:
    """Return the families, spherical ones, whose search takes seconds."""
    return tuple(family for family in all_families() if registered_family(family).slow)


def list_first() -> tuple[type[Noise], ...]:
    """Return the families that a plan tries before it accounts for its queries together."""
    return tuple(family for family in list_quick() if family.name != _CUT_OFF)


def list_later() -> tuple[type[Noise], ...]:
    """Return the families that a plan tries after that."""
    return (family_named(_CUT_OFF), *list_slow())


def may_lead(family: type[Noise], question: Question) -> bool:
    """Return whether `family` is worth its search in a plan of several releases.

    With δ > 0 and a small ε/k steps, whole numbers, cut-off tails and what is near the Gaussian
    gain nothing that is worth seconds: 0.2 % of the std at most in eight shapes with (1, 1e-6) and
    k from 4 to 52.
    """
    budget, draws = question.budget, question.compositions
    several = draws > 1 and budget.delta > 0 and budget.epsilon <= _SMALL * draws
    return not several or family.name in _SMOOTH


_SMOOTH = {
    "gaussian", "l2", "laplace", "geometric", "k-norm", "two-sided-laplace", "generalized-gamma"
}  # fmt: skip
_NEAR_THE_GAUSSIAN = {"cactus", "flipped-huber", "gaussian-mixture", "quasi-gaussian"}
_BETWEEN = {"cactus", "flipped-huber"}  # of Laplace and Gaussian noise
_SEVERAL_FAR_AHEAD = Fraction(3, 5)
_MOST_GAINED_IN_CELLS = Fraction(3, 4)
_MOST_GAINED_BY_SPHERES = 0.85  # in 36 settings they took off 18 % at most
_MOST_GAINED_BY_DESIGN = 0.5  # on a staircase that is cut off: 9 % with ε from .1 to 10 and …
_LARGEST_SIMPLE_DELTA = Fraction(1, 10)  # … δ up to this; 47 % with ε = 10 and δ = .5
_SMALL = Fraction(1, 2)  # an ε/k at which whole numbers and steps take off 2 % at most
_BEHIND = "other noise has less than it could have"


def list_worthwhile(
    family: type[Noise],
    question: Question,
    ways: Sequence[Way],
    found: Sequence[Candidate],
    *,
    to_beat: float | None = None,
) -> list[Way]:
    """Return those of `ways` in which `family` is worth its search, after what was `found`.

    What is far behind is left out; with a loss `to_beat` all that can't have less than that and
    than what was found. Raises NotApplicable, with the reason, if nothing is worth it.
    """
    why = _why_needless(family, found, question.loss) or _why_between(family, question, found)
    least = math.inf
    if to_beat is not None:
        best = _least(found, question.loss)
        least = min(to_beat, best[0]) if best else to_beat
        why = why or _why_behind(family, question, found, least)
    if why is not None:
        raise NotApplicable(family=family.name, why=why)
    kept: list[Way] = []
    for way in ways:
        needless = _why_needless_in_cells(question, way, found)
        needless = needless or _why_bounded(family, question, way, found)
        if needless is None and to_beat is not None:
            needless = _why_behind_in_cells(family, question, way, found, least)
            needless = needless or _why_behind_alike(family, question, way, found, least)
            needless = needless or _why_cut_off_in_vain(family, question, way, found)
        if needless is None:
            kept.append(way)
        else:
            why = needless
    if why is not None and not _serves_any(family, question, kept):
        raise NotApplicable(family=family.name, why=why)
    return kept


def _serves_any(family: type[Noise], question: Question, ways: Sequence[Way]) -> bool:
    """Whether one of `ways` may do; noise for one number needs cells."""
    vectors = family.why_not(dimension=question.dimension, delta=question.budget.delta) is None
    return any(
        vectors or (way.geometry is not None and way.geometry.noise_dimension == 1) for way in ways
    )


def _why_needless(family: type[Noise], found: Sequence[Candidate], loss: Loss) -> str | None:
    """Return why a search for `family` is left out; None if it is worth its time.

    The shape is what counts where exponential noise in the shape of the body has less than three
    quarters of the loss of the better of `gaussian` and `l2`, spherical noise as simple. What a
    spherical family gains on these, by less than that quarter at moderate ε and by its steps at
    a large one, a staircase in the shape of the body gains as well.
    """
    if not registered_family(family).slow:
        return None
    body = _least(found, loss, {"k-norm", "laplace", "two-sided-laplace"})
    sphere = _least(found, loss, _SPHERICAL)
    if body is None or sphere is None or body[0] >= 0.75 * sphere[0]:
        return None
    share = 100 * body[0] / sphere[0]
    return (
        f"it isn't searched, as the shape decides: {body[1]} noise has {share:.0f} % of the "
        f"{loss.value} of {sphere[1]} noise; calibrate it alone to see it"
    )


def _why_between(family: type[Noise], question: Question, found: Sequence[Candidate]) -> str | None:
    """Return why noise between Laplace and Gaussian noise isn't searched for several releases.

    Where Gaussian noise had more than four times the loss of Laplace noise, ε from 0.01 to 50 and
    k = 3 and 10, cactus noise had over five times that of Laplace noise, and flipped Huber noise
    no less.
    """
    if family.name not in _BETWEEN or question.compositions == 1:
        return None
    laplace = _least(found, question.loss, {"laplace"})
    gaussian = _least(found, question.loss, {"gaussian"})
    if laplace is None or gaussian is None or 4 * laplace[0] >= gaussian[0]:
        return None
    return (
        "it isn't searched, as it lies between Laplace and Gaussian noise: "
        f"{gaussian[1]} noise has {gaussian[0] / laplace[0]:.1f} times the {question.loss.value} "
        f"of {laplace[1]} noise; "
        "calibrate it alone to see it"
    )


def _why_behind(
    family: type[Noise], question: Question, found: Sequence[Candidate], least: float
) -> str | None:
    """Return why `family` can't have a loss below `least`; None if it might."""
    loss = question.loss
    if family.name == _CUT_OFF:
        return _why_not_cut_off(question, found, least)
    gaussian = _least(found, loss, {"gaussian"})
    sphere = _least(found, loss, _SPHERICAL)
    laplace = _least(found, loss, {"laplace", "geometric"})
    behind = False
    if registered_family(family).slow and sphere:
        behind = least < _MOST_GAINED_BY_SPHERES * sphere[0]
    elif family.name in _NEAR_THE_GAUSSIAN and gaussian and laplace:
        # of one draw no noise near the Gaussian had less than a staircase that is cut off
        cut_off = _least(found, loss, {"truncated-staircase", _CUT_OFF_WHOLE})
        if question.once and _is_tiny(question, draws=question.dimension, spare=10**6):
            cut_off = cut_off or _least(found, loss, {"geometric"})
        # and where it has four times Laplace's loss, what lies between them has more too
        behind = cut_off is not None or 4 * laplace[0] < gaussian[0]
    return _BEHIND if behind else None


def _why_not_cut_off(question: Question, found: Sequence[Candidate], least: float) -> str | None:
    """Return why a staircase that is cut off can't have a loss below `least`; None if it might."""
    epsilon, delta = question.budget.epsilon, question.budget.delta
    if delta < epsilon / 10**5:  # at 1e-5 ε, 7e-4 of the mse was gained at most
        return "so small a delta takes less than a thousandth off the loss of k-staircase"
    body = _least(found, question.loss, {"k-norm", "k-staircase"})
    # of the mse, cutting a staircase off took 30 to 100 times δ/ε
    behind = body is not None and least < body[0] * (1 - 200 * delta / epsilon)
    return _BEHIND if behind else None


def _why_behind_in_cells(  # noqa: PLR0917 (as `_why_behind`, and a way)
    family: type[Noise], question: Question, way: Way, found: Sequence[Candidate], least: float
) -> str | None:
    """Return why `family` in cells can't have a loss below `least`; None if it may.

    Where ε/k is small, steps gain a few per cent on Laplace noise that is composed likewise, and
    what is near the Gaussian nothing on that where Laplace noise is far behind. Their search takes
    seconds to minutes where many draws share a budget.
    """
    draws = way.draws
    standard = _standard_in_cells(question, way, found)
    behind = standard is not None and least < _MOST_GAINED_IN_CELLS * standard
    standard_law = family.name in {"laplace", "gaussian"}
    if draws > 1 and question.budget.epsilon <= _SMALL * draws and not standard_law:
        laplace = _least(found, question.loss, {"laplace", "geometric"})
        near = _SEVERAL_FAR_AHEAD if family.name in _NEAR_THE_GAUSSIAN else _MOST_GAINED_IN_CELLS
        behind |= laplace is not None and least < near * laplace[0]
    return _BEHIND if behind else None


def _why_behind_alike(  # noqa: PLR0917 (as `_why_behind`, and a way)
    family: type[Noise], question: Question, way: Way, found: Sequence[Candidate], least: float
) -> str | None:
    """Return why `family` has no less than others in this very `way`; None if it may have.

    Where whole numbers move by 1, noise on them has about a twelfth less variance than noise in
    steps or Laplace noise, which serve every number between them too. A slow spherical family
    follows the better of `gaussian` and `l2`.
    """
    alike = [one for one in found if one.mechanism.certificate.geometry == way.geometry]
    if way.geometry is not None:  # of several balls one is used
        alike = [one for one in alike if one.mechanism.certificate.sensitivity == way.sensitivity]
    if registered_family(family).slow:
        sphere = _least(alike, question.loss, _SPHERICAL)
        return _BEHIND if sphere and least < _MOST_GAINED_BY_SPHERES * sphere[0] else None
    if family.name == "optimal" and question.budget.delta <= _LARGEST_SIMPLE_DELTA:
        cut_off = _least(alike, question.loss, {"truncated-staircase"})
        if cut_off and least < _MOST_GAINED_BY_DESIGN * cut_off[0]:
            return _BEHIND
    if family.name not in _ON_THE_LINE or not _least(alike, question.loss, _ON_WHOLE_NUMBERS):
        return None
    shifts = shifts_of(family, way.sensitivity, way.geometry).outer
    return _BEHIND if shifts.radius("integer", dimension=1) == 1 else None


def _why_cut_off_in_vain(
    family: type[Noise], question: Question, way: Way, found: Sequence[Candidate]
) -> str | None:
    """Return why a staircase that is cut off gains nothing on one that isn't; None if it may gain.

    With ε/k from 0.01 to 1 and k = 2 and 5 draws it took 35 to 140 times kδ/ε off the mse, where
    Gaussian noise had more. For several draws a law is designed for every share of the budget that
    is tried, and for one draw on many lattice points by a program of up to 700 MB.
    """
    spare = 10**6 if way.draws > 1 else 10**9
    designed = {_CUT_OFF_WHOLE: {"geometric"}, "optimal": {"geometric", "truncated-staircase"}}
    if family.name not in designed or not _is_tiny(question, draws=way.draws, spare=spare):
        return None
    alike = [one for one in found if one.mechanism.certificate.geometry == way.geometry]
    if _least(alike, question.loss, designed[family.name]) is None:
        return None
    return "so small a delta takes less than a thousandth off the loss of simpler staircases"


def _is_tiny(question: Question, *, draws: int, spare: int) -> bool:
    """True if 0 < kδ/ε <= 1/spare, k the number of draws."""
    return 0 < spare * question.budget.delta * draws <= question.budget.epsilon


def _why_needless_in_cells(question: Question, way: Way, found: Sequence[Candidate]) -> str | None:
    """Return why no noise for one number is searched for cells in this `way`; None if it is.

    Several cells that a unit moves are several draws, each search of which takes seconds.
    """
    standard = _standard_in_cells(question, way, found)
    body = _least(
        [one for one in found if isinstance(one.mechanism.noise, VectorNoise)], question.loss
    )
    if standard is None or body is None or body[0] >= _SEVERAL_FAR_AHEAD * standard:
        return None
    return (
        f"it isn't searched for {way.draws} cells that move at once: {body[1]} noise has "
        f"{100 * body[0] / standard:.0f} % of the {question.loss.value} of Laplace or Gaussian "
        "noise in each; calibrate it alone to see it"
    )


def _why_bounded(
    family: type[Noise], question: Question, way: Way, found: Sequence[Candidate]
) -> str | None:
    """Return why `family`, as it says itself, has no less than what was `found`; None if it may."""
    behind = registered_family(family).part("behind")
    least = _least(found, question.loss)
    asked = question.through(way.sensitivity, way.geometry)
    if behind is None or least is None or asked.noise_dimension != 1:
        return None
    shifts = shifts_of(family, way.sensitivity, way.geometry).outer
    unit = float(family.radius_of(shifts, dimension=1))
    deviations = [(1.0, 1)] if way.geometry is None else way.geometry.counted_deviations
    order = 1 if question.loss is Loss.MAE else 2
    whole = math.fsum(count * (unit * deviation) ** order for deviation, count in deviations)
    why = behind(asked.behind_geometry(shifts), least[0] / whole)
    if why is None:
        return None
    return (
        f"it isn't searched, as it has no less {question.loss.value} than {least[1]} noise: {why}; "
        "calibrate it alone to see it"
    )


def _standard_in_cells(question: Question, way: Way, found: Sequence[Candidate]) -> float | None:
    """Return the loss of Laplace or Gaussian noise in cells of which a unit moves several.

    The better of Laplace noise at ε/k, k the number of draws, and Gaussian noise says how far
    noise for one number leads there: composed tightly, none was found more than a quarter below,
    but for steps at a large ε/k. None for these, and where a unit moves one cell.
    """
    sensitivity, draws = way.sensitivity, way.draws
    if draws == 1 or not isinstance(sensitivity, Linf):
        return None
    share = question.budget.epsilon / draws
    if not 0 < share <= 1:  # beyond it a staircase may have far less than smooth noise
        return None
    apart = float(sensitivity.bound / share)  # the scale of Laplace noise
    laplace = question.dimension * (2 * apart**2 if question.loss is Loss.MSE else apart)
    gaussian = _least(found, question.loss, {"gaussian"})
    return min(laplace, gaussian[0]) if gaussian else laplace


def _least(
    found: Sequence[Candidate], loss: Loss, names: Container[str] | None = None
) -> tuple[float, str] | None:
    """Return the least loss of what was `found`, of families of these names, and its label."""
    losses = [
        (loss.of(one.mechanism), one.label)
        for one in found
        if names is None or one.mechanism.noise.name in names
    ]
    return min(losses, default=None)
