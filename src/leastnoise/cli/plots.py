"""`--plot`: the figures of `leastnoise compare`, in the terminal or a file."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, final

import typer

from leastnoise.cli import options, records

if TYPE_CHECKING:
    from leastnoise.report.figures import Figure
    from leastnoise.selection.comparison import Comparison

_WIDEST = 100

Plot = Annotated[
    str | None,
    typer.Option(
        "--plot",
        metavar=options.FILE,
        rich_help_panel=options.OUTPUT,
        help="Draw in a file ending in .svg, .png or .pdf, or in the terminal (-). Of one number: "
        "errors against epsilon, and densities. Of a vector: errors against the dimension, and the "
        "radius. Some seconds for each of about eight comparisons.",
    ),
]


@final
@dataclass(frozen=True, kw_only=True)
class Request:
    """Figures that are wanted on `target`, of noise for this problem and others beside it.

    For one number those are of other ε, for a vector of other dimensions, from `least` on.
    """

    target: str
    epsilon: Fraction
    dimension: int
    least: int
    silent: bool = False

    @classmethod
    def of(
        cls,
        target: str | None,
        *,
        epsilon: str,
        dimension: int,
        least: int,
        refused: dict[str, object],
        as_json: bool,
    ) -> Request | None:
        """Return what --plot asks for, None if it isn't there, before anything is computed.

        Raises InvalidArgument with one of the options in `refused`, with --json in the terminal,
        and for a file of another kind; InvalidInput without the libraries.
        """
        if target is None:
            return None
        from leastnoise.errors import InvalidArgument
        from leastnoise.guarantees.exact import exact
        from leastnoise.report.comparison import dimensions_around
        from leastnoise.report.figures import TERMINAL, check_target

        refused = refused if dimension > 1 else {}  # what holds in one dimension alone
        shown = {"--json": as_json and target == TERMINAL}
        for name, value in (refused | shown).items():
            if value:
                raise InvalidArgument(name=name, value=value, expected=f"no {name} with --plot")
        check_target(target)
        dimensions_around(dimension, least=least)
        return cls(
            target=target,
            epsilon=exact(epsilon, name="epsilon"),
            dimension=dimension,
            least=least,
            silent=as_json,
        )

    def figures(self, here: Comparison, at: Callable[[str, int], Comparison]) -> list[Figure]:
        """Return the figures; `here` is the comparison asked for, `at` (ε, dimension) makes others.

        Raises Refused if there is no noise to measure the others by.
        """
        with records.stages(silent=self.silent) as stage:
            if self.dimension == 1:
                return self._of_one_number(here, at, stage)
            return self._of_a_vector(here, at, stage)

    def _of_one_number(
        self, here: Comparison, at: Callable[[str, int], Comparison], stage: Callable[[str], None]
    ) -> list[Figure]:
        from leastnoise.guarantees.exact import decimal_text
        from leastnoise.report.one_number import density_figure, epsilons_around, error_by_epsilon

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
        from leastnoise.report.comparison import dimensions_around, error_figure, radius_figure

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
        width = min(shutil.get_terminal_size().columns, _WIDEST)
        return "\n".join(figure.text(width=width) for figure in figures)
