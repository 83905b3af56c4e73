"""Texts of pandas: a column of which no text is left is a column of texts all the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.tables.publish.test_rehearsal import charges, folder, release

__all__ = ["folder"]

QUERY = [{"name": "q", "statistics": ["count"], "group_by": {"plan": ["a", "b"]}}]
DTYPES: dict[str, Any] = {
    "string[python]": pd.StringDtype("python"),
    "str of Python": pd.StringDtype("python", na_value=np.nan),
    "string[pyarrow]": pd.StringDtype("pyarrow"),
    "str": pd.StringDtype("pyarrow", na_value=np.nan),
}
TEXTS = {
    "some are missing": ["a", None, "a"],
    "all are missing": [None, None],
    "all are halves of letters": ["\ud800", "\udfff"],
    "halves and missing ones": [None, "\ud800"],
    "none": [],
}


@pytest.mark.parametrize("engine", [None, "polars"])
@pytest.mark.parametrize("texts", TEXTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_whatever_texts_are_there_the_release_is_made(
    folder: Path, dtype: str, texts: str, engine: str | None
) -> None:
    """A column without a text had another type than was rehearsed, and failed after its charge."""
    given = TEXTS[texts]
    if DTYPES[dtype].storage == "pyarrow" and "halves" in texts:
        pytest.skip("Arrow makes no text of halves")
    frame = pd.DataFrame({"plan": pd.array(given, dtype=DTYPES[dtype])})
    data = {"source": frame, "engine": engine}
    made = release(folder, data=data, query=QUERY, epsilon="1000").run()
    assert made.tables["q"].columns["count"] == pytest.approx([given.count("a"), 0], abs=0.5)
    assert charges(folder) == 1
