"""`LinearRegression`: scikit-learn's checks, its estimates, its refusals and its budget."""

from __future__ import annotations

import pickle
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression as Exact
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import check_estimator

import leastnoise as ln
from leastnoise.errors import InvalidArgument, OverBudget, Refused
from leastnoise.learn import BoundedScaler, LinearRegression
from leastnoise.learn.training import MOST_ROWS
from tests.grids import thin

FRESH = "noise is fresh, so that no two fits are alike to 1e-7"
NOISY = {
    "check_fit_idempotent": FRESH,
    "check_regressor_data_not_an_array": FRESH,
    "check_regressors_int": FRESH,
    "check_supervised_y_2d": FRESH,
}
WEIGHTS, INTERCEPT = np.array([3.0, -0.5]), 7.0
COUNTED = {"neighbours": "add-remove"}
SILENT = pytest.mark.filterwarnings("ignore:.*noise hides:sklearn.exceptions.ConvergenceWarning")

Floats = NDArray[np.float64]


def data(rows: int = 4000) -> tuple[Floats, Floats]:
    draws = np.random.default_rng(1)
    x = np.column_stack([draws.uniform(0, 10, rows), draws.uniform(20, 80, rows)])
    return x, x @ WEIGHTS + INTERCEPT + draws.normal(0, 3, rows)


def model(**changes: Any) -> LinearRegression:
    asked = {
        "epsilon": 1,
        "delta": "1e-6",
        "bounds": [(0, 10), (0, 100)],
        "target_bounds": (-60, 60),
    }
    return LinearRegression(**(asked | changes))


@pytest.mark.dense
@pytest.mark.filterwarnings("ignore")  # scikit-learn's checks warn about themselves, too
@pytest.mark.parametrize("epsilon", [10**5, 1])
def test_it_passes_the_checks_of_scikit_learn(epsilon: int) -> None:
    asked = model(epsilon=epsilon, delta="0.1", bounds=(-10, 10), target_bounds=(-100, 100))
    check_estimator(asked, expected_failed_checks=NOISY)


@pytest.mark.grid
@pytest.mark.parametrize("more", [{}, COUNTED, {"delta": 0}, {"noise": "l2"}], ids=str)
def test_it_learns(more: dict[str, Any]) -> None:
    x, y = data(20_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        noise = model(**more).fit(x, y)
    assert noise.score(x, y) > 0.8
    assert (np.abs(noise.coef_ - WEIGHTS) < 6 * noise.standard_errors_).all()
    assert abs(noise.intercept_ - INTERCEPT) < 6 * noise.intercept_standard_error_
    assert (noise.standard_errors_ < [0.2, 0.05]).all()
    assert noise.predict(x) == pytest.approx(x @ noise.coef_ + noise.intercept_)
    assert noise.hidden_directions_ == 0
    assert noise.certificate_.compositions == 1
    assert noise.certificate_.verify().certainly_at_most(Fraction(more.get("delta", "1e-6")))


@pytest.mark.parametrize("more", [{}, {"fit_intercept": False}, COUNTED], ids=str)
def test_without_noise_to_speak_of_it_is_least_squares(more: dict[str, Any]) -> None:
    """Bounds that no value exceeds, and features as fine as 2^−20 of them."""
    x, y = data()
    noise = model(epsilon=10**5, delta="0.1", **more).fit(x, y)
    expected = Exact(fit_intercept=more.get("fit_intercept", True)).fit(x, y)
    assert noise.coef_ == pytest.approx(expected.coef_, rel=1e-4)
    assert noise.intercept_ == pytest.approx(expected.intercept_, rel=1e-3, abs=1e-9)
    assert noise.score(x, y) == pytest.approx(expected.score(x, y), abs=1e-6)


def test_alpha_is_that_of_a_ridge_on_scaled_columns() -> None:
    x, y = data()
    noise = model(epsilon=10**5, delta="0.1", alpha=300).fit(x, y)
    expected = Ridge(alpha=300).fit(x / [5, 50] - 1, y / 60)
    assert noise.coef_ * [5, 50] / 60 == pytest.approx(expected.coef_, rel=1e-4)
    assert noise.predict(x) == pytest.approx(60 * expected.predict(x / [5, 50] - 1), rel=1e-3)


def test_what_lies_outside_is_cut_off_in_training_without_a_word() -> None:
    x, y = data()
    x[:3], y[:2] = [1e300, -1e300], -1e300
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        noise = model(epsilon=10**5, delta="0.1").fit(x, y)
    expected = Exact().fit(x.clip(0, [10, 100]), y.clip(-60, 60))
    assert noise.coef_ == pytest.approx(expected.coef_, rel=1e-4)


@pytest.mark.dense
@pytest.mark.parametrize("more", thin([{}, COUNTED], 1), ids=str)
def test_standard_errors_are_how_far_coefficients_are_off(more: dict[str, Any]) -> None:
    """Mean squares of errors over standard errors: 1, found to ±.09 (a standard deviation).

    95 % of errors are within 1.96 standard errors, found to ±1.1 %. The bounds are six deviations.
    """
    draws = np.random.default_rng(4)
    results: list[Floats] = []
    for _ in range(200):
        x = draws.uniform([0, 20], [10, 80], (3000, 2))
        noise = model(**more).fit(x, x @ WEIGHTS + INTERCEPT + draws.normal(0, 3, 3000))
        off = np.append(noise.coef_ - WEIGHTS, noise.intercept_ - INTERCEPT)
        results.append(off / np.append(noise.standard_errors_, noise.intercept_standard_error_))
    squares = np.array(results) ** 2
    assert 0.46 < squares.mean() < 1.54
    assert 0.884 < (squares < 1.96**2).mean() < 1


@pytest.mark.parametrize("more", [{}, COUNTED], ids=str)
def test_a_warning_where_noise_hides_the_features(more: dict[str, Any]) -> None:
    x, y = data(500)
    x[:, 1] = 50
    asked = model(epsilon="0.5", **more)
    with pytest.warns(ConvergenceWarning, match=r"In \d of 2 directions the features"):
        asked.fit(x, y)
    assert asked.hidden_directions_ >= 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning):
            asked.fit(x, y)
    assert np.isfinite(asked.predict(x)).all()  # the model is there: it was paid for


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"delta": 2}, "delta"),
        ({"delta": None, "neighbours": "add-remove"}, "delta"),
        ({"epsilon": "five"}, "epsilon"),
        ({"neighbours": "friends"}, "neighbours"),
        ({"alpha": -1}, "alpha"),
        ({"alpha": float("nan")}, "alpha"),
        ({"bounds": None}, "bounds"),
        ({"target_bounds": None}, "target_bounds"),
        ({"fit_intercept": "yes"}, "fit_intercept"),
        ({"noise": "gausian"}, "noise"),
        ({"noise_parameters": {"modes": 10}}, "noise_parameters"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused_by_name(wrong: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidArgument, match=name):
        model(**wrong).fit(*data(50))


@pytest.mark.parametrize("bounds", [(1, 0), (0, np.inf), (0, 1e300), (0, 1e-300), [(0, 1)] * 3])
@pytest.mark.parametrize("name", ["bounds", "target_bounds"])
def test_bounds_that_make_no_sense_are_refused(bounds: Any, name: str) -> None:
    with pytest.raises(ValueError, match="bounds"):
        model(**{name: bounds}).fit(*data(50))


@pytest.mark.parametrize("secret", [np.nan, np.inf, "s3cret", 123.456 + 1j], ids=str)
@pytest.mark.parametrize("in_target", [True, False])
def test_what_is_no_finite_number_is_an_error_that_quotes_none(
    secret: Any, in_target: bool
) -> None:
    kind = complex if isinstance(secret, complex) else object
    x, y = (item.astype(kind) for item in data(50))
    (y if in_target else x)[3] = secret
    stored = [(x, y)]
    if isinstance(secret, str):
        stored += [(x.astype(str), y.astype(str)), (x.tolist(), y.tolist())]
    for features, target in stored:
        why = r"NaN|infinity|float|Complex|complex|Expected numbers"
        with pytest.raises(ValueError, match=why) as caught:
            model().fit(features, target)
        for quoted in ("s3cret", "123.456"):
            assert quoted not in str(caught.value)


@SILENT
@pytest.mark.parametrize(
    ("secret", "kind"), [("s3cret", str), (10**400, object), ({"s3cret": 1}, object)], ids=str
)
def test_no_door_quotes_what_is_no_number(secret: Any, kind: type) -> None:
    x, y = data(50)
    odd = x.astype(kind).astype(object)
    odd[3, 0] = secret
    fitted = model().fit(x, y)
    scaler = BoundedScaler(bounds=(0, 1)).fit(x)
    for door in (fitted.predict, scaler.transform, scaler.fit, lambda item: model().fit(item, y)):
        for stored in (odd, odd.astype(str)) if isinstance(secret, str) else (odd,):
            with pytest.raises((ValueError, TypeError)) as caught:
                door(stored)
            assert "s3cret" not in str(caught.value)


def test_no_standard_error_is_stated_where_noise_hides_a_direction() -> None:
    x, y = data(50)
    with pytest.warns(ConvergenceWarning, match="standard errors are infinite"):
        noise = model(epsilon="0.01").fit(x, y)
    assert noise.hidden_directions_
    assert np.isinf([*noise.standard_errors_, noise.intercept_standard_error_]).all()
    assert np.isfinite(noise.coef_).all()


def test_noise_that_cannot_serve_is_refused() -> None:
    with pytest.raises(Refused):
        model(delta=0, noise="gaussian").fit(*data(50))


@SILENT
def test_delta_is_one_over_the_square_of_the_rows() -> None:
    noise = model(delta=None).fit(*data(200))
    assert noise.certificate_.budget.delta == Fraction(1, 200**2)


@SILENT
@pytest.mark.parametrize("more", [{}, COUNTED], ids=str)
def test_a_ledger_is_charged_before_any_noise_is_drawn(
    more: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.ledger"
    ledger = ln.Ledger(path)
    ledger.open_account(
        "rows",
        unit="row",
        budget=ln.Budget(epsilon="1.5", delta="1e-5"),
        neighbours=more.get("neighbours", "replace-one"),
    )
    x, y = data(200)
    release = ln.Mechanism.release
    drawn: list[ln.Mechanism] = []

    def seen(self: ln.Mechanism, values: Any) -> Any:
        assert ledger.accounts()["rows"].spent.epsilon > 0
        drawn.append(self)
        return release(self, values)

    monkeypatch.setattr(ln.Mechanism, "release", seen)
    noise = model(ledger=path, **more).fit(x, y)
    assert [mechanism.certificate for mechanism in drawn] == [noise.certificate_]
    assert noise.privacy_.charged is not None
    assert ("added or removed" if more else "replaced") in str(noise.privacy_)
    assert "releases" not in str(noise.privacy_)
    before = noise.predict(x)
    with pytest.raises(OverBudget):
        noise.fit(x, y)
    assert len(drawn) == 1
    assert (noise.predict(x) == before).all()


def test_clones_and_pickles() -> None:
    x, y = data()
    noise = model().fit(x, y)
    again: Any = clone(noise)
    assert str(again.get_params()) == str(noise.get_params())
    kept: Any = pickle.loads(pickle.dumps(noise))
    assert (kept.predict(x) == noise.predict(x)).all()
    assert kept.certificate_ == noise.certificate_


def test_noise_that_is_tiny_cuts_nothing_off() -> None:
    """2^61 steps of its own grid are at ε = 1,000 far below the sums of a thousand rows."""
    noise = model(epsilon=1000, bounds=(-1, 1), target_bounds=(-1, 1)).fit(
        np.linspace(-1, 1, 1001)[:, None], np.linspace(-0.5, 0.5, 1001)
    )
    assert noise.coef_ == pytest.approx([0.5], rel=1e-3)
    assert noise.certificate_.grid is not None
    assert noise.certificate_.grid * 2**61 > MOST_ROWS
