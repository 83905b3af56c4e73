"""One draw of noise for the second moments of a model's columns, and what it cost."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import NEIGHBOURS
from leastnoise.learn.choice import (
    AUTO,
    about,
    best_of,
    chosen,
    chosen_noise,
    chosen_parameters,
)
from leastnoise.learn.fitting import Spent, charge
from leastnoise.learn.moments import Floats, Moments, Published
from leastnoise.learn.training import whole_features
from leastnoise.mechanism.mechanism import Mechanism

_FAMILIES = ("gaussian", "l2", "k-norm", "k-staircase")
"""Of which one is best or within half a per cent of it; what is searched for takes seconds."""
_GRID = Fraction(1, 2**28)  # at least: a release reaches 2^61 steps, and sums 2^32


def publish_moments(
    model: Any, columns: Floats, *, constant: bool, label: str
) -> tuple[Published, Spent]:
    """Charge the model's ledger, if it has one, and release the moments of `columns` (n, d).

    Columns are cut to [−1, 1]. The model has the parameters of `LinearRegression`. Raises
    InvalidArgument for those that make no sense, Refused if no noise can serve, or the charge
    doesn't fit: then nothing was spent.
    """
    neighbours = chosen(model.neighbours, "neighbours", NEIGHBOURS)
    counted = neighbours == "add-remove"
    rows = None if counted else len(columns)
    moments = Moments(variables=columns.shape[1], constant=constant, counted=counted)
    mechanism = _mechanism(model, moments, rows=rows)
    features = whole_features(columns, squared_norm=None)  # or too many rows: nothing was spent
    charged = charge(model, mechanism.certificate, label=label)
    released = mechanism.release(moments.sums(features))
    variances = mechanism.variances + float(mechanism.grid) ** 2 / 12  # it is rounded to that
    published = moments.read(released.values, variances, rows=rows)
    return published, Spent(
        certificate=mechanism.certificate, neighbours=neighbours, charged=charged
    )


def _mechanism(model: Any, moments: Moments, *, rows: int | None) -> Mechanism:
    """Return the noise, from public numbers alone: `rows` is None where it isn't one."""
    delta = model.delta
    if delta is None:
        if rows is None:
            raise InvalidArgument(
                name="delta",
                value=None,
                expected="a number",
                hint='With "add-remove" the number of rows is not public.',
            )
        delta = Fraction(1, max(rows, 2) ** 2)
    family = chosen_noise(model.noise)
    mechanism = best_of(
        _FAMILIES if family == AUTO else (family,),
        budget=Budget(epsilon=model.epsilon, delta=delta),
        sensitivity=moments.sensitivity,
        dimension=moments.dimension,
        parameters=chosen_parameters(family, model.noise_parameters),
    )
    if mechanism.grid < _GRID:  # noise so small that sums of many rows would be cut off
        mechanism = mechanism.on_grid(_GRID)
    return about(mechanism, model.neighbours)
