"""`leastnoise compose --fit`: a plan of several kinds of noise, scaled to one budget."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.program import answer, run


@pytest.fixture(name="files", scope="module")
def _files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("certificates")
    normal, laplace = str(folder / "normal.json"), str(folder / "laplace=1.json")
    answer("calibrate", "--noise", "gaussian", "--epsilon", "1", "--delta", "1e-5",
           "--certificate", normal)  # fmt: skip
    answer("calibrate", "--noise", "laplace", "--norm", "l1", "--epsilon", "0.1",
           "--certificate", laplace)  # fmt: skip
    return normal, laplace


@pytest.mark.slow
def test_a_plan_is_scaled_and_its_certificate_verifies(
    files: tuple[str, str], tmp_path: Path
) -> None:
    plan = str(tmp_path / "plan.json")
    normal, laplace = files
    options = ("--epsilon", "1", "--delta", "1e-5", "--fit", plan)
    record = answer("compose", f"{normal}=5", f"{laplace}=20", *options)
    assert [draw["certificate"] for draw in record["draws"]] == [normal, laplace]
    assert [draw["compositions"] for draw in record["draws"]] == [5, 20]
    assert record["draws"][1]["scale"] == pytest.approx(10 * record["factor"], rel=1e-12)
    assert record["points"][0]["delta_interval"][1] <= 1e-5
    assert answer("verify", plan)["verified"]
    shown = run("compose", f"{normal}=5", f"{laplace}=20", *options)
    assert shown.returncode == 0
    assert "All scales times" in shown.stdout


def test_a_pure_plan_needs_no_delta(files: tuple[str, str], tmp_path: Path) -> None:
    plan = str(tmp_path / "plan.json")
    record = answer("compose", f"{files[1]}=20", "--epsilon", "1", "--fit", plan)
    assert record["factor"] == 2
    assert record["draws"][0]["epsilon"] == "1"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--delta", "1e-5"), 2),
        (("--epsilon", "1", "--epsilon", "2"), 2),
        (("--epsilon", "1", "--delta", "1e-5", "--sampling-rate", "0.1"), 2),
        (("--epsilon", "1"), 1),  # no Gaussian has δ = 0
    ],
)
def test_a_plan_that_cannot_be_scaled(
    files: tuple[str, str], tmp_path: Path, options: tuple[str, ...], code: int
) -> None:
    plan = tmp_path / "plan.json"
    done = run("compose", files[0], *options, "--fit", str(plan))
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("leastnoise: ")
    assert not plan.exists()
