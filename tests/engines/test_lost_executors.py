"""A lost executor changes no integer: its rows are read again, or the release raises an error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.engines.lose_executors import RAW
from tests.tables.integers import integers

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("when", ["while reading", "after a checkpoint"])
def test_a_killed_executor(tmp_path: Path, when: str) -> None:
    rng = np.random.default_rng(1)  # makes the table, no noise
    rows = {"who": rng.integers(0, 500, 5000), "year": rng.integers(1, 5, 5000)}
    pd.DataFrame(rows | {"x": rng.uniform(-1, 9, 5000)}).to_parquet(tmp_path / "rows.parquet")
    command = [sys.executable, "-m", "tests.engines.lose_executors", str(tmp_path), when]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    assert (tmp_path / "killed").exists()
    text = done.stdout.strip().splitlines()[-1]
    if when == "while reading":
        assert json.loads(text) == integers(RAW, tmp_path)
    else:  # what is lost is not computed again: a source may not be the same twice
        assert text == "SourceError"
