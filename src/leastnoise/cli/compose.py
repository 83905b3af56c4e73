"""`leastnoise compose`: what several certified releases cost together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leastnoise import _files, _words
from leastnoise.cli import options, records, terminal
from leastnoise.cli.commands import MANY, Command, Kind, argument, option, options_of
from leastnoise.cli.options import BUDGET, FILE, NUMBER, OUTPUT

if TYPE_CHECKING:
    from leastnoise.mechanism.mechanism import Mechanism

_FIT = (
    "Scale all noise by one factor so that all of it meets --epsilon and --delta together, and "
    "write the plan's certificate to this file."
)


@click.command("compose", cls=Command)
@argument(
    "certificates",
    Kind("FILE[=COUNT]...", files=True),
    "Certificates, and how often each is used.",
    MANY,
)
@options_of(
    BUDGET,
    ("--epsilon", NUMBER, "Enclose δ at this ε; may be repeated.", MANY),
    ("--delta", NUMBER, "Enclose ε at this δ; may be repeated.", MANY),
    ("--sampling-rate", NUMBER, "Of Poisson samples, in place of the certificates'."),
)
@option(OUTPUT, "--fit", FILE, _FIT)
@options.as_json
def command(
    *,
    certificates: tuple[str, ...],
    epsilon: tuple[str, ...],
    delta: tuple[str, ...],
    sampling_rate: str | None,
    fit: Path | None,
    as_json: bool,
) -> None:
    """Account for releases on the data of the same persons.

    Each certificate is verified first. Their noise must have been fixed in advance.
    """
    from leastnoise.errors import InvalidArgument
    from leastnoise.mechanism.mechanism import compose

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
            releases, fitted = _fitted(releases, certificates, budget=budget, file=fit)
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
    title = f"{_words.counted(count, 'release')} together"
    terminal.print_table(title, ("", "at least", "at most"), rows)
    if fitted:
        title = f"All scales times {fitted['factor']:.6g}; the certificate is {fit}"
        names = ("certificate", "noise", "releases", "scale", "mse", "mae", "ε alone")
        rows = [tuple(map(_text, block.values())) for block in fitted["blocks"]]
        terminal.print_table(title, names, rows)


def _read(text: str) -> tuple[Mechanism, int]:
    """Return the mechanism that FILE=COUNT names, and how often it is used."""
    from leastnoise.certificate.certificate import Certificate
    from leastnoise.mechanism.mechanism import Mechanism

    name, used = options.split_count(text, expected="FILE=COUNT, a whole COUNT")
    read = _files.read_certificate(Path(name))
    return Mechanism(Certificate.from_json(read)), used


def _fitted(
    releases: list[tuple[Mechanism, int]],
    certificates: tuple[str, ...],
    *,
    budget: tuple[str, str],
    file: Path,
) -> tuple[list[tuple[Mechanism, int]], dict[str, Any]]:
    """Scale the mechanisms to the budget (ε, δ) and write the plan; return them, and its record."""
    from leastnoise._files import write_file
    from leastnoise.guarantees.exact import decimal_text
    from leastnoise.selection.comparison import mae_of
    from leastnoise.selection.joint import calibrate_jointly

    epsilon, delta = budget
    found = calibrate_jointly(releases, epsilon=epsilon, delta=delta)
    write_file(file, found.certificate.to_json() + "\n")
    moved = [(one, count) for one, (_, count) in zip(found.mechanisms, releases, strict=True)]
    blocks = [
        {
            "certificate": text.rpartition("=")[0] or text,
            "noise": one.noise.name,
            "compositions": count,
            "scale": float(one.noise.scale),
            "mse": one.mse,
            "mae": mae_of(one),
            "epsilon": decimal_text(one.certificate.budget.epsilon),
        }
        for text, (one, count) in zip(certificates, moved, strict=True)
    ]
    return moved, {"factor": found.factor, "blocks": blocks}


def _text(value: str | float | None) -> str:
    if value is None:
        return "unknown"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
