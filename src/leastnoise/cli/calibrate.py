"""`leastnoise calibrate`: the smallest scale of one noise family, proved."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from leastnoise.cli import options, records


def command(
    *,
    noise: options.NoiseName,
    epsilon: options.Epsilon,
    delta: options.Delta = "0",
    dimension: options.Dimension = 1,
    sensitivity: options.SensitivityBound = "1",
    norm: options.Norm = "l2",
    l0: options.MaxMoved = None,
    counting_queries: options.AreCounting = False,
    max_nonzero: options.MaxNonzero = None,
    release_n: options.ReleasesTotal = False,
    neighbours: options.WhoAreNeighbours = "add-remove",
    loss: options.Loss = "mse",
    compositions: options.Compositions = 1,
    sampling_rate: options.SamplingRate = "1",
    integer: options.IsInteger = False,
    param: options.Parameters = None,
    modes: options.Modes = None,
    alpha: options.Alpha = None,
    p: options.Power = None,
    gap: options.Gap = None,
    time_limit: options.TimeLimit = None,
    certificate: Annotated[
        Path | None, typer.Option("--certificate", help="Write the certificate to this file.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Find and prove the smallest scale of a noise.

    The scale is never below the exact minimum, and at most 1e-9 (relative) above it for gaussian,
    laplace, l2 and steps, 1e-5 for other noise. Designed noise (optimal, discrete-staircase) is
    within --gap of the best possible, 0.5 % if not given, or the best after --time-limit seconds.
    """
    from leastnoise.guarantees.budget import Budget
    from leastnoise.mechanism.output import write_file
    from leastnoise.selection.comparison import error_text
    from leastnoise.selection.public import candidate, effort_for

    declared = options.Declaration(
        norm=norm,
        bound=sensitivity,
        dimension=dimension,
        integer=integer,
        l0=l0,
        counting_queries=counting_queries,
        max_nonzero=max_nonzero,
        release_n=release_n,
        neighbours=neighbours,
    ).sensitivity()
    with nullcontext() if as_json else records.stages() as stage:
        found = candidate(
            noise,
            budget=Budget(epsilon=epsilon, delta=delta),
            sensitivity=declared,
            dimension=declared.coordinates or dimension,
            loss=loss,
            compositions=compositions,
            sampling_rate=sampling_rate,
            parameters=options.parameters_from(param, modes=modes, alpha=alpha, p=p),
            effort=effort_for(noise, gap=gap, time_limit=time_limit, progress=stage),
        )
    if certificate is not None:
        write_file(certificate, found.mechanism.certificate.to_json() + "\n")
    record = records.calibrated_record(found, epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    if as_json:
        records.print_json(record)
        return
    rows = [
        ("noise", found.label),
        ("scale", repr(record["scale"])),
        ("dimension", str(record["dimension"])),
        ("mse (E‖X‖₂²)", f"{record['mse']:.6g}"),
        ("mae (E‖X‖₁)", error_text(record["mae"])),
        ("delta, proved", f"in [{record['delta_interval'][0]!r}, {record['delta_interval'][1]!r}]"),
    ]
    if found.note is not None:
        rows.append(("note", found.note))
    if certificate is not None:
        rows.append(("certificate", str(certificate)))
    records.print_table(f"ε = {epsilon}, δ = {delta}", ("", ""), rows)
