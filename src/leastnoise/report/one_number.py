"""Two figures of noise for one number: the error as ε changes, and the densities."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from leastnoise.guarantees.exact import decimal_text
from leastnoise.noise.base import Noise
from leastnoise.report.comparison import budget_text, relative_errors
from leastnoise.report.figures import Figure, Line
from leastnoise.selection.comparison import Comparison

_FACTORS = [Fraction(2) ** power for power in range(-3, 4)]
_LARGEST_EPSILON = 20  # of a figure: beyond it hardly any family serves
_PLACES = 601
_DRAWN = 5  # of the densities, beside Laplace's and the Gaussian's: more can't be told apart
_REACH = 4  # of the densities, in standard deviations of the noise that has the least


def epsilons_around(asked: Fraction) -> list[Fraction]:
    """Return from an eighth of `asked` to eight times it, none above both 20 and `asked`."""
    return [asked * one for one in _FACTORS if one <= 1 or asked * one <= _LARGEST_EPSILON]


def error_by_epsilon(found: Mapping[Fraction, Comparison]) -> Figure:
    """Return the loss of each noise over the Gaussian's, or at δ = 0 Laplace's, by ε.

    Proved bounds are marks. Raises Refused where there is no such noise to measure by.
    """
    first = next(iter(found.values()))
    delta = first.mechanisms[0].certificate.budget.delta
    baseline = "gaussian" if delta else "laplace"
    return Figure(
        title=f"Error ({first.loss}) against ε, δ = {decimal_text(delta)}",
        x_label="ε",
        y_label=f"{first.loss} / {first.loss} of {baseline} noise",
        lines=relative_errors({float(x): one for x, one in found.items()}, baseline=baseline),
        log_x=True,
        log_y=True,
    )


def density_figure(found: Comparison) -> Figure:
    """Return the densities of the best noise, of Laplace's and of the Gaussian.

    Noise on the whole numbers has marks at its probabilities.
    """
    laws = {
        one.label: one.mechanism.noise
        for place, one in enumerate(found.candidates)
        if place < _DRAWN or one.label in {"gaussian", "laplace"}
    }
    discrete = any(law.for_whole_numbers for law in laws.values())
    reach = _REACH * min(law.mse for law in laws.values()) ** 0.5
    return Figure(
        title=f"Density of the noise, {budget_text(found)}",
        x_label="noise added to the number",
        y_label="density, or probability (points)" if discrete else "density",
        lines=tuple(_density(name, law, reach) for name, law in laws.items()),
    )


def _density(name: str, law: Noise, reach: float) -> Line:
    if law.for_whole_numbers:
        x = np.arange(-np.floor(reach), np.floor(reach) + 1)
    else:
        x = np.linspace(-reach, reach, _PLACES)
    density = np.exp(law.log_density(x[:, None]))
    return Line(
        name=name,
        x=x.tolist(),
        y=density.tolist(),
        marks=law.for_whole_numbers,
    )
