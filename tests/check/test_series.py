"""The checker proves a release of a series that charges for fewer releases than it has."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import leastnoise_check
from leastnoise.tables.publish.release import Release
from tests.tables.register import make, spec_of


def check(folder: Path) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, leastnoise_check.__file__, folder]
    return subprocess.run(program, capture_output=True, text=True, check=False)


def test_a_release_with_running_totals_is_proved_with_its_assumption(tmp_path: Path) -> None:
    make(tmp_path)
    folder = Release(**spec_of(), folder=tmp_path).run().path
    assert folder is not None
    proved = check(folder)
    assert proved.returncode == 0, proved.stdout
    assert 'ASSUMED: "one person" below means one "row", as plan.json says.' in proved.stdout
    assert "ASSUMED: it is in 1 of the 4 releases at most." in proved.stdout
    seal = json.loads((folder / "release.json").read_text())
    (folder / "release.json").write_text(json.dumps(seal | {"release": 5}))
    assert check(folder).returncode == 1
