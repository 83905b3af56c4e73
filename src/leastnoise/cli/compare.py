"""`leastnoise compare`: rank every noise family for a query, and draw figures."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import click

from leastnoise.cli import options, records, terminal
from leastnoise.cli.command import Command, OptionType, option
from leastnoise.cli.options import OUTPUT, SEARCH

if TYPE_CHECKING:
    from leastnoise.report.figures import Figure
    from leastnoise.selection.comparison import Comparison

_PLOT = (
    "Draw figures in a file ending in .svg, .png or .pdf, or in the terminal (-). For one "
    "number, the figures show the error of each noise by epsilon, and the densities of the noise. "
    "For a vector, they show errors by dimension, and the radius of the noise. About eight "
    "comparisons are computed, which take some seconds each."
)


@click.command("compare", cls=Command)
@options.budget
@options.releases
@options.query
@options.search
@option(
    SEARCH,
    "--bound",
    None,
    "Prove a lower bound on the error of any noise, which takes up to a minute.",
)
@options.parameters_by_family
@option(OUTPUT, "--verbose", None, "Show why the other noise families can't serve.")
@option(OUTPUT, "--plot", OptionType("FILE", files=True), _PLOT)
@options.as_json
def command(
    *,
    epsilon: str,
    delta: str,
    compositions: int,
    sampling_rate: str,
    query: options.QueryOptions,
    loss: str,
    gap: float | None,
    time_limit: float | None,
    bound: bool,
    parameters: dict[str, dict[str, Any]],
    verbose: bool,
    plot: str | None,
    as_json: bool,
) -> None:
    """Rank every noise family for a query.

    Each family that can serve the query is calibrated and proved. --verbose shows why the other
    families can't serve the query. Exit code 1 if no family can serve the query.
    """
    from leastnoise.errors import Refused
    from leastnoise.selection.public import compare

    alpha = parameters.get("generalized-gamma", {}).get("alpha")
    drawing = _PlotRequest.of(plot, epsilon, query, alpha=alpha, silent=as_json) if plot else None

    def run_comparison(
        epsilon: str, dimension: int, progress: Callable[[str], None] | None = None
    ) -> Comparison:
        changed = replace(query, dimension=dimension)
        return compare(
            epsilon=epsilon,
            delta=delta,
            sensitivity=changed.declared(),
            dimension=changed.coordinates,
            loss=loss,
            compositions=compositions,
            sampling_rate=sampling_rate,
            bound=bound,
            progress=progress,
            parameters=parameters,
            gap=gap,
            time_limit=time_limit,
        )

    with terminal.stages("Comparing", silent=as_json) as stage:
        comparison = run_comparison(epsilon, query.dimension, progress=stage)
    if not comparison.candidates:
        raise Refused(comparison.why_none)
    figures = drawing.figures(comparison, run_comparison) if drawing else []
    candidates = [
        records.calibrated_record(
            candidate, epsilon=epsilon, delta=delta, sensitivity=query.sensitivity
        )
        for candidate in comparison.candidates
    ]
    drawn = drawing.draw(figures) if drawing else ""
    if as_json:
        skipped = [{"name": family.name, "why": family.why} for family in comparison.skipped]
        records.print_json(
            {
                "candidates": candidates,
                "lower_bound": _bound_record(comparison),
                "skipped": skipped,
            }
        )
        return
    title = f"ε = {epsilon}, δ = {delta}, {query.declared().kind} sensitivity "
    title += f"{query.sensitivity}, dimension {query.coordinates}"
    _show(comparison, candidates, title=title, verbose=verbose)
    if drawn:
        terminal.say(drawn, lines=True)


def _show(
    comparison: Comparison, candidates: list[dict[str, Any]], *, title: str, verbose: bool
) -> None:
    from leastnoise.selection.comparison import error_text, name_bound, percent

    loss = comparison.loss.value
    best = candidates[0][loss]
    rows = [
        (
            candidate.label,
            f"{record['scale']:.10g}",
            f"{record['mse']:.6g}",
            error_text(record["mae"]),
            f"{record[loss] / best:.4g}×" if best > 0 else "",
        )
        for candidate, record in zip(comparison.candidates, candidates, strict=True)
    ]
    terminal.print_table(title, ("noise", "scale", "mse", "mae", f"{loss} / best"), rows)
    sentences = [
        f"{candidate.label}: {candidate.note}"
        for candidate in comparison.candidates
        if candidate.note is not None
    ]
    if comparison.gap is not None:
        name, gap = comparison.candidates[0].label, percent(comparison.gap)
        sentences.append(f"{name} is at most {gap} above {name_bound(comparison)}.")
    count = len(comparison.skipped)
    if verbose:
        sentences += [f"{family.name} is skipped: {family.why}." for family in comparison.skipped]
    elif count:
        families, are = ("family", "is") if count == 1 else ("families", "are")
        sentences.append(f"{count} {families} {are} skipped; --verbose shows why.")
    terminal.print_sentences(sentences)


def _bound_record(comparison: Comparison) -> dict[str, Any] | None:
    """The proved lower bound on the error as a JSON record; None if no bound was proved."""
    if comparison.best_possible is None:
        return None
    return {
        "loss": comparison.loss.value,
        "value": comparison.best_possible.value,
        "certified": True,
        "scope": comparison.best_possible.bound.scope,
    }


@final
@dataclass(frozen=True, kw_only=True)
class _PlotRequest:
    """A request for figures in `target`, a file or the terminal.

    Figures for one number compare noise at several ε. Figures for a vector compare noise in several
    dimensions, none below `least`: the option --max-nonzero, or 1.
    """

    target: str
    epsilon: Fraction
    dimension: int
    least: int
    silent: bool

    @classmethod
    def of(
        cls,
        target: str,
        epsilon: str,
        query: options.QueryOptions,
        *,
        alpha: str | None,
        silent: bool,
    ) -> _PlotRequest:
        """Check the request for --plot, before anything is computed.

        Raises InvalidArgument for a vector with --integer or --alpha, for --json with figures in
        the terminal, for more than a million dimensions, and for an unknown file type. Also raises
        it for malformed options. Raises InvalidInput if a library or the file's folder is missing.
        """
        from leastnoise.errors import InvalidArgument
        from leastnoise.guarantees.exact import exact
        from leastnoise.report.figures import TERMINAL, check_target, dimensions_around

        dimension, least = query.coordinates, query.max_nonzero or 1
        for name, given in (
            ("--integer", query.integer if dimension > 1 else None),
            ("--alpha", alpha if dimension > 1 else None),
            ("--json", silent if target == TERMINAL else None),
        ):
            if given:
                raise InvalidArgument(name=name, value=given, expected=f"no {name} with --plot")
        check_target(target)
        dimensions_around(dimension, least=least)
        at = exact(epsilon, name="epsilon")
        return cls(target=target, epsilon=at, dimension=dimension, least=least, silent=silent)

    def figures(self, here: Comparison, at: Callable[[str, int], Comparison]) -> list[Figure]:
        """Compute the figures.

        `here` is the comparison that the user asked for; `at(ε, dimension)` computes the others.
        Raises Refused if the noise that others are compared with can't serve.
        """
        with terminal.stages(silent=self.silent) as stage:
            if self.dimension == 1:
                return self._of_one_number(here, at, stage)
            return self._of_a_vector(here, at, stage)

    def _of_one_number(
        self, here: Comparison, at: Callable[[str, int], Comparison], stage: Callable[[str], None]
    ) -> list[Figure]:
        from leastnoise.guarantees.exact import decimal_text
        from leastnoise.report.figures import density_figure, epsilons_around, error_by_epsilon

        error_by_epsilon({self.epsilon: here})  # raises an error before the work, not after it
        comparisons: dict[Fraction, Comparison] = {}
        for epsilon in epsilons_around(self.epsilon):
            shown = decimal_text(epsilon)
            stage(f"Comparing at ε = {shown}")
            comparisons[epsilon] = here if epsilon == self.epsilon else at(shown, 1)
        usable = {
            epsilon: comparison
            for epsilon, comparison in comparisons.items()
            if comparison.candidates
        }
        return [error_by_epsilon(usable), density_figure(here)]

    def _of_a_vector(
        self, here: Comparison, at: Callable[[str, int], Comparison], stage: Callable[[str], None]
    ) -> list[Figure]:
        from leastnoise.guarantees.exact import decimal_text
        from leastnoise.report.figures import dimensions_around, error_figure, radius_figure

        error_figure({self.dimension: here})  # raises an error before the work, not after it
        epsilon = decimal_text(self.epsilon)
        comparisons: dict[int, Comparison] = {}
        for dimension in dimensions_around(self.dimension, least=self.least):
            stage(f"Comparing in {dimension:,} dimensions")
            comparisons[dimension] = here if dimension == self.dimension else at(epsilon, dimension)
        radius = radius_figure(here)
        return [error_figure(comparisons), *([radius] if radius else [])]

    def draw(self, figures: list[Figure]) -> str:
        """Write the target file and return a sentence, or return the figures as text.

        Raises InvalidInput for a file that can't be written.
        """
        from leastnoise.report.figures import TERMINAL, save_side_by_side

        if self.target != TERMINAL:
            save_side_by_side(figures, self.target)
            return f"The figures are in {self.target}."
        width = min(shutil.get_terminal_size().columns, 100)
        return "\n".join(figure.text(width=width) for figure in figures)
