"""`LogisticRegression`: scikit-learn's checks, its refusals and its budget."""

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
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import leastnoise as ln
from leastnoise.errors import InvalidArgument, OverBudget, Refused
from leastnoise.learn import BoundedScaler, LogisticRegression, PrivacyWarning
from leastnoise.learn.training import BITS, vector_rounds

FRESH = "noise is fresh, so that no two fits are alike to 1e-7"
# Beside it only checks that compare two fits of a few rows, which noise makes differ.
NOISY = {
    "check_fit_idempotent": FRESH,
    "check_classifier_data_not_an_array": FRESH,
    "check_supervised_y_2d": FRESH,
}


def data(rows: int = 4000) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    draws = np.random.default_rng(1)
    x = draws.uniform(-1, 1, (rows, 3))
    return x, (x @ [2.0, -1.0, 0.5] + 0.3 * draws.logistic(size=rows) > 0).astype(np.int64)


def visits(rows: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Labels and two features: one uniform in [−1, 1], and one that is mostly near −0.6."""
    draws = np.random.default_rng(29)
    x = np.column_stack([draws.uniform(-1, 1, rows), draws.poisson(4, rows) / 10 - 1]).clip(-1, 1)
    score = x @ [2.10, -1.57] - 2.43
    return x, (draws.random(rows) < 1 / (1 + np.exp(-score))).astype(np.int64)


def model(**changes: Any) -> LogisticRegression:
    asked: dict[str, Any] = {"epsilon": 2, "delta": "1e-6", "classes": (0, 1), "noise": "gaussian"}
    return LogisticRegression(**(asked | changes))


@pytest.mark.dense
@pytest.mark.filterwarnings("ignore")  # scikit-learn's checks warn about themselves, too
def test_it_passes_the_checks_of_scikit_learn() -> None:
    """ε is so large that noise can't be seen. All but the noise is the same at any other ε."""
    nearly_exact = LogisticRegression(
        epsilon=10**5, delta="0.1", updates="vectors", noise="gaussian", max_iter=100
    )
    check_estimator(nearly_exact, expected_failed_checks={"check_fit_idempotent": FRESH})
    check_estimator(BoundedScaler())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_it_passes_them_with_noise_that_can_be_seen() -> None:
    check_estimator(LogisticRegression(), expected_failed_checks=NOISY)


TOO_FEW = pytest.mark.filterwarnings("ignore:.*too few:sklearn.exceptions.ConvergenceWarning")


@pytest.mark.dense
def test_the_defaults_converge_where_curvature_is_small() -> None:
    """Until it was mended, coefficients were (1.4, .3) and −1.0 at any ε: a sign was wrong."""
    x, y = visits(200_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        noise = LogisticRegression(classes=(0, 1)).fit(x, y)
    plan = noise.plan_
    rows = np.column_stack([x, np.ones(len(x))])
    exact, curved = np.array([2.10, -1.57, -2.43]), np.eye(3)
    for _ in range(8):  # Newton's steps
        chances = 1 / (1 + np.exp(-rows @ exact))
        curved = (rows * (chances * (1 - chances))[:, None]).T @ rows / len(x)
        exact -= np.linalg.solve(curved, rows.T @ (chances - y) / len(x))
    spread = plan.noise * np.sqrt(np.diag(np.linalg.matrix_power(np.linalg.inv(curved), 2)))
    weights = np.append(noise.coef_[0], noise.intercept_)
    assert (np.abs(weights - exact) < 6 * spread + 0.05).all()
    assert weights == pytest.approx([2.10, -1.57, -2.43], abs=0.4)


@pytest.mark.grid
@pytest.mark.parametrize(
    "few", [{"updates": "coordinates"}, {"max_iter": 25}, {"max_iter": 25, "noise": "l2"}], ids=str
)
def test_rounds_that_are_too_few_are_told_before_anything_is_spent(
    few: dict[str, Any], tmp_path: Path
) -> None:
    x, y = visits(20_000)
    ledger = ln.Ledger(tmp_path / "rows.ledger")
    ledger.open_account("rows", unit="row", budget=ln.Budget(epsilon=2, delta="1e-6"))
    asked = model(ledger=ledger, **few)
    with pytest.warns(ConvergenceWarning, match="too few"):
        asked.set_params(ledger=None).fit(x, y)
    lines: list[str] = []
    for rows in (x, 0 * x):  # of public numbers alone
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(ConvergenceWarning) as caught:
                asked.set_params(ledger=ledger).fit(rows, y)
        lines.append(str(caught.value))
    assert lines[0] == lines[1]
    assert ledger.accounts()["rows"].spent.epsilon == 0


@pytest.mark.grid
@TOO_FEW
@pytest.mark.parametrize("updates", ["coordinates", "vectors", "auto"])
@pytest.mark.parametrize("neighbours", [{}, {"neighbours": "add-remove", "n_rows": 4000}])
def test_it_learns(updates: str, neighbours: dict[str, Any]) -> None:
    x, y = data()
    noise = model(updates=updates, **neighbours).fit(x, y)
    assert noise.score(x, y) > 0.85
    assert noise.coef_[0, 0] > 0 > noise.coef_[0, 1]
    plan = noise.plan_
    assert noise.n_iter_ == [plan.rounds]
    assert noise.certificate_.compositions == plan.releases
    assert noise.certificate_.verify()
    assert noise.certificate_.delta.certainly_at_most("1e-6")
    probabilities = noise.predict_proba(x)
    assert probabilities.sum(axis=1) == pytest.approx(1)
    assert (probabilities[:, 1] > 0.5).astype(int) == pytest.approx(noise.predict(x))
    assert np.exp(noise.predict_log_proba(x)) == pytest.approx(probabilities)


@TOO_FEW
def test_as_many_releases_are_drawn_as_the_certificate_is_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, y = data(200)
    drawn: list[Any] = []
    release = ln.Mechanism.release

    def counted(self: ln.Mechanism, values: Any) -> Any:
        drawn.append((self, values.bits))
        return release(self, values)

    monkeypatch.setattr(ln.Mechanism, "release", counted)
    for updates in ("coordinates", "vectors"):
        drawn.clear()
        noise = model(updates=updates, max_iter=30).fit(x, y)
        assert len(drawn) == noise.plan_.releases
        assert {bits for _, bits in drawn} == {BITS}
        assert {mechanism.certificate for mechanism, _ in drawn} == {noise.certificate_}


@pytest.mark.dense
@TOO_FEW
def test_without_noise_to_speak_of_it_is_the_models_minimum() -> None:
    x, y = data(2000)
    exact = model(epsilon=10**5, delta="0.1", updates="vectors", max_iter=6000).fit(x, y)
    score = 1 / (1 + np.exp(-(x @ exact.coef_[0] + exact.intercept_[0])))
    for column in (*x.T, np.ones(len(x))):
        assert (column * (score - y)).mean() == pytest.approx(0, abs=2e-3)


@TOO_FEW
def test_pipelines_clones_and_pickles() -> None:
    x, y = data()
    wide = 50 + 50 * x
    piped = make_pipeline(BoundedScaler(bounds=(0, 100)), model(max_iter=20))
    assert piped.fit(wide, y).score(wide, y) > 0.8
    again: Any = clone(piped)
    assert str(again.get_params()) == str(piped.get_params())
    kept: Any = pickle.loads(pickle.dumps(piped))
    assert (kept.predict(wide) == piped.predict(wide)).all()
    assert kept[-1].certificate_ == piped.steps[-1][1].certificate_
    searched = GridSearchCV(model(), {"max_iter": [5, 20]}, cv=2).fit(x, y)
    assert set(searched.best_params_) == {"max_iter"}


def test_labels_are_named_by_the_user_or_read_with_a_warning() -> None:
    x, y = data(200)
    with pytest.warns(PrivacyWarning, match="classes"):
        assert list(model(classes=None).fit(x, y).classes_) == [0, 1]
    words = np.array(["no", "yes"])[y]
    noise = model(classes=("no", "yes")).fit(x, words)
    assert set(noise.predict(x)) <= {"no", "yes"}
    with pytest.raises(ValueError, match="aren't in classes"):
        model(classes=(0, 2)).fit(x, y)
    with pytest.raises(ValueError, match="Only binary"):
        model(classes=None).fit(x, np.arange(200) % 3)
    with pytest.raises(ValueError, match="one class"):
        model(classes=None).fit(x, np.zeros(200))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone = model().fit(x, np.zeros(200, dtype=int))  # named: nobody sees that one is missing
    assert list(alone.classes_) == [0, 1]


def test_what_lies_outside_is_cut_off_without_a_word() -> None:
    x, y = data(500)
    x[0] = 1e9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        noise = model().fit(x, y)
    assert (noise.decision_function(x[:1]) == noise.decision_function(np.ones((1, 3)))).all()


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"epsilon": 0, "delta": 2}, "delta"),
        ({"epsilon": "five"}, "epsilon"),
        ({"updates": "rows"}, "updates"),
        ({"neighbours": "friends"}, "neighbours"),
        ({"neighbours": "add-remove"}, "n_rows"),
        ({"n_rows": 5}, "n_rows"),
        ({"max_iter": 0}, "max_iter"),
        ({"max_iter": 1.5}, "max_iter"),
        ({"alpha": -1}, "alpha"),
        ({"max_norm": 0}, "max_norm"),
        ({"classes": (1, 1)}, "classes"),
        ({"classes": (0, 1, 2)}, "classes"),
        ({"noise": "gausian"}, "noise"),
        ({"noise": "auto", "noise_parameters": {"modes": 10}}, "noise_parameters"),
        ({"fit_intercept": "yes"}, "fit_intercept"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused_by_name(wrong: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidArgument, match=name):
        model(**wrong).fit(*data(50))


@TOO_FEW
def test_parameters_of_the_noise_stay() -> None:
    noise = model(
        noise="gaussian-mixture", noise_parameters={"modes": 10}, max_iter=3, updates="coordinates"
    ).fit(*data(100))
    assert noise.plan_.mechanism.noise.parameters["modes"] == 10


@TOO_FEW
def test_a_ledger_is_charged_before_any_noise_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.ledger"
    ledger = ln.Ledger(path)
    ledger.open_account(
        "rows", unit="row", budget=ln.Budget(epsilon="2.5", delta="1e-5"), neighbours="replace-one"
    )
    x, y = data(200)
    release = ln.Mechanism.release

    def seen(self: ln.Mechanism, values: Any) -> Any:
        assert ledger.accounts()["rows"].spent.epsilon > 0
        return release(self, values)

    monkeypatch.setattr(ln.Mechanism, "release", seen)
    noise = model(ledger=path, max_iter=5).fit(x, y)
    assert noise.privacy_.charged is not None
    assert "replaced" in str(noise.privacy_)
    assert "δ ≤" in str(noise.privacy_)
    with pytest.raises(OverBudget):
        model(ledger=str(path), max_iter=5).fit(x, y)
    with pytest.raises(Refused):  # another relation than the account's
        model(ledger=ledger, max_iter=5, neighbours="add-remove", n_rows=200, epsilon="0.1").fit(
            x, y
        )


@TOO_FEW
def test_delta_is_one_over_the_square_of_the_rows() -> None:
    noise = model(delta=None, max_iter=3).fit(*data(200))
    assert noise.certificate_.budget.delta == Fraction(1, 200**2)


@TOO_FEW
def test_a_refused_refit_leaves_the_model_as_it_was() -> None:
    x, y = data(200)
    noise = model(max_iter=3).fit(x, y)
    before = noise.predict(x)
    noise.set_params(classes=(1, 0), noise="geometric")
    with pytest.raises(Refused):
        noise.fit(x, y)
    assert (noise.predict(x) == before).all()


@pytest.mark.parametrize("secret", ["s3cret", 123.456 + 1j], ids=str)
def test_errors_quote_no_value(secret: Any) -> None:
    x = np.array([[1, secret], [2, 3]], dtype=object if isinstance(secret, str) else complex)
    with pytest.raises(ValueError, match=r"string|Complex|Expected numbers") as caught:
        model().fit(x, [0, 1])
    assert "s3cret" not in str(caught.value)
    assert "123.456" not in str(caught.value)
    with pytest.raises(ValueError, match="2D") as caught:
        model().fit([123.456, 2], [0, 1])
    assert "123.456" not in str(caught.value)


@TOO_FEW
def test_features_are_shortened_to_max_norm_and_the_constant_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """This holds in training and prediction: a row has a length of at most √(max_norm² + 1)."""
    seen: list[NDArray[np.float64]] = []

    def caught(whole: NDArray[np.float64], *others: Any, **more: Any) -> NDArray[np.float64]:
        seen.append(whole)
        return vector_rounds(whole, *others, **more)

    monkeypatch.setattr("leastnoise.learn.logistic.vector_rounds", caught)
    x, y = np.array([[3.0, 4.0], [0.9, -0.9], [0.3, 0.4]]), np.array([0, 1, 1])
    short = np.array([[0.5, 0.5], [0.5, -0.5], [0.3, 0.4]])
    for norm in (Fraction(1, 2), Fraction("0.70710678118")):
        noise = model(max_norm=norm, max_iter=3).fit(x, y)
        whole = seen.pop()
        assert (whole[:, 2] == 2**BITS).all()
        squares = (whole[:, :2].astype(np.int64).astype(object) ** 2).sum(axis=1)
        assert max(squares) <= norm**2 * 2 ** (2 * BITS)
        scores = whole[:, :2] / 2**BITS @ noise.coef_[0] + noise.intercept_
        assert noise.decision_function(x) == pytest.approx(scores, abs=1e-4)
    assert whole[:, :2] / 2**BITS == pytest.approx(short, abs=1e-5)
    assert noise.predict_proba(x) == pytest.approx(noise.predict_proba(short), abs=1e-5)


@TOO_FEW
@pytest.mark.parametrize("norm", ["1e200", 1e10, 7])
def test_a_norm_that_no_row_has_changes_nothing(norm: Any) -> None:
    x, y = data(100)
    result, other = (model(max_norm=item, max_iter=3).fit(x, y) for item in (norm, None))
    assert result.plan_.mechanism.noise == other.plan_.mechanism.noise
    assert result.decision_function(2 * x) == pytest.approx(
        (2 * x).clip(-1, 1) @ result.coef_[0] + result.intercept_
    )


def test_a_norm_below_which_nothing_is_left_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="max_norm"):
        model(max_norm="1e-154", fit_intercept=False).fit(*data(50))
