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
from leastnoise.selection.constructions import Construction, list_constructions
from leastnoise.selection.fit import fit_family
from leastnoise.selection.rivals import list_quick, list_slow, list_worthwhile

_WORK = WORK // 12  # for the design of one family in a comparison: about five seconds


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
    """Calibrate one noise family: the smallest scale that meets the budget, with its proof.

    The scale is never below the exact minimum, and at most 1e-9 (relative) above it. For several
    releases of a family whose only parameter is its scale the limit is about 1e-4 (l2: 1e-9).
    docs/noise.md lists the other exceptions.

    Parameters beside the scale follow the family's source. Heights of steps and weights of kernels
    fall by e^−ε (`decay`), and neighbouring kernels are a sensitivity apart. `truncated-laplace`
    has the scale Δ/ε for a sensitivity Δ. `cactus` minimises the largest KL divergence under a
    bound on the loss. Parameters that the source leaves open minimise `loss`.

    In one dimension "l2" gives `laplace`, which is the same law. In several, "optimal" gives
    `optimal-radial`, unless all sensitivities are `Linf`: each coordinate then has its own draw.

    Args:
        noise: Name of the family, such as "gaussian"; `leastnoise.noise.families()` lists them.
        epsilon: Privacy budget ε ≥ 0, as an exact decimal (str, int, Fraction) or a float, which is
            read as the decimal that it prints.
        delta: Privacy budget δ, 0 ≤ δ < 1, in the same forms.
        sensitivity: The largest change by one unit, such as `L2(1)`; or several that all hold.
        dimension: Number of coordinates that are released together.
        loss: Expected error to minimise: "mse", the mean sum of squared errors of the coordinates,
            or "mae", the mean sum of absolute errors.
        compositions: Number of releases that share the budget.
        sampling_rate: With a rate below 1, each release uses a Poisson sample that contains each
            record with that probability. Neighbours then differ by one added or removed record.
        parameters: Values for the family's other parameters; docs/noise.md has the table. They may
            reduce the loss, mostly for a large δ.
        gap: Designed noise (`optimal`, `discrete-staircase`) is refined until its loss is within
            this fraction of the best possible. The default is 0.005, and 0.02 for ε > 5.
            `optimal-radial` ignores it, and other families refuse a gap and a time limit.
        time_limit: Seconds after which the design stops. Without a limit it stops after an amount
            of work that is the same on every machine, about a minute.

    Returns:
        The mechanism, with a certificate that `verify()` proves again.

    Raises:
        InvalidArgument: An argument is malformed.
        NotApplicable: The family can't serve this question, such as δ = 0 for a Gaussian.
        NotCertified: No proof was found.
        Refused: The scale is out of the floats' range, or sampling alone meets the budget.

    Examples:
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
    """Calibrate and prove all noise families that may be best, and rank them by expected error.

    The result has a proved lower bound on the loss, if one is known. For a number that moves by
    whole numbers, the bound is about noise on the integers. At δ = 0 it otherwise follows from the
    volume of the shifts. At δ > 0 there is one for a single number, found together with the best
    noise; for a vector only with `bound`.

    Some families take seconds to search. They are skipped, with the reason, if bounds or
    measurements put other noise ahead of them. A family that `parameters` names is always searched.

    Args:
        epsilon: Privacy budget ε ≥ 0, as in `calibrate`.
        delta: Privacy budget δ, 0 ≤ δ < 1.
        sensitivity: The largest change by one unit, such as `L2(1)`; or several that all hold.
        dimension: Number of coordinates that are released together.
        loss: Expected error of one release, by which families are ranked: "mse" or "mae".
        compositions: Number of releases that share the budget.
        sampling_rate: Probability of a record to be in the Poisson sample of each release.
        bound: Also find a lower bound for the mse of a vector with an l2 sensitivity, which takes
            about 15 seconds, and refine the bound for one number.
        progress: Function that is called with a text for each family and stage.
        parameters: Values for parameters, by the name of the family.
        gap: Designed noise and its bound are refined until they are within this fraction of each
            other. The default is 0.005 up to ε = 5 and 0.02 beyond; with `bound` it is 0.0005 up to
            ε = 2.
        time_limit: Seconds after which a design stops. Without a limit it stops after an amount of
            work that is the same on every machine: about 5 seconds, or a minute with `bound`.

    Returns:
        The candidates, best first, and the skipped families with the reasons.

    Raises:
        InvalidArgument: An argument is malformed.
        NotApplicable: The search for a linear map that suits the sensitivity fails.

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
    comparison = compare_families(question, fixed=fixed, effort=effort)
    if not comparison.candidates:
        return comparison
    return replace(comparison, best_possible=find_best_possible(question, effort, vectors=bound))


def compare_families(
    question: Question,
    *,
    families: Sequence[type[Noise]] | None = None,
    fixed: Mapping[str, Mapping[str, Any]] | None = None,
    effort: Effort | None = None,
    usable: Callable[[Noise], bool] = lambda _: True,
    known: Comparison | None = None,
    constructions: Sequence[Construction] | None = None,
    to_beat: float | None = None,
) -> Comparison:
    """Calibrate `families` (default: all), and add the candidates to the `known` comparison.

    Candidates are kept only if `usable` accepts their noise. Without `constructions`, all
    constructions are tried. `fixed` has values for parameters by family. A family that can't
    compete with the candidates isn't searched, unless `fixed` names it. With `to_beat`, a family is
    searched only if its loss might be below `to_beat` and below the loss of all candidates so far.
    """
    candidates = list(known.candidates) if known else []
    skipped = list(known.skipped) if known else []
    every, asked = (
        list_constructions(question) if constructions is None else constructions,
        fixed or {},
    )
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
            fitted = fit_family(family, asked_of, tried, effort=effort, usable=usable)
        except NotApplicable as error:
            skipped.append(Skipped(name=family.name, why=error.why))
        except Refused as error:
            skipped.append(Skipped(name=family.name, why=str(error)))
        else:
            candidates += fitted
    candidates.sort(key=lambda candidate: question.loss.of(candidate.mechanism))
    skipped.sort(key=lambda family: family.name)
    return Comparison(
        loss=question.loss,
        candidates=tuple(candidates),
        skipped=tuple(skipped),
    )


def choose_effort(
    noise: str, *, gap: float | None, time_limit: float | None, progress: Progress | None = None
) -> Effort | None:
    """The limits on the design of `noise` by an optimiser; None for a family without a design.

    Raises InvalidArgument for a gap or a time that isn't positive, or that `noise` doesn't use.
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
    """Find the proved mechanism with the least expected error, the first of `compare`.

    Args:
        epsilon: Privacy budget ε ≥ 0, as in `calibrate`.
        delta: Privacy budget δ, 0 ≤ δ < 1.
        sensitivity: The largest change by one unit, such as `L2(1)`; or several that all hold.
        dimension: Number of coordinates that are released together.
        loss: Expected error to minimise: "mse" or "mae", as in `calibrate`.
        compositions: Number of releases that share the budget.
        sampling_rate: Probability of a record to be in the Poisson sample of each release.

    Returns:
        The mechanism, with a certificate that `verify()` proves again.

    Raises:
        InvalidArgument: An argument is malformed.
        Refused: No family can serve; the message has each family's reason.

    """
    comparison = compare(
        epsilon=epsilon,
        delta=delta,
        sensitivity=sensitivity,
        dimension=dimension,
        loss=loss,
        compositions=compositions,
        sampling_rate=sampling_rate,
    )
    if not comparison.mechanisms:
        raise Refused(comparison.why_none)
    return comparison.mechanisms[0]


def find_candidate(
    noise: str,
    question: Question,
    *,
    parameters: Mapping[str, Setting] | None = None,
    effort: Effort | None = None,
) -> Candidate:
    """Calibrate the family `noise`, and return the best candidate with its timings."""
    in_cells = all(isinstance(sensitivity, Linf) for sensitivity in question.sensitivities)
    family = choose_family(noise, dimension=question.dimension, in_cells=in_cells)
    question = replace(question, fixed=fix_parameters(family, parameters))
    return fit_family(family, question, list_constructions(question), effort=effort)[0]


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
    """Enclose the privacy profile δ(ε) of noise with a given scale.

    Args:
        noise: Name of the family, such as "gaussian".
        scale: Scale of the noise, in the unit of the query.
        epsilons: The ε at which to compute δ.
        sensitivity: The largest change by one unit, such as `L2(1)`.
        dimension: Number of coordinates that are released together.
        compositions: Number of releases together.
        sampling_rate: Probability of a record to be in the Poisson sample of each release.
        parameters: Values for the family's other parameters.

    Returns:
        For each ε, an interval that contains δ(ε) of all releases together.

    Raises:
        InvalidArgument: An argument is malformed, or a parameter is missing.
        NotApplicable: The family can't serve this query, for example because the sensitivity isn't
            known in its norm.

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
    release = one_release(law, sensitivity, None, sampling_rate_of(sampling_rate))
    parts = (release.times(check_compositions(compositions)),)
    listed = _validate.items(epsilons, name="epsilons", like=_validate.NUMBERS)
    budgets = [Budget(epsilon=epsilon, delta="0.5") for epsilon in listed]
    return tuple(prove_composed(parts, budget.epsilon).interval for budget in budgets)
