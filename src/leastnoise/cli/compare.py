"""`leastnoise compare`: every noise family for a query, best first."""

from __future__ import annotations

import typer

from leastnoise.cli import options, records


def command(
    *,
    epsilon: options.Epsilon,
    delta: options.Delta = "0",
    dimension: options.Dimension = 1,
    sensitivity: options.SensitivityBound = "1",
    norm: options.Norm = "l2",
    loss: options.Loss = "mse",
    compositions: options.Compositions = 1,
    sampling_rate: options.SamplingRate = "1",
    as_json: options.AsJson = False,
) -> None:
    """Rank every noise family for a query.

    Each is calibrated and proved; those that can't serve are listed with the reason.
    """
    from leastnoise.selection.search import compare

    options.one_full_release(compositions, sampling_rate)
    found = compare(
        epsilon=epsilon,
        delta=delta,
        sensitivity=options.sensitivity_from(norm, sensitivity),
        dimension=dimension,
        loss=loss,
    )
    candidates = [
        records.calibrated_record(one, epsilon=epsilon, delta=delta, sensitivity=sensitivity)
        for one in found.candidates
    ]
    if as_json:
        skipped = [{"name": one.name, "why": one.why} for one in found.skipped]
        # No lower bound on every possible noise is computed yet, so none is shown.
        records.print_json({"candidates": candidates, "lower_bound": None, "skipped": skipped})
        return
    best = candidates[0][loss] if candidates else 0.0
    rows = [
        (
            one["noise"]["name"],
            f"{one['scale']:.10g}",
            f"{one['mse']:.6g}",
            f"{one['mae']:.6g}",
            f"{one[loss] / best:.4g}×" if best > 0 else "",
        )
        for one in candidates
    ]
    title = f"ε = {epsilon}, δ = {delta}, dimension {dimension}, {norm} sensitivity {sensitivity}"
    records.print_table(title, ("noise", "scale", "mse", "mae", f"{loss} / best"), rows)
    for one in found.skipped:
        typer.echo(f"  {one.name} is skipped: {one.why}")
