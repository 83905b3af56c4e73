"""`leastnoise compose`: what several certified releases cost together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leastnoise.cli import options, records


def command(
    *,
    certificates: Annotated[
        list[str],
        typer.Argument(metavar="FILE[=COUNT]...", help="Certificates, and how often each is used."),
    ],
    epsilon: Annotated[
        list[str] | None, typer.Option("--epsilon", help="Enclose δ at this ε; may be repeated.")
    ] = None,
    delta: Annotated[
        list[str] | None, typer.Option("--delta", help="Enclose ε at this δ; may be repeated.")
    ] = None,
    sampling_rate: Annotated[
        str | None,
        typer.Option("--sampling-rate", help="Of Poisson samples, in place of the certificates'."),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Account for releases on the data of the same persons.

    Each certificate is verified first. Their noise must have been fixed in advance.
    """
    from leastnoise.certify.certificate import Certificate
    from leastnoise.errors import InvalidArgument, InvalidInput
    from leastnoise.release.mechanism import Mechanism, compose

    if not epsilon and not delta:
        raise InvalidArgument(name="--epsilon", value="nothing", expected="--epsilon or --delta")
    releases: list[tuple[Mechanism, int]] = []
    for text in certificates:
        name, _, count = text.rpartition("=") if "=" in text else (text, "", "1")
        if not count.isdecimal():
            raise InvalidArgument(name="count", value=count, expected="FILE=COUNT, a whole COUNT")
        try:
            read = Path(name).read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError):
            raise InvalidInput(f"Expected a certificate, found none at {name}.") from None
        releases.append((Mechanism(Certificate.from_json(read)), int(count)))
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
        )
        return
    rows = [(f"δ at ε = {text}", repr(at.lower), repr(at.upper)) for text, at in points]
    rows += [(f"ε at δ = {text}", repr(at.lower), repr(at.upper)) for text, at in budgets]
    count = sum(count for _, count in releases)
    records.print_table(f"{count:,} releases together", ("", "at least", "at most"), rows)
