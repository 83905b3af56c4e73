"""What a comparison has no need to search: what takes seconds and can't be ahead."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from leastnoise.errors import NotApplicable
from leastnoise.guarantees.sensitivity import Sensitivity
from leastnoise.guarantees.structured import Linf
from leastnoise.noise.base import Noise
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.cactus import Cactus
from leastnoise.noise.flipped_huber import FlippedHuber
from leastnoise.noise.gaussian import Gaussian
from leastnoise.noise.gaussian_mixture import GaussianMixture
from leastnoise.noise.generalized_gamma import GeneralizedGamma
from leastnoise.noise.k_norm import KNorm
from leastnoise.noise.laplace import Laplace
from leastnoise.noise.loss import Loss
from leastnoise.noise.optimal_radial import OptimalRadial
from leastnoise.noise.quasi_gaussian import QuasiGaussian
from leastnoise.noise.registry import FAMILIES
from leastnoise.noise.spherical_laplace import SphericalLaplace
from leastnoise.noise.spherical_staircase import SphericalStaircase
from leastnoise.noise.truncated_k_staircase import TruncatedKStaircase
from leastnoise.noise.two_sided_laplace import TwoSidedLaplace
from leastnoise.selection.comparison import Candidate
from leastnoise.selection.constructions import Construction
from leastnoise.selection.fit import Problem, Way

SLOW: tuple[type[Noise], ...] = (GeneralizedGamma, OptimalRadial, SphericalStaircase)
"""Spherical families whose search takes seconds."""


def _turn(family: type[Noise]) -> int:
    """Return when a family's turn is: what others are measured by comes first."""
    if issubclass(family, VectorNoise | Gaussian | SphericalLaplace):
        return 0
    return 1 if family is Laplace else 2


QUICK: tuple[type[Noise], ...] = tuple(
    sorted((one for one in FAMILIES.values() if one not in SLOW), key=_turn)
)
"""All others, in an order in which each is searched after what may show it to be needless."""

_FAR_AHEAD = Fraction(3, 4)
_MOST_GAINED = Fraction(
    17, 20
)  # by a slow family on the better of gaussian and l2: 18 % in 36 settings
_NEAR_THE_GAUSSIAN: tuple[type[Noise], ...] = (Cactus, FlippedHuber, GaussianMixture, QuasiGaussian)
_SEVERAL_FAR_AHEAD = Fraction(3, 5)
_NEAR = 4  # times Laplace's loss: where the Gaussian has more, what lies between them has more too
_DELTA_THAT_COUNTS = Fraction(1, 10**5)  # times ε: with it 7e-4 of the mse was gained, at most
_STEPS_MATTER = 1  # beyond this ε a staircase may have far less than smooth noise


def worth_searching(
    family: type[Noise],
    problem: Problem,
    ways: Sequence[Way],
    found: Sequence[Candidate],
    *,
    to_win: bool = False,
) -> list[Way]:
    """Return those of `ways` in which `family` is worth its search, after what was `found`.

    `to_win` leaves out all that can't be the best; else what is far behind. Raises NotApplicable,
    with the reason, if nothing is worth it.
    """
    why = _why_needless(family, found, problem.loss)
    if why is None and to_win:
        why = _why_behind(family, problem, found)
    if why is not None:
        raise NotApplicable(family=family.name, why=why)
    kept: list[Way] = []
    for sensitivity, way in ways:
        needless = _why_needless_in_cells(problem, sensitivity, way, found)
        if needless is None:
            kept.append((sensitivity, way))
        else:
            why = needless
    if why is not None and not _serves_any(family, problem, kept):
        raise NotApplicable(family=family.name, why=why)
    return kept


def _serves_any(family: type[Noise], problem: Problem, ways: Sequence[Way]) -> bool:
    """Say whether one of `ways` may do; noise for one number needs cells."""
    vectors = family.why_not(dimension=problem.dimension, delta=problem.budget.delta) is None
    return any(
        vectors or (way.geometry is not None and way.geometry.noise_dimension == 1)
        for _, way in ways
    )


def _why_needless(family: type[Noise], found: Sequence[Candidate], loss: Loss) -> str | None:
    """Return why a search for `family` is left out; None if it is worth its time.

    The shape is what counts where exponential noise in the shape of the body has less than three
    quarters of the loss of the better of `gaussian` and `l2`, spherical noise as simple. What a
    spherical family gains on these, by less than that quarter at moderate ε and by its steps at
    a large one, a staircase in the shape of the body gains as well.
    """
    if family not in SLOW:
        return None
    body = _least(found, (KNorm, Laplace, TwoSidedLaplace), loss)
    sphere = _least(found, (Gaussian, SphericalLaplace), loss)
    if body is None or sphere is None or body[0] >= _FAR_AHEAD * sphere[0]:
        return None
    share = 100 * body[0] / sphere[0]
    return (
        f"it isn't searched, as the shape decides: {body[1]} noise has {share:.0f} % of the "
        f"{loss.value} of {sphere[1]} noise; calibrate it alone to see it"
    )


def _why_behind(family: type[Noise], problem: Problem, found: Sequence[Candidate]) -> str | None:
    """Return why `family` can't have the least noise of all; None if it might."""
    budget, loss = problem.budget, problem.loss
    if family is TruncatedKStaircase and budget.delta < budget.epsilon * _DELTA_THAT_COUNTS:
        return "so small a delta takes less than a thousandth off the loss of k-staircase"
    best = _least(found, (Noise,), loss)
    gaussian = _least(found, (Gaussian,), loss)
    sphere = _least(found, (Gaussian, SphericalLaplace), loss)
    laplace = _least(found, (Laplace,), loss)
    ahead = False
    if family in SLOW and best and sphere:
        ahead = best[0] < _MOST_GAINED * sphere[0]
    elif family in _NEAR_THE_GAUSSIAN and gaussian and laplace:
        ahead = _NEAR * laplace[0] < gaussian[0]
    return "another family is ahead of all that it could gain" if ahead else None


def _why_needless_in_cells(
    problem: Problem, sensitivity: Sensitivity, way: Construction, found: Sequence[Candidate]
) -> str | None:
    """Return why no noise for one number is searched for cells in this `way`; None if it is.

    Several cells that a unit moves are several draws, each search of which takes seconds. Laplace
    noise at ε/k, k the number of draws, and Gaussian noise say how far it leads: composed tightly,
    no noise was found more than a quarter below the better one, but for steps at a large ε/k.
    """
    draws = 1 if way.geometry is None else way.geometry.draws(sensitivity)
    if draws == 1 or not isinstance(sensitivity, Linf):
        return None
    body = _least(found, (VectorNoise,), problem.loss)
    gaussian = _least(found, (Gaussian,), problem.loss)
    share = problem.budget.epsilon / draws
    if body is None or not 0 < share <= _STEPS_MATTER:
        return None
    apart = float(sensitivity.bound / share)  # the scale of Laplace noise
    laplace = problem.dimension * (2 * apart**2 if problem.loss is Loss.MSE else apart)
    least = min(laplace, gaussian[0]) if gaussian else laplace
    if body[0] >= _SEVERAL_FAR_AHEAD * least:
        return None
    return (
        f"it isn't searched for {draws} cells that move at once: {body[1]} noise has "
        f"{100 * body[0] / least:.0f} % of the {problem.loss.value} of Laplace or Gaussian noise "
        "in each; calibrate it alone to see it"
    )


def _least(
    found: Sequence[Candidate], families: tuple[type[Noise], ...], loss: Loss
) -> tuple[float, str] | None:
    losses = [
        (loss.of(one.mechanism), one.label)
        for one in found
        if isinstance(one.mechanism.noise, families)
    ]
    return min(losses, default=None)
