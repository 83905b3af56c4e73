"""The notebook of the how-to runs unchanged, and its stored outputs are near the new ones."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.test_docs import FLAGS, Near
from tests.test_howto_programs import NOTEBOOK, ROOT

pytestmark = pytest.mark.engines
PROGRAMS = Path(sys.executable).parent


@pytest.fixture
def notebook() -> Any:
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    content = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(content)
    return content


def _shown(notebook: Any) -> list[str]:
    """The texts and frames that the cells show, without tags."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert all(output["output_type"] in {"execute_result", "display_data"} for output in outputs)
    texts = [o["data"].get("text/html", o["data"]["text/plain"]) for o in outputs]
    return [re.sub(r"<style.*?</style>|<[^<]*?>|\s+", " ", text, flags=re.DOTALL) for text in texts]


def test_the_notebook_shows_the_same_again(
    notebook: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbclient = pytest.importorskip("nbclient")
    before = _shown(notebook)
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    monkeypatch.setenv("PATH", f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}")
    resources = {"metadata": {"path": str(tmp_path)}}

    def run() -> None:
        nbclient.NotebookClient(notebook, timeout=300, resources=resources).execute()

    run()
    after = _shown(notebook)
    for old, new in zip(before, after, strict=True):
        assert Near().check_output(old, new, FLAGS), new
    assert (tmp_path / "out/release.json").exists()
    with pytest.raises(nbclient.exceptions.CellExecutionError, match="out exists"):
        run()
