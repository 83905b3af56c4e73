"""`leastnoise profile`: δ(ε) of a given noise law, as proved intervals."""

from __future__ import annotations

from typing import Annotated

import typer

from leastnoise.cli import options, records


def command(
    *,
    noise: options.NoiseName,
    scale: Annotated[
        str,
        typer.Option(
            "--scale",
            metavar=options.NUMBER,
            help="Scale of the noise, an exact decimal.",
            rich_help_panel=options.NOISE,
        ),
    ],
    epsilon: Annotated[
        list[str],
        typer.Option(
            "--epsilon",
            metavar=options.NUMBER,
            help="Enclose δ at this ε; may be repeated.",
            rich_help_panel=options.BUDGET,
        ),
    ],
    dimension: options.Dimension = 1,
    sensitivity: options.SensitivityBound = "1",
    norm: options.Norm = "l2",
    l0: options.MaxMoved = None,
    counting_queries: options.AreCounting = False,
    max_nonzero: options.MaxNonzero = None,
    release_n: options.ReleasesTotal = False,
    neighbours: options.WhoAreNeighbours = "add-remove",
    param: options.Parameters = None,
    compositions: options.Compositions = 1,
    sampling_rate: options.SamplingRate = "1",
    as_json: options.AsJson = False,
) -> None:
    """Enclose δ(ε) of a noise of known scale.

    Noise in the shape of a body takes its body from what is said of the query.
    """
    from leastnoise.selection.public import privacy_profile

    whole = norm == "integer"
    declared = options.Declaration(
        norm="l2" if whole else norm,
        bound=sensitivity,
        dimension=dimension,
        integer=whole,
        l0=l0,
        counting_queries=counting_queries,
        max_nonzero=max_nonzero,
        release_n=release_n,
        neighbours=neighbours,
    ).sensitivity()
    with records.stages(f"Proving the profile of {noise}", silent=as_json):
        intervals = privacy_profile(
            noise,
            scale=scale,
            epsilons=epsilon,
            sensitivity=declared,
            dimension=declared.coordinates or dimension,
            compositions=compositions,
            sampling_rate=sampling_rate,
            parameters=options.parameters_from(param),
        )
    if as_json:
        points = [
            {"epsilon": text, "delta_interval": [interval.lower, interval.upper]}
            for text, interval in zip(epsilon, intervals, strict=True)
        ]
        records.print_json({"points": points})
        return
    rows = [
        (text, repr(interval.lower), repr(interval.upper))
        for text, interval in zip(epsilon, intervals, strict=True)
    ]
    records.print_table(f"{noise}, scale {scale}", ("ε", "δ at least", "δ at most"), rows)
