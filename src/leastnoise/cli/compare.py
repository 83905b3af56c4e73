"""`leastnoise compare`: every noise family for a query, best first, and figures of that."""

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
    "Draw in a file ending in .svg, .png or .pdf, or in the terminal (-). Of one number: errors "
    "against epsilon, and densities. Of a vector: errors against the dimension, and the radius. "
    "Some seconds for each of about eight comparisons."
)


@click.command("compare", cls=Command)
@options.budget
@options.releases
@options.query
@options.search
@option(SEARCH, "--bound", None, "Prove how good any noise could be; up to a minute.")
@options.parameters_by_family
@option(OUTPUT, "--verbose", None, "Say why each family that is left out can't serve.")
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

    Each is calibrated and proved; --verbose says why others can't serve. Exit code 1 if none can.
    """
    from leastnoise.errors import Refused
    from leastnoise.selection.public import compare

    alpha = parameters.get("generalized-gamma", {}).get("alpha")
    drawing = _Request.of(plot, epsilon, query, alpha=alpha, silent=as_json) if plot else None

    def compared(
        epsilon: str, dimension: int, progress: Callable[[str], None] | None = None
    ) -> Comparison:
        asked = replace(query, dimension=dimension)
        return compare(
            epsilon=epsilon,
            delta=delta,
            sensitivity=asked.declared(),
            dimension=asked.coordinates,
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
        found = compared(epsilon, query.dimension, progress=stage)
    if not found.candidates:
        raise Refused(found.why_none)
    figures = drawing.figures(found, compared) if drawing else []
    candidates = [
        records.calibrated_record(one, epsilon=epsilon, delta=delta, sensitivity=query.sensitivity)
        for one in found.candidates
    ]
    drawn = drawing.draw(figures) if drawing else ""
    if as_json:
        skipped = [{"name": one.name, "why": one.why} for one in found.skipped]
        record = {"candidates": candidates, "lower_bound": _bound_record(found), "skipped": skipped}
        records.print_json(record)
        return
    title = f"ε = {epsilon}, δ = {delta}, {query.declared().kind} sensitivity "
    title += f"{query.sensitivity}, dimension {query.coordinates}"
    _show(found, candidates, title=title, verbose=verbose)
    if drawn:
        terminal.say(drawn, lines=True)


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
    terminal.print_table(title, ("noise", "scale", "mse", "mae", f"{loss} / best"), rows)
    said = [f"{one.label}: {one.note}" for one in found.candidates if one.note is not None]
    if found.gap is not None:
        name = found.candidates[0].label
        said.append(f"{name} is at most {percent(found.gap)} above the best possible {loss}.")
    if verbose:
        said += [f"{one.name} is skipped: {one.why}." for one in found.skipped]
    elif found.skipped:
        families, are = ("family", "is") if len(found.skipped) == 1 else ("families", "are")
        said.append(f"{len(found.skipped)} {families} {are} skipped; --verbose says why.")
    terminal.print_sentences(said)


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


@final
@dataclass(frozen=True, kw_only=True)
class _Request:
    """Figures that are wanted on `target`, of noise for this problem and others beside it.

    For one number those are of other ε, for a vector of other dimensions, from `least` on.
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
    ) -> _Request:
        """Return the figures that --plot asks for, before anything is computed.

        Raises InvalidArgument for options that hold in one dimension alone, for --json in the
        terminal, and for a file of another kind; InvalidInput without the libraries.
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
        """Return the figures; `here` is the comparison asked for, `at` (ε, dimension) makes others.

        Raises Refused if there is no noise to measure the others by.
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

        error_by_epsilon({self.epsilon: here})  # refuses before the work rather than after it
        found: dict[Fraction, Comparison] = {}
        for epsilon in epsilons_around(self.epsilon):
            shown = decimal_text(epsilon)
            stage(f"Comparing at ε = {shown}")
            found[epsilon] = here if epsilon == self.epsilon else at(shown, 1)
        served = {epsilon: one for epsilon, one in found.items() if one.candidates}
        return [error_by_epsilon(served), density_figure(here)]

    def _of_a_vector(
        self, here: Comparison, at: Callable[[str, int], Comparison], stage: Callable[[str], None]
    ) -> list[Figure]:
        from leastnoise.guarantees.exact import decimal_text
        from leastnoise.report.figures import dimensions_around, error_figure, radius_figure

        error_figure({self.dimension: here})  # refuses before the work rather than after it
        epsilon = decimal_text(self.epsilon)
        found: dict[int, Comparison] = {}
        for dimension in dimensions_around(self.dimension, least=self.least):
            stage(f"Comparing in {dimension:,} dimensions")
            found[dimension] = here if dimension == self.dimension else at(epsilon, dimension)
        radius = radius_figure(here)
        return [error_figure(found), *([radius] if radius else [])]

    def draw(self, figures: list[Figure]) -> str:
        """Write the file, and return what a terminal shows of it: all, if it is the target.

        Raises InvalidInput for a file that can't be written.
        """
        from leastnoise.report.figures import TERMINAL, save_side_by_side

        if self.target != TERMINAL:
            save_side_by_side(figures, self.target)
            return f"The figures are in {self.target}."
        width = min(shutil.get_terminal_size().columns, 100)
        return "\n".join(figure.text(width=width) for figure in figures)
