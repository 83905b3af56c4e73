from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import leastnoise as ln
from leastnoise.errors import Refused
from leastnoise.guarantees.sensitivity import Sensitivity
from leastnoise.report.figures import density_figure, epsilons_around, error_by_epsilon
from leastnoise.selection.comparison import Comparison
from tests.report.test_comparison import comparison


def compared(
    epsilon: str = "1", delta: str = "1e-3", sensitivity: Sensitivity | None = None
) -> Comparison:
    return ln.compare(epsilon=epsilon, delta=delta, sensitivity=sensitivity or ln.L1(1))


def test_epsilons_surround_the_one_asked() -> None:
    assert epsilons_around(Fraction(1)) == [Fraction(2) ** k for k in range(-3, 4)]
    assert max(epsilons_around(Fraction(4))) == 16
    assert max(epsilons_around(Fraction(50))) == 50


@pytest.mark.dense
def test_errors_are_relative_to_the_gaussian_and_bounds_are_marks() -> None:
    results = {Fraction(x): compared(x) for x in ("2", "1")}
    figure = error_by_epsilon(results)
    lines = {line.name: line for line in figure.lines}
    assert figure.title == "Error (mse) against ε, δ = 0.001"
    assert list(lines["gaussian"].x) == [1, 2]
    assert list(lines["gaussian"].y) == [1, 1]
    for at, epsilon in enumerate((Fraction(1), Fraction(2))):
        losses = {
            candidate.label: candidate.mechanism.mse for candidate in results[epsilon].candidates
        }
        assert lines["laplace"].y[at] == losses["laplace"] / losses["gaussian"]
        assert min(line.y[at] for line in figure.lines if not line.bound) > bound_at(figure, at)


def bound_at(figure: object, at: int) -> float:
    (proved,) = (line for line in figure.lines if line.bound)  # type: ignore[attr-defined]
    return proved.y[at]


def test_without_delta_they_are_relative_to_laplace() -> None:
    lines = error_by_epsilon({Fraction(1): compared(delta="0")}).lines
    assert {line.name: list(line.y) for line in lines}["laplace"] == [1]


def test_without_a_noise_to_measure_by_nothing_is_drawn() -> None:
    with pytest.raises(Refused, match="gaussian"):
        error_by_epsilon({Fraction(1): comparison(1, "laplace")})


@pytest.mark.dense
def test_the_densities_have_mass_1_and_probabilities_are_marks() -> None:
    figure = density_figure(compared(sensitivity=ln.Integer(1)))
    lines = {line.name: line for line in figure.lines}
    assert {"gaussian", "laplace", "geometric"} <= set(lines)
    assert len(lines) <= 7
    assert lines["geometric"].marks
    assert "probability" in figure.y_label
    assert sum(lines["geometric"].y) == pytest.approx(1, abs=0.02)
    x, y = np.array(lines["laplace"].x), np.array(lines["laplace"].y)
    assert y.sum() * (x[1] - x[0]) == pytest.approx(1, abs=0.02)
    continuous = density_figure(compared())
    assert not any(line.marks for line in continuous.lines)
    assert continuous.y_label == "density"
