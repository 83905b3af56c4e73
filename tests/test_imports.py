"""Imports of leastnoise leave out slow modules, which are imported when they are used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

RELEASE = "leastnoise.tables.publish.release"
LIBRARIES = "scipy duckdb narwhals cryptography"
NOISE = "leastnoise.calibration leastnoise.mechanism leastnoise.noise leastnoise.selection"
TABLES = "leastnoise.tables.plan leastnoise.tables.rows"
BODIES = "leastnoise.guarantees.hulls leastnoise.guarantees.bodies.plain"
# what it imports, so that the test can fail, and what it doesn't
IMPORTS = {
    "import leastnoise": ("leastnoise", f"{LIBRARIES} numpy flint pydantic"),
    "from leastnoise import L2": ("leastnoise.guarantees", f"{LIBRARIES} pydantic {NOISE}"),
    "from leastnoise import calibrate": (
        "leastnoise.selection",
        "scipy pydantic duckdb narwhals leastnoise.tables leastnoise.ledger leastnoise.learn",
    ),
    "from leastnoise import Release": (RELEASE, f"{LIBRARIES} {NOISE} {TABLES}"),
    "from leastnoise import Certificate": (
        "leastnoise.certificate",
        f"scipy leastnoise.balls.losses leastnoise.guarantees.structured {BODIES}",
    ),
    "import leastnoise; leastnoise.Release('spec.toml')": (
        RELEASE,
        f"{LIBRARIES} {NOISE} {TABLES}",
    ),
    "import leastnoise; leastnoise.Release('spec.toml').plan()": (
        "leastnoise.selection",
        "scipy leastnoise.learn leastnoise.report leastnoise.audit leastnoise.tables.publish.draws",
    ),
}
SPEC = """
version = 1
data = { source = "rows.csv", types = { x = "int" } }
privacy = { unit = "row", epsilon = "1" }
query = [{ name = "n", statistics = ["count"] }]
"""


@pytest.mark.dense
@pytest.mark.parametrize("statement", IMPORTS)
def test_what_is_slow_is_left_out(statement: str, tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(SPEC)
    (tmp_path / "rows.csv").write_text("x\n1\n")
    needed, spared = IMPORTS[statement]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{statement}\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    imported = done.stdout.split()
    assert needed in imported
    assert not set(spared.split()) & set(imported)
