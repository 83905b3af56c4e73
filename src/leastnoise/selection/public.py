"""The public search: `calibrate` one family, `compare` them all, take the `least_noise`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from leastnoise import _validate
from leastnoise.accounting.proof.composed import prove_composed
from leastnoise.certificate.subject import check_sampling
from leastnoise.design.effort import WORK, Effort, Progress
from leastnoise.errors import InvalidArgument, NotApplicable, Refused
from leastnoise.guarantees.budget import Budget, sampling_rate_of
from leastnoise.guarantees.exact import Exact
from leastnoise.guarantees.interval import Interval
from leastnoise.guarantees.sensitivity import Sensitivity, ShiftBounds, check_sensitivity
from leastnoise.guarantees.structured import Linf
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.noise.base import Noise
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.loss import Loss
from leastnoise.noise.registry import family_named, registered
from leastnoise.noise.releases import Releases
from leastnoise.selection.best_possible import best_possible, fine_gap
from leastnoise.selection.comparison import Candidate, Comparison, Skipped
from leastnoise.selection.fit import Problem, Way, fitted
from leastnoise.selection.parameters import fixed_parameters
from leastnoise.selection.rivals import quick, slow, worth_searching

MOST_COMPOSITIONS = 10**7
_WORK = WORK // 12  # that a comparison gives one family to design its law: five seconds

Sensitivities = Sensitivity | Sequence[Sensitivity]
"""One sensitivity, or several that all hold for the query."""


def calibrate(  # noqa: PLR0913 (every part of one problem, all by name)
    noise: str,
    *,
    epsilon: Exact,
    delta: Exact = 0,
    sensitivity: Sensitivities,
    dimension: int = 1,
    loss: str = "mse",
    compositions: int = 1,
    sampling_rate: Exact = 1,
    parameters: Mapping[str, Exact] | None = None,
    gap: float | None = None,
    time_limit: float | None = None,
) -> Mechanism:
    """Return the mechanism of the family `noise` with the smallest scale proved for the budget.

    A family with more parameters than its scale takes what its source says of them: steps and
    weights fall by ε (`decay`), `truncated-laplace` has b = Δ/ε, kernels are a sensitivity apart,
    and `cactus` is the best in its own sense. What is left open (γ, a core, a radius, modes, a
    corner, α and p) minimises `loss`. `parameters` sets others, which may have less loss, mostly
    where δ is large: the table is in docs/noise.md. The scale is at least the exact minimum and at
    most 1e-9 (relative) above it. With `compositions` = k the budget is that of k releases
    together; where a family is a scale alone it is at most about 1e-4 above the minimum (l2: 1e-9).
    In one dimension "l2" gives `laplace`, the same law; in several, "optimal" gives
    `optimal-radial`. With `sampling_rate` < 1 every release is of a Poisson sample, which each
    record is in with that probability, and neighbours differ by one record that is there or not.
    Noise that a linear program designs (`optimal`, `discrete-staircase`) is refined until it is
    within `gap` of the best possible (0.005 if you don't say: half a per cent; 0.02 beyond ε = 5),
    or the best there is after some work, about a minute's and the same on every machine, or after
    `time_limit` seconds if you set them.
    Raises InvalidArgument for a malformed argument, NotApplicable if the family can't serve,
    NotCertified if no proof was found.

    >>> from leastnoise.guarantees.sensitivity import L2
    >>> m = calibrate("l2", epsilon="1", delta="1e-5", sensitivity=L2(1), dimension=7)
    >>> round(float(m.noise.scale), 9), m.certificate.delta.certainly_at_most("1e-5")
    (0.933639567, True)
    """
    budget = Budget(epsilon=epsilon, delta=delta)
    return candidate(
        noise,
        budget=budget,
        sensitivity=sensitivity,
        dimension=dimension,
        loss=loss,
        compositions=compositions,
        sampling_rate=sampling_rate,
        parameters=parameters,
        effort=effort_for(noise, gap=gap, time_limit=time_limit),
    ).mechanism


def compare(  # noqa: PLR0913 (every part of one problem, all by name)
    *,
    epsilon: Exact,
    delta: Exact = 0,
    sensitivity: Sensitivities,
    dimension: int = 1,
    loss: str = "mse",
    compositions: int = 1,
    sampling_rate: Exact = 1,
    bound: bool = False,
    progress: Progress | None = None,
    parameters: Mapping[str, Mapping[str, Exact]] | None = None,
    gap: float | None = None,
    time_limit: float | None = None,
) -> Comparison:
    """Return every noise family, calibrated and proved, best first by `loss`.

    `loss` is "mse" (E‖X‖₂²) or "mae" (E‖X‖₁), of one release; the budget is that of all
    `compositions` together, each of a Poisson sample if `sampling_rate` < 1. Families that can't
    serve come with the reason.
    `best_possible` is a proved lower bound on the loss of any noise. At δ = 0 it follows from the
    volume of the shifts, at once. Else it is there for one number, where the best noise is designed
    with it, and with `bound` for the mse of a vector with an l2 sensitivity, which takes about a
    quarter of a minute (`progress` is told the stages, and the families in turn). The bound on one
    number, and the noise designed with it, are refined until they are within `gap` of each other
    (if you don't say: 0.005 up to ε = 5, 0.02 beyond; with `bound` 0.0005 up to ε = 2), or for some
    work: about a minute's with `bound`, 5 seconds' without, the same on every machine. `time_limit`
    sets seconds in place of that work.

    `parameters` sets parameters by the name of the family. Spherical families that take seconds
    are left out, with the reason, where noise in the shape of the body is far ahead of `l2` and
    `gaussian`; one that `parameters` names is always tried.
    Raises InvalidArgument for a malformed argument.
    """
    budget, ranking = Budget(epsilon=epsilon, delta=delta), Loss.named(loss)
    offered = _offered(sensitivity)
    dimension = _dimension(offered, dimension)
    problem = Problem(
        budget=budget,
        offered=offered,
        dimension=dimension,
        loss=ranking,
        compositions=_count(compositions),
        sampling_rate=sampling_rate_of(sampling_rate),
    )
    bound = _validate.flag(bound, name="bound")
    effort = Effort(
        gap=fine_gap(problem) if bound and gap is None else gap,
        work=WORK if bound else _WORK,
        seconds=time_limit,
        progress=progress,
    )
    fixed = {
        name: fixed_parameters(family_named(name), values)
        for name, values in _validate.table(parameters, name="parameters").items()
    }
    found = compared(problem, fixed=fixed, effort=effort)
    if not found.candidates:
        return found
    return replace(found, best_possible=best_possible(problem, effort, vectors=bound))


def compared(
    problem: Problem,
    *,
    families: Sequence[type[Noise]] | None = None,
    fixed: Mapping[str, Mapping[str, Fraction | int]] | None = None,
    effort: Effort | None = None,
    usable: Callable[[Noise], bool] = lambda _: True,
    known: Comparison | None = None,
    ways: list[Way] | None = None,
    to_beat: float | None = None,
) -> Comparison:
    """Return what is `known` and those of `families` that serve, if their noise is `usable`.

    All families, if none are named; in each of `ways`, or in all. What is far behind the others
    isn't searched, unless `fixed` names it; with a loss `to_beat` nothing is that can't have less
    than that and all others.
    """
    candidates = list(known.candidates) if known else []
    skipped = list(known.skipped) if known else []
    every, asked = problem.ways() if ways is None else ways, fixed or {}
    effort = effort or Effort(work=_WORK)
    for family in (*quick(), *slow()) if families is None else families:
        shape = asked.get(family.name)
        if effort.progress:
            effort.progress(f"Calibrating {family.name} noise")
        try:
            tried = every
            if shape is None:
                tried = worth_searching(family, problem, every, candidates, to_beat=to_beat)
            found = fitted(family, problem, ways=tried, fixed=shape, effort=effort)
        except NotApplicable as error:
            skipped.append(Skipped(name=family.name, why=error.why))
        except Refused as error:
            skipped.append(Skipped(name=family.name, why=str(error)))
        else:
            candidates += [one for one in found if usable(one.mechanism.noise)]
    candidates.sort(key=lambda found: problem.loss.of(found.mechanism))
    skipped.sort(key=lambda one: one.name)
    return Comparison(
        loss=problem.loss,
        candidates=tuple(candidates),
        skipped=tuple(skipped),
    )


def effort_for(
    noise: str, *, gap: float | None, time_limit: float | None, progress: Progress | None = None
) -> Effort | None:
    """Return the effort to design `noise` with, None if nothing designs it.

    Raises InvalidArgument for a gap or a time that isn't positive, or that `noise` has no use for.
    """
    if registered(family_named(noise)).design:
        return Effort(gap=gap, seconds=time_limit, progress=progress)
    for name, value in (("gap", gap), ("time_limit", time_limit)):
        if value is not None:
            raise InvalidArgument(
                name=name,
                value=value,
                expected=f"no {name}: {noise} is not designed but calibrated",
            )
    return None


def _count(compositions: int) -> int:
    return _validate.whole(compositions, name="compositions", most=MOST_COMPOSITIONS)


def least_noise(
    *,
    epsilon: Exact,
    delta: Exact = 0,
    sensitivity: Sensitivities,
    dimension: int = 1,
    loss: str = "mse",
    compositions: int = 1,
    sampling_rate: Exact = 1,
) -> Mechanism:
    """Return the proved mechanism with the least expected error; the first of `compare`.

    Raises InvalidArgument for a malformed argument, Refused if no family can serve.
    """
    found = compare(
        epsilon=epsilon,
        delta=delta,
        sensitivity=sensitivity,
        dimension=dimension,
        loss=loss,
        compositions=compositions,
        sampling_rate=sampling_rate,
    )
    if not found.mechanisms:
        raise Refused(found.why_none)
    return found.mechanisms[0]


def candidate(  # noqa: PLR0913 (every part of one problem, all by name)
    noise: str,
    *,
    budget: Budget,
    sensitivity: Sensitivities,
    dimension: int,
    loss: str = "mse",
    compositions: int = 1,
    sampling_rate: Exact = 1,
    parameters: Mapping[str, Exact] | None = None,
    effort: Effort | None = None,
) -> Candidate:
    """Return the calibrated family `noise` with its timings; see `calibrate`."""
    offered = _offered(sensitivity)
    dimension = _dimension(offered, dimension)
    in_cells = all(isinstance(one, Linf) for one in offered)
    family = _family(noise, dimension=dimension, in_cells=in_cells)
    problem = Problem(
        budget=budget,
        offered=offered,
        dimension=dimension,
        loss=Loss.named(loss),
        compositions=_count(compositions),
        sampling_rate=sampling_rate_of(sampling_rate),
    )
    fixed = fixed_parameters(family, parameters)
    return fitted(family, problem, ways=problem.ways(), fixed=fixed, effort=effort)[0]


def _family(noise: str, *, dimension: int, in_cells: bool = False) -> type[Noise]:
    """Return the family called `noise`, whose law may go by another name in this dimension.

    In one dimension l2 is laplace; in several, optimal is optimal-radial, unless it is for one
    number in each of several cells.
    """
    family, one = family_named(noise), _validate.dimension(dimension) == 1
    known = registered(family)
    instead = known.for_one_number if one else None if in_cells else known.for_a_vector
    return family_named(instead) if instead else family


def _dimension(offered: tuple[Sensitivity, ...], dimension: int) -> int:
    """Return the number of coordinates; a sensitivity that knows it may leave it out (1)."""
    dimension = _validate.dimension(dimension)
    fixed = (one.coordinates for one in offered)
    known = {count for count in fixed if count is not None}
    if not known:
        return dimension
    if len(known) > 1 or dimension not in {1, *known}:
        raise InvalidArgument(
            name="dimension",
            value=dimension,
            expected=f"{', '.join(map(str, sorted(known)))}, as the sensitivity says",
        )
    return known.pop()


def _offered(sensitivity: Sensitivities) -> tuple[Sensitivity, ...]:
    if isinstance(sensitivity, Sequence) and not isinstance(sensitivity, str | bytes):
        offered = tuple(check_sensitivity(one) for one in sensitivity)
    else:
        offered = (check_sensitivity(sensitivity),)
    if not offered:
        raise InvalidArgument(name="sensitivity", value="none", expected="one at least")
    return offered


def privacy_profile(
    noise: str,
    *,
    scale: Exact,
    epsilons: Sequence[Exact],
    sensitivity: Sensitivity,
    dimension: int = 1,
    compositions: int = 1,
    sampling_rate: Exact = 1,
    parameters: Mapping[str, Exact] | None = None,
) -> tuple[Interval, ...]:
    """Return an interval that contains δ(ε) for each of `epsilons`, at a scale you give.

    With `compositions` it is the δ of so many releases together, and with `sampling_rate` < 1 each
    is of a Poisson sample.

    Raises InvalidArgument for a malformed argument, NotApplicable if the sensitivity isn't known in
    the family's norm.
    """
    family = _family(noise, dimension=dimension)
    check_sensitivity(sensitivity)
    shape: dict[str, Any] = fixed_parameters(family, parameters)
    optional = {name for name in family.parameter_kinds if hasattr(family, name)}
    if issubclass(family, VectorNoise):
        optional.add(family.form)
    if missing := sorted(set(family.parameter_kinds) - optional - set(shape)):
        raise InvalidArgument(
            name="parameter",
            value="nothing",
            expected=f"the parameters of {family.name}: {', '.join(missing)}",
        )
    dimension = _dimension((sensitivity,), dimension)
    law = family.made_for(sensitivity, dimension=dimension, scale=scale, parameters=shape)
    count, rate = _count(compositions), sampling_rate_of(sampling_rate)
    check_sampling(family, sensitivity, None, rate)
    part = Releases(noise=law, shifts=ShiftBounds.of(sensitivity), count=count, rate=rate)
    listed = _validate.items(epsilons, name="epsilons", like=_validate.NUMBERS)
    budgets = [Budget(epsilon=epsilon, delta="0.5") for epsilon in listed]
    return tuple(prove_composed((part,), budget.epsilon).interval for budget in budgets)
