"""Texts of pandas, of Python objects and categories too, and columns of which none is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastnoise.errors import SpecError
from tests.tables.publish.test_rehearsal import charges, folder, release
from tests.tables.rows.test_frames import answers
from tests.tables.rows.test_frames import release as of_frame
from tests.tables.several import ROWS

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


@pytest.mark.parametrize("engine", [None, "polars"])
def test_objects_and_categories_are_texts(engine: str | None) -> None:
    """Of persons, keys and, where the spec declares it, numbers; never told from the rows."""
    odd = [object(), [1], float("nan"), None, "\ud800", 10**5000]
    rows = pd.concat([ROWS, pd.DataFrame({"who": 9, "year": odd, "x": 1.0})], ignore_index=True)
    plain = of_frame(ROWS)
    types = {"who": "int", "year": "int", "x": "float"}
    for kind in ("object", "category"):
        if kind == "category":
            rows = ROWS
        source = rows.astype(kind)
        data = {"source": source, "types": types, "engine": engine}
        assert answers(of_frame(None, data=data)) == answers(plain)
        assert [str(one) for one in source.dtypes] == [kind] * 3  # the user's own is as it was


def test_keys_of_categories_are_the_specs_alone() -> None:
    """A category without rows is no key, nor is it one that no spec lists."""
    years = pd.Categorical(["2024", "2025", "2024"], categories=["2024", "2025", "2031"])
    frame = pd.DataFrame({"who": [1, 2, 3], "year": years})
    query = [{"name": "q", "statistics": ["count"], "group_by": {"year": ["2024", "2040"]}}]
    made = of_frame(frame, query=query, columns={})
    first, second = answers(made)[0]
    assert first > 0
    assert second == 0
    with pytest.raises(SpecError, match=r"group_by"):
        of_frame(frame, query=[{**query[0], "group_by": ["year"]}], columns={})


def test_halves_of_letters_in_pandas_are_missing() -> None:
    texts = pd.array(["a", "\ud800", None, "a"], dtype=pd.StringDtype("python"))
    frame = pd.DataFrame({"who": [1, 2, 3, 4], "plan": texts})
    query = [{"name": "q", "statistics": ["count"], "group_by": {"plan": ["a", "b"]}}]
    raw = {"query": query, "columns": {}}
    first, second = answers(of_frame(frame, **raw))[0]
    assert first > 0
    assert second == 0


def test_columns_of_pandas_may_have_numbers_for_names() -> None:
    texts = pd.array(["a", "\ud800", None, "a"], dtype=pd.StringDtype("python"))
    frame = pd.DataFrame({0: [1, 2, 3, 4], 1: texts, 2: [object() for _ in range(4)]})
    query = [{"name": "q", "statistics": ["count"], "group_by": {"1": ["a", "b"]}}]
    privacy = {"unit": "0", "epsilon": 1, "delta": "1e-6"}
    (counted,) = answers(of_frame(frame, privacy=privacy, query=query, columns={}))
    assert counted[0] > 0
    assert list(frame.columns) == [0, 1, 2]
    assert not any(one is None for one in frame[2])  # what the release leaves out of its own copy
