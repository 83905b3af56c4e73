"""What a notebook shows is escaped, and frames of three libraries have the same contents."""

from __future__ import annotations

import math
import os
import pwd
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import leastnoise as ln
from leastnoise._notebooks import Framed
from leastnoise.errors import MissingLibrary
from leastnoise.tables.results.table import Table
from tests.test_words import compared, ledger_file, made, released

HOSTILE = "<script>alert(1)</script>\"'&"
FRAMED = ("Comparison", "Plan", "CheckedLedger")
TAGS = {"p", "table", "caption", "thead", "tbody", "tr", "th", "td"}


class _Tags(HTMLParser):
    """Collects tags, their attributes, and texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.styles: set[tuple[str, str | None]] = set()
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.styles |= set(attrs)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def is_missing(value: Any) -> bool:
    return value is None or math.isnan(value)


def html(shown: Any) -> _Tags:
    result = _Tags(shown._repr_html_())
    assert set(result.tags) <= TAGS
    assert result.styles <= {("style", "text-align: right")}
    return result


def framed(name: str) -> Framed:
    if name == "Ledger":
        return ln.Ledger(ledger_file())
    return released().tables["n"] if name == "Table" else made(name)


@pytest.mark.parametrize("name", [*FRAMED, "Account", "Ledger", "ReleasedTables", "Table"])
def test_a_notebook_shows_tables(name: str) -> None:
    shown = framed(name) if name in {"Ledger", "Table"} else made(name)
    result = html(shown)
    assert result.texts[0] == repr(shown)
    assert "table" in result.tags
    assert result.tags.count("td") % result.tags.count("th") == 0 or name in {
        "Comparison",
        "Ledger",
    }


def test_hostile_texts_are_escaped(tmp_path: Path) -> None:
    table = Table(name=HOSTILE, columns={HOSTILE: [HOSTILE, None], "n": [1, 2.5]})
    assert html(table).texts.count(HOSTILE) == 3
    tables = ln.ReleasedTables(
        tables={HOSTILE: table},
        certificate=released().certificate,
        plan=released().plan,
        path=None,
    )
    assert HOSTILE in html(tables).texts
    ledger = ln.Ledger(tmp_path / "a.ledger")
    ledger.open_account(HOSTILE, unit=HOSTILE, budget=ln.Budget(epsilon=1))
    assert html(ledger).texts.count(HOSTILE) == 2


def test_every_block_has_its_table_and_long_ones_end() -> None:
    table = Table(name="a", columns={"n": list(range(60))})
    tables = ln.ReleasedTables(
        tables={"a": table, "b": table},
        certificate=released().certificate,
        plan=released().plan,
        path=None,
    )
    result = html(tables)
    assert result.tags.count("table") == 2
    assert result.tags.count("td") == 100
    assert "… and 10 more rows" in result.texts
    whole = Table(name="a", columns={"n": list(range(50))})
    assert not any("more rows" in text for text in html(whole).texts)


def test_what_is_skipped_is_shown_with_its_reason() -> None:
    texts = html(compared()).texts
    assert all(item.name in texts and item.why in texts for item in compared().skipped)


def test_a_ledger_that_is_gone_says_so(tmp_path: Path) -> None:
    assert "There is no ledger" in html(ln.Ledger(tmp_path / "gone")).texts[-1]


@pytest.mark.parametrize("name", [*FRAMED, "Ledger", "Table"])
def test_frames_of_all_libraries_are_alike(name: str) -> None:
    item = framed(name)
    arrow = item.to_arrow().to_pydict()
    assert item.to_polars().to_dict(as_series=False) == arrow
    assert pa.table(item).to_pydict() == arrow
    assert pl.DataFrame(item).to_dict(as_series=False) == arrow
    pandas = item.to_pandas()
    assert list(pandas.columns) == list(arrow)
    for column, values in arrow.items():
        for result, value in zip(pandas[column].tolist(), values, strict=True):
            assert result == value or (value is None and is_missing(result))


def test_a_comparison_has_a_row_a_candidate() -> None:
    result = compared().to_arrow().to_pydict()
    assert result["noise"] == [mechanism.noise.name for mechanism in compared().mechanisms]
    assert result["mae"] == [candidate.mae for candidate in compared().candidates]


def test_a_plan_has_a_row_an_error() -> None:
    (row,) = released().plan.to_arrow().to_pylist()
    (error,) = released().plan.noisy_parts[0].errors
    assert (row["query"], row["statistic"], row["rows"]) == ("n", "count", None)
    assert (row["std"], row["half_width_95"]) == (error.std, error.half_width_95)


def test_a_released_frame_is_what_was_published() -> None:
    table = released().tables["n"]
    assert table.to_arrow().to_pydict() == table.columns


def test_a_ledger_has_a_row_a_charge_and_what_is_spent_is_no_less(tmp_path: Path) -> None:
    ledger = ln.Ledger(tmp_path / "a.ledger")
    ledger.open_account("a", unit="person", budget=ln.Budget(epsilon=9))
    noise = ln.calibrate("laplace", epsilon="1/3", sensitivity=ln.L1(1))
    ledger.charge(noise.certificate, unit="person", label="first")
    ledger.register([(noise.certificate, 2)], budget=ln.Budget(epsilon=1), unit="person")
    result = ledger.to_arrow().to_pydict()
    assert result["kind"] == ["charge", "plan"]
    assert result["label"] == ["first", ""]
    assert result["user"] == [pwd.getpwuid(os.getuid()).pw_name] * 2
    assert result["number"] == [2, 3]
    for stated, cost in zip(result["epsilon"], (noise.certificate.budget.epsilon, 1), strict=True):
        assert ln.Budget(epsilon=stated).epsilon >= cost
    (row,) = ln.check_ledger(ledger.path).to_arrow().to_pylist()
    assert (row["dataset"], row["charges"], row["epsilon"]) == ("a", 2, 9.0)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_library_that_is_missing_is_named(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    method = {"pyarrow": "to_arrow"}.get(library, f"to_{library}")
    table = Table(name="a", columns={"n": [1]})
    with pytest.raises(MissingLibrary, match=f"pip install {library}") as missing:
        getattr(table, method)()
    assert isinstance(missing.value, ln.errors.Refused)


def test_a_class_that_is_framed_names_its_columns() -> None:
    for kind in (ln.Comparison, ln.Plan, ln.CheckedLedger, ln.Ledger):
        name = kind.__name__
        columns = framed(name).to_arrow().column_names
        text = (kind.__doc__ or "").replace("\n", " ")
        assert [column for column in columns if f"`{column}`" not in text] == [], name
