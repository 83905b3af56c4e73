"""`leastnoise compare`: every noise family for a query, best first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leastnoise.cli import options, plots, records

if TYPE_CHECKING:
    from collections.abc import Callable

    from leastnoise.selection.comparison import Comparison


def command(
    *,
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
    modes: options.Modes = None,
    alpha: options.Alpha = None,
    p: options.Power = None,
    bound: Annotated[
        bool,
        typer.Option(
            "--bound",
            help="Prove how good any noise could be; up to a minute.",
            rich_help_panel=options.SEARCH,
        ),
    ] = False,
    gap: options.Gap = None,
    time_limit: options.TimeLimit = None,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            help="Say why each family that is left out can't serve.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = False,
    plot: plots.Plot = None,
    as_json: options.AsJson = False,
) -> None:
    """Rank every noise family for a query.

    Each is calibrated and proved; --verbose says why others can't serve. Exit code 1 if none can.
    """
    from leastnoise.errors import Refused
    from leastnoise.selection.public import compare

    declaration = options.Declaration(
        norm=norm,
        bound=sensitivity,
        dimension=dimension,
        integer=integer,
        l0=l0,
        counting_queries=counting_queries,
        max_nonzero=max_nonzero,
        release_n=release_n,
        neighbours=neighbours,
    )
    declared = declaration.sensitivity()
    drawing = plots.Request.of(
        plot,
        epsilon=epsilon,
        dimension=declared.coordinates or dimension,
        least=max_nonzero or 1,
        refused={"--integer": integer, "--alpha": alpha},
        as_json=as_json,
    )
    parameters = {
        name: values
        for name, values in (
            ("gaussian-mixture", options.modes_from(modes)),
            ("generalized-gamma", options.shape_from(alpha, p)),
        )
        if values
    }

    def compared(
        epsilon: str,
        dimension: int,
        *,
        bound: bool = bound,
        progress: Callable[[str], None] | None = None,
    ) -> Comparison:
        declared = replace(declaration, dimension=dimension).sensitivity()
        return compare(
            epsilon=epsilon,
            delta=delta,
            sensitivity=declared,
            dimension=declared.coordinates or dimension,
            loss=loss,
            compositions=compositions,
            sampling_rate=sampling_rate,
            bound=bound,
            progress=progress,
            parameters=parameters,
            gap=gap,
            time_limit=time_limit,
        )

    with records.stages("Comparing", silent=as_json) as stage:
        found = compared(epsilon, dimension, progress=stage)
    if not found.candidates:
        raise Refused(found.why_none)
    figures = drawing.figures(found, compared) if drawing else []
    candidates = [
        records.calibrated_record(one, epsilon=epsilon, delta=delta, sensitivity=sensitivity)
        for one in found.candidates
    ]
    drawn = drawing.draw(figures) if drawing else ""
    if as_json:
        skipped = [{"name": one.name, "why": one.why} for one in found.skipped]
        record = {"candidates": candidates, "lower_bound": _bound_record(found), "skipped": skipped}
        records.print_json(record)
        return
    title = f"ε = {epsilon}, δ = {delta}, {declared.kind} sensitivity {sensitivity}, dimension "
    title += str(declared.coordinates or dimension)
    _show(found, candidates, title=title, verbose=verbose)
    if drawn:
        records.say(drawn, lines=True)


def _show(
    found: Comparison, candidates: list[dict[str, Any]], *, title: str, verbose: bool
) -> None:
    from leastnoise.selection.comparison import error_text, percent

    loss = found.loss.value
    best = candidates[0][loss]
    rows = [
        (
            candidate.label,
            f"{one['scale']:.10g}",
            f"{one['mse']:.6g}",
            error_text(one["mae"]),
            f"{one[loss] / best:.4g}×" if best > 0 else "",
        )
        for candidate, one in zip(found.candidates, candidates, strict=True)
    ]
    records.print_table(title, ("noise", "scale", "mse", "mae", f"{loss} / best"), rows)
    said = [f"{one.label}: {one.note}" for one in found.candidates if one.note is not None]
    if found.gap is not None:
        name = found.candidates[0].label
        said.append(f"{name} is at most {percent(found.gap)} above the best possible {loss}.")
    if verbose:
        said += [f"{one.name} is skipped: {one.why}." for one in found.skipped]
    elif found.skipped:
        families, are = ("family", "is") if len(found.skipped) == 1 else ("families", "are")
        said.append(f"{len(found.skipped)} {families} {are} skipped; --verbose says why.")
    records.print_sentences(said)


def _bound_record(found: Comparison) -> dict[str, Any] | None:
    """Return the proved lower bound, None if there is none for this very problem."""
    if found.best_possible is None:
        return None
    return {
        "loss": found.loss.value,
        "value": found.best_possible.value,
        "certified": True,
        "scope": found.best_possible.bound.scope,
    }
