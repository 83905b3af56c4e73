"""`leastnoise compose`: what several certified releases cost together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leastnoise import _files, _words
from leastnoise.cli import options, records

if TYPE_CHECKING:
    from leastnoise.mechanism.mechanism import Mechanism


def command(
    *,
    certificates: Annotated[
        list[str],
        typer.Argument(metavar="FILE[=COUNT]...", help="Certificates, and how often each is used."),
    ],
    epsilon: Annotated[
        list[str] | None,
        typer.Option(
            "--epsilon",
            metavar=options.NUMBER,
            help="Enclose δ at this ε; may be repeated.",
            rich_help_panel=options.BUDGET,
        ),
    ] = None,
    delta: Annotated[
        list[str] | None,
        typer.Option(
            "--delta",
            metavar=options.NUMBER,
            help="Enclose ε at this δ; may be repeated.",
            rich_help_panel=options.BUDGET,
        ),
    ] = None,
    sampling_rate: Annotated[
        str | None,
        typer.Option(
            "--sampling-rate",
            metavar=options.NUMBER,
            help="Of Poisson samples, in place of the certificates'.",
            rich_help_panel=options.BUDGET,
        ),
    ] = None,
    fit: Annotated[
        Path | None,
        typer.Option(
            "--fit",
            metavar=options.FILE,
            rich_help_panel=options.OUTPUT,
            help="Scale all noise by one factor so that all of it meets --epsilon and --delta "
            "together, and write the plan's certificate to this file.",
        ),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Account for releases on the data of the same persons.

    Each certificate is verified first. Their noise must have been fixed in advance.
    """
    from leastnoise.errors import InvalidArgument
    from leastnoise.mechanism.mechanism import compose

    if not epsilon and not delta:
        raise InvalidArgument(name="--epsilon", value="nothing", expected="--epsilon or --delta")
    if fit is not None and (len(epsilon or []) != 1 or len(delta or []) > 1 or sampling_rate):
        raise InvalidArgument(
            name="--fit",
            value=str(fit),
            expected="one --epsilon and at most one --delta beside it, and no --sampling-rate",
        )
    fitted: dict[str, Any] = {}
    with records.stages("Verifying the certificates", silent=as_json) as tell:
        releases = [_read(text) for text in certificates]
        if fit is not None:
            tell("Finding one factor for all noise")
            budget = ((epsilon or [])[0], (delta or ["0"])[0])
            releases, fitted = _fitted(releases, certificates, budget=budget, file=fit)
        tell("Composing the releases")
        together = compose(releases, sampling_rate=sampling_rate)
        points = [(text, together.delta(epsilon=text)) for text in epsilon or []]
        budgets = [(text, together.epsilon(delta=text)) for text in delta or []]
    if as_json:
        records.print_json(
            {
                "points": [
                    {"epsilon": text, "delta_interval": [found.lower, found.upper]}
                    for text, found in points
                ],
                "budgets": [
                    {"delta": text, "epsilon_interval": [found.lower, found.upper]}
                    for text, found in budgets
                ],
            }
            | fitted
        )
        return
    rows = [(f"δ at ε = {text}", repr(at.lower), repr(at.upper)) for text, at in points]
    rows += [(f"ε at δ = {text}", repr(at.lower), repr(at.upper)) for text, at in budgets]
    count = sum(count for _, count in releases)
    title = f"{_words.counted(count, 'release')} together"
    records.print_table(title, ("", "at least", "at most"), rows)
    if fitted:
        title = f"All scales times {fitted['factor']:.6g}; the certificate is {fit}"
        names = ("certificate", "noise", "releases", "scale", "mse", "mae", "ε alone")
        rows = [tuple(map(_text, block.values())) for block in fitted["blocks"]]
        records.print_table(title, names, rows)


def _read(text: str) -> tuple[Mechanism, int]:
    """Return the mechanism that FILE=COUNT names, and how often it is used."""
    from leastnoise.certificate.certificate import Certificate
    from leastnoise.mechanism.mechanism import Mechanism

    name, _, count = text.rpartition("=") if "=" in text else (text, "", "1")
    used = options.count_from(count, expected="FILE=COUNT, a whole COUNT")
    read = _files.read_certificate(Path(name))
    return Mechanism(Certificate.from_json(read)), used


def _fitted(
    releases: list[tuple[Mechanism, int]],
    certificates: list[str],
    *,
    budget: tuple[str, str],
    file: Path,
) -> tuple[list[tuple[Mechanism, int]], dict[str, Any]]:
    """Scale the mechanisms to the budget (ε, δ) and write the plan; return them, and its record."""
    from leastnoise.guarantees.exact import decimal_text
    from leastnoise.mechanism.output import write_file
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
