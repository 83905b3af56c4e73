"""`leastnoise calibrate`, `profile` and `compose`: noise of one family, and several releases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leastnoise import _files, _words
from leastnoise.cli import options, records, terminal
from leastnoise.cli.command import MANY, REQUIRED, Command, OptionType, argument, option, options_of
from leastnoise.cli.options import BUDGET, FILE, NOISE, NUMBER, OUTPUT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leastnoise.mechanism.mechanism import Mechanism
    from leastnoise.selection.comparison import Candidate


@click.command("calibrate", cls=Command)
@options.noise
@options.all_parameters
@options.budget
@options.releases
@options.query
@options.search
@option(OUTPUT, "--certificate", FILE, "Write the certificate to this file.")
@options.as_json
def command(
    *,
    noise: str,
    parameters: dict[str, str | int],
    epsilon: str,
    delta: str,
    compositions: int,
    sampling_rate: str,
    query: options.QueryOptions,
    loss: str,
    gap: float | None,
    time_limit: float | None,
    certificate: Path | None,
    as_json: bool,
) -> None:
    """Find and prove the smallest scale of a noise.

    The scale is never below the exact minimum. It exceeds the minimum by a fraction of at most 1e-9
    (gaussian, laplace, l2 and steps) or 1e-5 (other noise). The search for designed noise (optimal
    or discrete-staircase) ends when the error is at most --gap above the least possible error:
    0.5 % by default, 2 % for epsilon > 5. It ends earlier, with the best noise so far, after an
    amount of work that takes about a minute and is the same on every machine. With --time-limit,
    the search ends after the given number of seconds.
    """
    from leastnoise._files import write_file
    from leastnoise.guarantees.budget import Budget
    from leastnoise.selection.ask import ask
    from leastnoise.selection.public import choose_effort, find_candidate

    with terminal.stages(f"Calibrating and proving {noise}", silent=as_json) as stage:
        question = ask(
            Budget(epsilon=epsilon, delta=delta),
            sensitivity=query.declared(),
            dimension=query.coordinates,
            loss=loss,
            compositions=compositions,
            sampling_rate=sampling_rate,
        )
        effort = choose_effort(noise, gap=gap, time_limit=time_limit, progress=stage)
        candidate = find_candidate(noise, question, parameters=parameters, effort=effort)
    if certificate is not None:
        write_file(certificate, candidate.mechanism.certificate.to_json() + "\n")
    record = records.calibrated_record(
        candidate, epsilon=epsilon, delta=delta, sensitivity=query.sensitivity
    )
    if as_json:
        records.print_json(record)
        return
    _show(candidate, record)
    if certificate is not None:
        terminal.print_sentences([f"The certificate is in {certificate}."])


def _show(candidate: Candidate, record: dict[str, Any]) -> None:
    """Print the noise as text: its size first, then its parameters and errors, then the proof."""
    from leastnoise.selection.comparison import error_text

    epsilon, delta, count = record["epsilon"], record["delta"], record["compositions"]
    of = " of each number" if record["dimension"] > 1 else ""
    facts = [(f"std{of}", _spread(candidate.mechanism.std))]
    if (widths := _half_widths(candidate)) is not None:
        facts.append((f"95 % of the noise{of}", f"±{_spread(widths)}"))
    facts += [("noise", candidate.label), ("scale", f"{record['scale']:.12g}")]
    facts += [_parameter(name, value) for name, value in record["noise"]["parameters"].items()]
    facts += [
        ("numbers released", f"{record['dimension']:,}"),
        ("mse (E‖X‖₂²)", f"{record['mse']:.6g}"),
        ("mae (E‖X‖₁)", error_text(record["mae"])),
    ]
    if candidate.note is not None:
        facts.append(("note", candidate.note))
    terminal.print_facts(facts)
    low, high = record["delta_interval"]
    together = "" if count == 1 else f" of all {count:,} releases together"
    how = f"δ ≤ {delta}" if high > 0 else "δ = 0"
    least = f" It is at least {_words.round_down(low)}." if low > 0 else ""
    terminal.print_sentences([f"Proved: {how} at ε = {epsilon}{together}.{least}"])


def _half_widths(candidate: Candidate) -> NDArray[np.float64] | None:
    """Half-widths that contain 95 % of each coordinate's noise; None if unknown for this noise."""
    from leastnoise.errors import NotApplicable

    try:
        return candidate.mechanism.accuracy(0.95)
    except NotApplicable:
        return None


def _spread(values: NDArray[np.float64]) -> str:
    """Format the values with four digits: one number if all agree in these digits, else a range."""
    low, high = (f"{value:.4g}" for value in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"


def _parameter(name: str, value: Any) -> tuple[str, str]:
    """A parameter's name and value as text.

    Of a list only the length is shown. A set of shifts is named "body", with only its kind.
    """
    if isinstance(value, dict):
        return "body", str(value.get("kind", name))
    if isinstance(value, list):
        return name, f"{len(value):,} values (--json has them)"
    return name, f"{value:.12g}" if isinstance(value, float) else str(value)


@click.command("profile", cls=Command)
@options.noise
@option(NOISE, "--scale", NUMBER, "Scale of the noise, an exact decimal.", REQUIRED)
@options.parameters
@option(BUDGET, "--epsilon", NUMBER, "Bounds on δ at this ε; may be repeated.", MANY, required=True)
@options.releases
@options.query
@options.as_json
def profile(
    *,
    noise: str,
    scale: str,
    parameters: dict[str, str | int],
    epsilon: tuple[str, ...],
    compositions: int,
    sampling_rate: str,
    query: options.QueryOptions,
    as_json: bool,
) -> None:
    """Prove bounds on δ(ε) for a noise of known scale.

    For `k-norm` and similar families, such as `k-staircase`, the shape of the noise follows from
    `--norm`, `--l0` or `--counting-queries`.
    """
    from leastnoise.selection.public import privacy_profile

    with terminal.stages(f"Proving the profile of {noise}", silent=as_json):
        intervals = privacy_profile(
            noise,
            scale=scale,
            epsilons=epsilon,
            sensitivity=query.declared(),
            dimension=query.coordinates,
            compositions=compositions,
            sampling_rate=sampling_rate,
            parameters=parameters,
        )
    points = list(zip(epsilon, intervals, strict=True))
    if as_json:
        records.print_json({"points": records.intervals("epsilon", "delta", points)})
        return
    rows = [(text, repr(at.lower), repr(at.upper)) for text, at in points]
    terminal.print_table(f"{noise}, scale {scale}", ("ε", "δ at least", "δ at most"), rows)


_FIT = (
    "Scale all noise by one factor, so that all releases together meet --epsilon and --delta. The "
    "certificate of all releases together is written to this file."
)


@click.command("compose", cls=Command)
@argument(
    "certificates",
    OptionType("FILE[=COUNT]...", files=True),
    "Certificates, each with its number of releases.",
    MANY,
)
@options_of(
    BUDGET,
    ("--epsilon", NUMBER, "Bounds on δ at this ε; may be repeated.", MANY),
    ("--delta", NUMBER, "Bounds on ε at this δ; may be repeated.", MANY),
    ("--sampling-rate", NUMBER, "Rate of Poisson samples, instead of the certificates' rate."),
)
@option(OUTPUT, "--fit", FILE, _FIT)
@options.as_json
def compose(
    *,
    certificates: tuple[str, ...],
    epsilon: tuple[str, ...],
    delta: tuple[str, ...],
    sampling_rate: str | None,
    fit: Path | None,
    as_json: bool,
) -> None:
    """Account for several releases on the data of the same persons.

    Each certificate is verified first. The noise of all releases must have been fixed in advance.
    """
    from leastnoise.errors import InvalidArgument
    from leastnoise.mechanism.composed import compose

    if not epsilon and not delta:
        raise InvalidArgument(name="--epsilon", value="nothing", expected="--epsilon or --delta")
    if fit is not None and (len(epsilon) != 1 or len(delta) > 1 or sampling_rate):
        raise InvalidArgument(
            name="--fit",
            value=str(fit),
            expected="one --epsilon and at most one --delta beside it, and no --sampling-rate",
        )
    fitted: dict[str, Any] = {}
    with terminal.stages("Verifying the certificates", silent=as_json) as tell:
        releases = [_read(text) for text in certificates]
        if fit is not None:
            tell("Finding one factor for all noise")
            budget = (epsilon[0], delta[0] if delta else "0")
            releases, fitted = _fit(releases, certificates, budget=budget, file=fit)
        tell("Composing the releases")
        together = compose(releases, sampling_rate=sampling_rate)
        points = [(text, together.delta(epsilon=text)) for text in epsilon]
        budgets = [(text, together.epsilon(delta=text)) for text in delta]
    if as_json:
        proved = {
            "points": records.intervals("epsilon", "delta", points),
            "budgets": records.intervals("delta", "epsilon", budgets),
        }
        records.print_json(proved | fitted)
        return
    rows = [(f"δ at ε = {text}", repr(at.lower), repr(at.upper)) for text, at in points]
    rows += [(f"ε at δ = {text}", repr(at.lower), repr(at.upper)) for text, at in budgets]
    count = sum(count for _, count in releases)
    title = f"{_words.count_noun(count, 'release')} together"
    terminal.print_table(title, ("", "at least", "at most"), rows)
    if fitted:
        title = f"All scales times {fitted['factor']:.6g}; the certificate is {fit}"
        names = ("certificate", "noise", "releases", "scale", "mse", "mae", "ε alone")
        rows = [tuple(map(_text, draw.values())) for draw in fitted["draws"]]
        terminal.print_table(title, names, rows)


def _read(text: str) -> tuple[Mechanism, int]:
    """Read the mechanism that FILE or FILE=COUNT names, and its number of releases."""
    from leastnoise.certificate.certificate import Certificate
    from leastnoise.mechanism.mechanism import Mechanism

    name, used = options.split_count(text, expected="FILE=COUNT, a whole COUNT")
    read = _files.read_certificate(Path(name))
    return Mechanism(Certificate.from_json(read)), used


def _fit(
    releases: list[tuple[Mechanism, int]],
    certificates: tuple[str, ...],
    *,
    budget: tuple[str, str],
    file: Path,
) -> tuple[list[tuple[Mechanism, int]], dict[str, Any]]:
    """Scale all noise by one factor to meet the budget (ε, δ), and write the plan's certificate.

    Returns the scaled mechanisms with their counts, and the fit as a JSON record.
    """
    from leastnoise._files import write_file
    from leastnoise.guarantees.exact import decimal_text
    from leastnoise.selection.comparison import mae_of
    from leastnoise.selection.joint import calibrate_jointly

    epsilon, delta = budget
    joint = calibrate_jointly(releases, epsilon=epsilon, delta=delta)
    write_file(file, joint.certificate.to_json() + "\n")
    scaled = [
        (mechanism, count) for mechanism, (_, count) in zip(joint.mechanisms, releases, strict=True)
    ]
    draws = [
        {
            "certificate": text.rpartition("=")[0] or text,
            "noise": mechanism.noise.name,
            "compositions": count,
            "scale": float(mechanism.noise.scale),
            "mse": mechanism.mse,
            "mae": mae_of(mechanism),
            "epsilon": decimal_text(mechanism.certificate.budget.epsilon),
        }
        for text, (mechanism, count) in zip(certificates, scaled, strict=True)
    ]
    return scaled, {"factor": joint.factor, "draws": draws}


def _text(value: str | float | None) -> str:
    if value is None:
        return "unknown"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
