"""Texts in pandas, also as Python objects and categories, and columns without any valid text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
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


@pytest.mark.dense
@pytest.mark.parametrize("texts", TEXTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_whatever_texts_are_there_the_release_is_made(folder: Path, dtype: str, texts: str) -> None:
    """A column without a text had another type than was rehearsed, and failed after its charge."""
    given = TEXTS[texts]
    if DTYPES[dtype].storage == "pyarrow" and "halves" in texts:
        pytest.skip("Arrow makes no text of halves")
    frame = pd.DataFrame({"plan": pd.array(given, dtype=DTYPES[dtype])})
    released = release(folder, data={"source": frame}, query=QUERY, epsilon="1000").run()
    assert released.tables["q"].columns["count"] == pytest.approx([given.count("a"), 0], abs=0.5)
    assert charges(folder) == 1


@pytest.mark.dense
def test_objects_and_categories_are_texts() -> None:
    """Persons, keys and declared numbers may be such texts; the rows never decide it."""
    odd = [object(), [1], float("nan"), None, "\ud800", 10**5000]
    rows = pd.concat([ROWS, pd.DataFrame({"who": 9, "year": odd, "x": 1.0})], ignore_index=True)
    plain = of_frame(ROWS)
    types = {"who": "int", "year": "int", "x": "float"}
    for kind in ("object", "category"):
        if kind == "category":
            rows = ROWS
        source = rows.astype(kind)
        data = {"source": source, "types": types}
        assert answers(of_frame(None, data=data)) == answers(plain)
        assert [str(dtype) for dtype in source.dtypes] == [kind] * 3  # the user's own is as it was


def test_keys_of_categories_are_the_specs_alone() -> None:
    """A category without rows is no key, nor is it one that no spec lists."""
    years = pd.Categorical(["2024", "2025", "2024"], categories=["2024", "2025", "2031"])
    frame = pd.DataFrame({"who": [1, 2, 3], "year": years})
    query = [{"name": "q", "statistics": ["count"], "group_by": {"year": ["2024", "2040"]}}]
    release = of_frame(frame, query=query, columns={})
    first, second = answers(release)[0]
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
    assert not any(
        value is None for value in frame[2]
    )  # what the release leaves out of its own copy


_ODD: dict[str, Any] = {
    "categories of intervals": pd.cut([1, 20, 70], [0, 18, 65, 120]),
    "intervals": pd.arrays.IntervalArray.from_tuples([(0, 1), (1, 2), (2, 3)]),
    "categories of periods": pd.Categorical(pd.period_range("2024-01", periods=3, freq="M")),
    "periods": pd.period_range("2024-01", periods=3, freq="M"),
    "categories of timestamps": pd.Categorical(pd.date_range("2024-01-01", periods=3)),
    "sparse numbers": pd.arrays.SparseArray([0, 1, 2]),
    "sparse objects": pd.arrays.SparseArray(["a", "b", None], fill_value=None),
    "complex numbers": np.array([1j, 2, 3]),
    "long doubles": np.array([1, 2, 3], dtype="longdouble"),
    "half floats of Arrow": pa.array(np.array([1, 2, 3], dtype="float16")),
    "long decimals of Arrow": pa.array([1, 2, 3], type=pa.decimal256(50, 2)),
    "time deltas": pd.to_timedelta([1, 2, 3], unit="D"),
    "lists": pd.Series([[1], [2], [3]]),
    "times with zones": pd.date_range("2024-01-01", periods=3, tz="Europe/Berlin"),
}


def _column(name: str) -> Any:
    odd = _ODD[name]
    return pd.Series(odd, dtype=pd.ArrowDtype(odd.type)) if isinstance(odd, pa.Array) else odd


@pytest.mark.dense
@pytest.mark.parametrize("name", _ODD)
def test_a_column_that_is_not_used_never_matters(folder: Path, name: str) -> None:
    frame = pd.DataFrame({"odd": _column(name), "plan": ["a", "a", "b"]})
    frames: list[Any] = [frame, frame[["plan", "odd"]]]
    if isinstance(_ODD[name], pa.Array):
        frames.append(pa.table({"odd": _ODD[name], "plan": ["a", "a", "b"]}))
        frames.append(frames[-1].to_reader())
    for rows in frames:
        ((two, item),) = answers(release(folder, data={"source": rows}, query=QUERY))
        assert two == 2 * item > 0
    builder = release(folder, data={"source": frame}, query=QUERY, epsilon="1000")
    assert builder.run().tables["q"].columns["count"] == pytest.approx([2, 1], abs=0.5)


@pytest.mark.dense
@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("categories of intervals", ["(0, 18]", "(18, 65]", "(65, 120]"]),
        ("intervals", ["(0, 1]", "(1, 2]", "(2, 3]"]),
        ("categories of periods", ["2024-01", "2024-02", "2024-03"]),
        ("periods", ["2024-01", "2024-02", "2024-03"]),
        ("sparse numbers", [0, 1, 2]),
        ("sparse objects", ["a", "b", "c"]),
    ],
)
def test_what_pandas_alone_has_is_read_by_its_text(
    folder: Path, name: str, keys: list[Any]
) -> None:
    frame = pd.DataFrame({"odd": _column(name)})
    query = [{"name": "q", "statistics": ["count"], "group_by": {"odd": keys}}]
    released = release(folder, data={"source": frame}, query=query, epsilon="1000").run()
    there = [1, 1, 0 if keys[-1] == "c" else 1]
    assert released.tables["q"].columns["count"] == pytest.approx(there, abs=0.5)


@pytest.mark.parametrize(
    "name", ["complex numbers", "long doubles", "half floats of Arrow", "long decimals of Arrow"]
)
def test_a_used_column_that_no_engine_reads_is_named(folder: Path, name: str) -> None:
    frame = pd.DataFrame({"odd": _column(name)})
    query = [{"name": "q", "statistics": ["count"], "group_by": {"odd": [1, 2]}}]
    with pytest.raises(
        SpecError, match=r"The column 'odd' holds .*, which can't be read\. Make it"
    ):
        release(folder, data={"source": frame}, query=query).plan()
