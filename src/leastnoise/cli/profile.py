"""`leastnoise profile`: δ(ε) of a given noise law, as proved intervals."""

from __future__ import annotations

import click

from leastnoise.cli import options, records
from leastnoise.cli.commands import MANY, REQUIRED, Command, option
from leastnoise.cli.options import BUDGET, NOISE, NUMBER


@click.command("profile", cls=Command)
@options.noise
@option(NOISE, "--scale", NUMBER, "Scale of the noise, an exact decimal.", REQUIRED)
@options.parameters
@option(BUDGET, "--epsilon", NUMBER, "Enclose δ at this ε; may be repeated.", MANY, required=True)
@options.releases
@options.query
@options.as_json
def command(
    *,
    noise: str,
    scale: str,
    parameters: dict[str, str | int],
    epsilon: tuple[str, ...],
    compositions: int,
    sampling_rate: str,
    query: options.Query,
    as_json: bool,
) -> None:
    """Enclose δ(ε) of a noise of known scale.

    Noise in the shape of a body takes its body from what is said of the query.
    """
    from leastnoise.selection.public import privacy_profile

    with records.stages(f"Proving the profile of {noise}", silent=as_json):
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
    found = list(zip(epsilon, intervals, strict=True))
    if as_json:
        records.print_json({"points": records.intervals("epsilon", "delta", found)})
        return
    rows = [(text, repr(at.lower), repr(at.upper)) for text, at in found]
    records.print_table(f"{noise}, scale {scale}", ("ε", "δ at least", "δ at most"), rows)
