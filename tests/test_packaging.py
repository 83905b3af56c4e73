"""The package as users get it: a wheel in a new environment, a source archive, and types."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NAMES = ("python3.11", "python3.12", "python3.13", "python3.14")
# What other libraries leave untyped: their base classes, and what is made of them.
UNTYPED = ("leastnoise.interop.", "leastnoise.learn.")

pytestmark = pytest.mark.slow


def run(*arguments: str | Path, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [str(argument) for argument in arguments],
        cwd=cwd,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A wheel and a source archive of the files that git knows."""
    folder = tmp_path_factory.mktemp("built")
    run("git", "clone", "--quiet", ROOT, folder / "source", cwd=folder)
    run(sys.executable, "-m", "build", "--outdir", folder, folder / "source", cwd=folder)
    (wheel,), (archive,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, archive


def test_both_hold_what_they_should_and_nothing_large(built: tuple[Path, Path]) -> None:
    wheel, archive = built
    names = zipfile.ZipFile(wheel).namelist()
    assert "leastnoise/py.typed" in names
    assert "leastnoise/report/page.css" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert all(name.startswith("leastnoise") for name in names)
    with tarfile.open(archive) as files:
        inside = files.getnames()
    assert any(name.endswith("/tests/test_packaging.py") for name in inside)
    assert wheel.stat().st_size < 2_000_000


@pytest.mark.parametrize("python", NAMES)
def test_a_bare_environment_has_all_it_needs(
    built: tuple[Path, Path], python: str, tmp_path: Path
) -> None:
    if subprocess.call([python, "--version"]) if shutil.which(python) else True:
        pytest.skip(f"{python} isn't here")
    run(python, "-m", "venv", tmp_path / "bare", cwd=tmp_path)
    binaries = tmp_path / "bare" / ("Scripts" if sys.platform == "win32" else "bin")
    run(
        *(binaries / "python", "-m", "pip", "install", "--quiet", f"{built[0]}[report]"),
        cwd=tmp_path,
    )
    version = run(binaries / "python", "-m", "leastnoise", "--version", cwd=tmp_path)
    assert version.strip().split()[-1] in built[0].name
    query = ("--epsilon", "1", "--delta", "1e-5", "--json")
    asked = run(binaries / "leastnoise", "calibrate", "--noise", "l2", *query, cwd=tmp_path)
    assert json.loads(asked)["certified"]
    run(binaries / "leastnoise", "compare", "--epsilon", "1", "--plot", "a.svg", cwd=tmp_path)
    assert (tmp_path / "a.svg").stat().st_size > 1000
    missing = "from leastnoise.learn import LogisticRegression"
    done = subprocess.run(
        [binaries / "python", "-c", missing], capture_output=True, text=True, check=False
    )
    assert "pip install 'leastnoise[learn]'" in done.stderr


def test_every_public_type_is_known() -> None:
    """Strict pyright finds nothing Unknown but what other libraries leave untyped."""
    pyright = Path(sys.executable).parent / "pyright"
    done = subprocess.run(
        [pyright, "--verifytypes", "leastnoise", "--ignoreexternal", "--outputjson"],
        cwd=ROOT,
        env=os.environ | {"PATH": f"{pyright.parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    report = json.loads(done.stdout)["typeCompleteness"]
    assert report["packageName"] == "leastnoise"
    unknown = [
        symbol["name"]
        for symbol in report["symbols"]
        if symbol["isExported"] and not symbol["isTypeKnown"]
    ]
    public = set(_public())
    wrong = [
        name
        for name in unknown
        if not name.startswith(UNTYPED)
        and any(name == item or name.startswith(f"{item}.") for item in public)
    ]
    assert wrong == []
    assert report["completenessScore"] > 0.99


def _public() -> list[str]:
    """The full paths of the names in leastnoise/__init__.pyi, where they are defined."""
    lines = (ROOT / "src/leastnoise/__init__.pyi").read_text().splitlines()
    parts = [line.split() for line in lines if line.startswith("from .") and " as " in line]
    return [f"leastnoise{module}.{name}" for _, module, _, name, *_ in parts]
