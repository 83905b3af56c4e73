"""The public search: `calibrate` one family, `compare` them all, take the `least_noise`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from leastnoise import _validate
from leastnoise.accounting.proof.composed import prove_composed
from leastnoise.certificate.subject import one_release
from leastnoise.design.programs.effort import WORK, Effort, Progress
from leastnoise.errors import InvalidArgument, NotApplicable, Refused
from leastnoise.guarantees.budget import Budget, sampling_rate_of
from leastnoise.guarantees.exact import Exact, Interval
from leastnoise.guarantees.sensitivity import Sensitivity, check_sensitivity
from leastnoise.guarantees.structured import Linf
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.noise.base import Noise
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.question import Question
from leastnoise.noise.registry import family_named, registered_family
from leastnoise.selection.ask import (
    Sensitivities,
    Setting,
    ask,
    check_compositions,
    check_dimension,
    choose_family,
    fix_parameters,
)
from leastnoise.selection.comparison import (
    Candidate,
    Comparison,
    Skipped,
    find_best_possible,
    find_fine_gap,
)
from leastnoise.selection.constructions import Way, list_ways
from leastnoise.selection.fit import fit_family
from leastnoise.selection.rivals import list_quick, list_slow, list_worthwhile

_WORK = WORK // 12  # that a comparison gives one family to design its law: five seconds


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
    parameters: Mapping[str, Setting] | None = None,
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
    question = ask(
        Budget(epsilon=epsilon, delta=delta),
        sensitivity=sensitivity,
        dimension=dimension,
        loss=loss,
        compositions=compositions,
        sampling_rate=sampling_rate,
    )
    effort = choose_effort(noise, gap=gap, time_limit=time_limit)
    return find_candidate(noise, question, parameters=parameters, effort=effort).mechanism


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
    parameters: Mapping[str, Mapping[str, Setting]] | None = None,
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
    question = ask(
        Budget(epsilon=epsilon, delta=delta),
        sensitivity=sensitivity,
        dimension=dimension,
        loss=loss,
        compositions=compositions,
        sampling_rate=sampling_rate,
    )
    bound = _validate.flag(bound, name="bound")
    effort = Effort(
        gap=find_fine_gap(question) if bound and gap is None else gap,
        work=WORK if bound else _WORK,
        seconds=time_limit,
        progress=progress,
    )
    fixed = {
        name: fix_parameters(family_named(name), values)
        for name, values in _validate.table(parameters, name="parameters").items()
    }
    found = compare_families(question, fixed=fixed, effort=effort)
    if not found.candidates:
        return found
    return replace(found, best_possible=find_best_possible(question, effort, vectors=bound))


def compare_families(
    question: Question,
    *,
    families: Sequence[type[Noise]] | None = None,
    fixed: Mapping[str, Mapping[str, Any]] | None = None,
    effort: Effort | None = None,
    usable: Callable[[Noise], bool] = lambda _: True,
    known: Comparison | None = None,
    ways: Sequence[Way] | None = None,
    to_beat: float | None = None,
) -> Comparison:
    """Return the `known` candidates and those of `families`, if their noise is `usable`.

    All families, if none are named; in each of `ways`, or in all. What is far behind the others
    isn't searched, unless `fixed` names it; with a loss `to_beat` nothing is that can't have less
    than that and all others.
    """
    candidates = list(known.candidates) if known else []
    skipped = list(known.skipped) if known else []
    every, asked = list_ways(question) if ways is None else ways, fixed or {}
    effort = effort or Effort(work=_WORK)
    for family in (*list_quick(), *list_slow()) if families is None else families:
        shape = asked.get(family.name)
        if effort.progress:
            effort.progress(f"Calibrating {family.name} noise")
        try:
            tried = every
            if shape is None:
                tried = list_worthwhile(family, question, every, candidates, to_beat=to_beat)
            asked_of = replace(question, fixed=shape or {})
            found = fit_family(family, asked_of, tried, effort=effort, usable=usable)
        except NotApplicable as error:
            skipped.append(Skipped(name=family.name, why=error.why))
        except Refused as error:
            skipped.append(Skipped(name=family.name, why=str(error)))
        else:
            candidates += found
    candidates.sort(key=lambda found: question.loss.of(found.mechanism))
    skipped.sort(key=lambda one: one.name)
    return Comparison(
        loss=question.loss,
        candidates=tuple(candidates),
        skipped=tuple(skipped),
    )


def choose_effort(
    noise: str, *, gap: float | None, time_limit: float | None, progress: Progress | None = None
) -> Effort | None:
    """Return the effort to design `noise` with, None if nothing designs it.

    Raises InvalidArgument for a gap or a time that isn't positive, or that `noise` has no use for.
    """
    if registered_family(family_named(noise)).design:
        return Effort(gap=gap, seconds=time_limit, progress=progress)
    for name, value in (("gap", gap), ("time_limit", time_limit)):
        if value is not None:
            raise InvalidArgument(
                name=name,
                value=value,
                expected=f"no {name}: {noise} is not designed but calibrated",
            )
    return None


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


def find_candidate(
    noise: str,
    question: Question,
    *,
    parameters: Mapping[str, Setting] | None = None,
    effort: Effort | None = None,
) -> Candidate:
    """Return the calibrated family `noise` with its timings, and the mechanism in it."""
    in_cells = all(isinstance(one, Linf) for one in question.sensitivities)
    family = choose_family(noise, dimension=question.dimension, in_cells=in_cells)
    question = replace(question, fixed=fix_parameters(family, parameters))
    return fit_family(family, question, list_ways(question), effort=effort)[0]


def privacy_profile(
    noise: str,
    *,
    scale: Exact,
    epsilons: Sequence[Exact],
    sensitivity: Sensitivity,
    dimension: int = 1,
    compositions: int = 1,
    sampling_rate: Exact = 1,
    parameters: Mapping[str, Setting] | None = None,
) -> tuple[Interval, ...]:
    """Return an interval that contains δ(ε) for each of `epsilons`, at a scale you give.

    With `compositions` it is the δ of so many releases together, and with `sampling_rate` < 1 each
    is of a Poisson sample.

    Raises InvalidArgument for a malformed argument, NotApplicable if the sensitivity isn't known in
    the family's norm.
    """
    dimension = check_dimension((check_sensitivity(sensitivity),), dimension)
    family = choose_family(noise, dimension=dimension)
    shape: dict[str, Any] = fix_parameters(family, parameters)
    optional = {name for name in family.parameter_kinds if hasattr(family, name)}
    if issubclass(family, VectorNoise):
        optional.add(family.form)
    if missing := sorted(set(family.parameter_kinds) - optional - set(shape)):
        raise InvalidArgument(
            name="parameter",
            value="nothing",
            expected=f"the parameters of {family.name}: {', '.join(missing)}",
        )
    law = family.made_for(sensitivity, dimension=dimension, scale=scale, parameters=shape)
    one = one_release(law, sensitivity, None, sampling_rate_of(sampling_rate))
    parts = (one.times(check_compositions(compositions)),)
    listed = _validate.items(epsilons, name="epsilons", like=_validate.NUMBERS)
    budgets = [Budget(epsilon=epsilon, delta="0.5") for epsilon in listed]
    return tuple(prove_composed(parts, budget.epsilon).interval for budget in budgets)
