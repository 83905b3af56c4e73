"""CSV files of named sums: the cells that they define, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leastnoise.errors import SpecError
from leastnoise.tables.answers.weighted import named_sums, questions
from leastnoise.tables.answers.weighted.named_sums import MergedSums, read_sums
from leastnoise.tables.layout.axes import Bins, KeyColumn
from leastnoise.tables.parse import spec_file

EDGES = tuple(map(Fraction, (0, 5, 18, 65, 100)))
AXES = (
    KeyColumn(column="region", values=("a", "b", 'the "c", d')),
    Bins(column="age", edges=EDGES, missing=None),
)


def full(sums: MergedSums) -> Any:
    """The matrix W for all cells, shape (sums, cells)."""
    spread = np.zeros((sums.queries.shape[0], len(sums.places)))
    inside = sums.places >= 0
    spread[:, inside] = sums.queries[:, sums.places[inside]]
    return spread


def test_empty_fields_and_missing_columns_are_all_keys() -> None:
    sums = read_sums('sum,region\nall,\na,a\nquoted,"the ""c"", d"\n', AXES)
    assert sums.axis.names == ("all", "a", "quoted")
    assert sums.axis.columns == {"sum": ("all", "a", "quoted")}
    expected = [[1] * 12, [1] * 4 + [0] * 8, [0] * 8 + [1] * 4]
    assert full(sums).tolist() == expected
    assert sums.merged_cells == 3
    assert sums.merge(np.arange(12)).tolist() == [0 + 1 + 2 + 3, 4 + 5 + 6 + 7, 8 + 9 + 10 + 11]


def test_bands_span_edges_and_weights_are_exact() -> None:
    text = "weight,age_to,sum,age_from\r\n0.1,18,x,0\r\n,,x,65\r\n-1/3,100,x,18\r\n"
    with pytest.raises(ValueError, match="Line 4 names a cell of its sum again"):
        read_sums(text, AXES)
    sums = read_sums(text.replace("-1/3,100", "-1/3,65"), AXES)
    assert full(sums).reshape(3, 4).tolist() == [[0.1, 0.1, -1 / 3, 1.0]] * 3
    assert sums.merged_cells == 3


def test_cells_in_no_sum_are_left_out() -> None:
    sums = read_sums("sum,region,age_from,age_to\nx,a,5,18\n", AXES)
    assert sums.places.tolist() == [-1, 0, *[-1] * 10]
    assert sums.merge(np.arange(12) + 7).tolist() == [8]


def test_keys_have_their_types() -> None:
    mixed = (KeyColumn(column="k", values=(1, True, "1", "true")),)
    sums = read_sums("sum,k\nx,1\ny,true\n", mixed)
    assert full(sums).tolist() == [[1, 0, 0, 0], [0, 1, 0, 0]]
    whole = (KeyColumn(column="k", values=(1, -5)),)
    assert full(read_sums("sum,k\nx,-05\n", whole)).tolist() == [[0, 1]]
    text = (KeyColumn(column="k", values=("1", "01")),)
    assert full(read_sums("sum,k\nx,01\n", text)).tolist() == [[0, 1]]


def test_an_open_end_is_an_edge() -> None:
    axes = (Bins(column="x", edges=(-float("inf"), Fraction("0.5"), float("inf")), missing=None),)
    for line in ("u,0.50,inf", "u,0.5,"):
        assert full(read_sums(f"sum,x_from,x_to\n{line}\n", axes)).tolist() == [[0, 1]]
    assert full(read_sums("sum,x_from,x_to\nu,-inf,1/2\n", axes)).tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("", "first line"),
        ("a,b\n", "first line"),
        ("region\na\n", "first line"),
        ("sum,regions\nx,a\n", "Expected columns, each once, among sum, region, age_from"),
        ("sum,sum\nx,a\n", "each once"),
        ("sum,region\n", "one for each part"),
        ("sum,region\nx\n", "Line 2 has 1 field, but the first line has 2"),
        ("sum,region\nx,a,b\n", "Line 2 has 3 fields, but the first line has 2"),
        ("sum,region\nx,a\n\n", "Line 3 has 0 fields, but the first line has 2"),
        ('sum,region\nx,"a\n', "Line 2 has an unclosed quote"),
        ('sum,region\nx,"a"b\n', "Line 2 has an unclosed quote"),
        ("sum,region\n,a\n", "Line 2 has no name for its sum"),
        ("sum,region\n" + "x" * 5000 + ",a\n", "more than 4,096 bytes"),
        ("sum,region\nx,secret\n", "Line 2 has a key that group_by doesn't list"),
        ("sum,age_from\nx,secret\n", "isn't one of the edges"),
        ("sum,age_from\nx,6\n", "isn't one of the edges"),
        ("sum,age_from\nx,nan\n", "isn't one of the edges"),
        ("sum,age_from,age_to\nx,18,18\n", "upper end isn't above its lower end"),
        ("sum,age_from,age_to\nx,18,5\n", "upper end isn't above its lower end"),
        ("sum,age_from\nx,100\n", "upper end isn't above its lower end"),
        ("sum,weight\nx,secret\n", "weight that isn't a number"),
        ("sum,weight\nx,nan\n", "weight that isn't a number"),
        ("sum,weight\nx,0\n", "absolute value isn't in"),
        ("sum,weight\nx,1e10\n", "absolute value isn't in"),
        ("sum,weight\nx,1e-10\n", "absolute value isn't in"),
        ("sum,region\nx,a\nx,\n", "Line 3 names a cell of its sum again"),
    ],
)
def test_what_is_refused_and_quotes_nothing(text: str, statement: str) -> None:
    with pytest.raises(ValueError, match=statement) as caught:
        read_sums(text, AXES)
    assert "secret" not in str(caught.value)


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(named_sums, "MOST_CELLS", 2)
    with pytest.raises(ValueError, match="at most 2 kinds of cells, got 3"):
        read_sums("sum,region\nlimit a,a\nlimit b,b\nlimit all,\n", AXES)
    monkeypatch.setattr(named_sums, "MOST_QUESTIONS", 1)
    with pytest.raises(ValueError, match="at most 1 sums"):
        read_sums("sum,region\nlimit a,a\nlimit b,b\n", AXES)
    monkeypatch.setattr(named_sums, "_MOST_TERMS", 11)
    with pytest.raises(ValueError, match="of 11 cells together"):
        read_sums("sum,region\nlimit all,\n", AXES)


def spec_of(*, privacy: Any = None, **query: Any) -> dict[str, Any]:
    computed = {
        "name": "q",
        "statistics": ["count"],
        "group_by": {"k": ["a", "b"]},
        "sums": "sum\nx\n",
    }
    return {
        "version": 1,
        "data": {"source": "rows.csv", "types": {"k": "text", "x": "float", "sum": "text"}},
        "privacy": {"unit": "row", "epsilon": 1, "delta": "1e-6", **(privacy or {})},
        "query": [{key: value for key, value in (computed | query).items() if value is not None}],
    }


@pytest.mark.grid
@pytest.mark.parametrize(
    ("change", "key", "text"),
    [
        ({"group_by": None}, "query[0].sums", "Expected the cells"),
        ({"group_by": {"k": {"keys": "private"}}}, "query[0].sums", "nobody listed"),
        ({"margins": True}, "query[0].sums", "margins or levels"),
        (
            {"group_by": {"k": {"keys": ["a", "b"], "levels": {"l": ["u", "u"]}}}},
            "query[0].sums",
            "margins or levels",
        ),
        (
            {
                "statistics": None,
                "histogram": {"column": "x", "edges": [0, 1, 2], "cumulative": True},
            },
            "query[0].sums",
            "cumulative",
        ),
        (
            {
                "group_by": None,
                "statistics": None,
                "conditions": {"c": {"x": {"min": 1}}},
            },
            "query[0].sums",
            "conditions",
        ),
        ({"statistics": ["count", "count_units"]}, "query[0].sums", "one count"),
        ({"statistics": ["median(x)"]}, "query[0].sums", "one count"),
        ({"round": True}, "query[0].round", "agree"),
        ({"round_to": 5}, "query[0].round_to", "agree"),
        ({"clamp": True}, "query[0].clamp", "agree"),
        ({"min_count": 5}, "query[0].min_count", "agree"),
        ({"top": 1}, "query[0].top", "agree"),
        ({"objective": "largest"}, "query[0].objective", "typical error"),
        ({"accuracy": {"std": 3}}, "query[0].accuracy.std", "half_width_95"),
        ({"group_by": {"sum": ["a", "b"]}}, "query[0].sums", r"\[derive\]"),
        ({"sums": "sum,k\nx,c\n"}, "query[0].sums", "Line 2 has a key"),
        ({"sums": {"file": "sums.csv"}}, "query[0].sums.file", "if the spec is a file"),
        ({"sums": {"files": "sums.csv"}}, "query[0].sums", "text in quotes"),
        ({"sums": 3}, "query[0].sums", "text in quotes"),
        ({"group_by": {"k": ["a", ""]}, "sums": "sum,k\nx,\n"}, "query[0].sums", "no key may be"),
        ({"sums": ""}, "query[0].sums", "isn't empty"),
        (
            {"group_by": {"k": ["a"], "x": {"edges": [*range(100_002)]}}},
            "query[0].sums",
            "at most 100,000 cells",
        ),
    ],
)
def test_what_does_not_go_together(change: Any, key: str, text: str) -> None:
    with pytest.raises(SpecError, match=text) as caught:
        spec_file.parse(spec_of(**change))
    assert key in {where for where, _ in caught.value.problems}


def test_weights_have_the_sizes_that_are_said() -> None:
    sums = read_sums("sum,region,weight\nx,a,1e-9\nx,b,-1e9\n", AXES)
    assert full(sums)[0, ::4].tolist() == [1e-9, -1e9, 0]
    with pytest.raises(ValueError, match=r"isn't in 0\.000000001 to 1,000,000,000\."):
        read_sums("sum,weight\nx,9e-10\n", AXES)


def test_weights_of_all_queries_are_limited_before_they_are_written_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw = spec_of(sums="sum,k\nx,a\ny,b\n")
    raw["query"].append(raw["query"][0] | {"name": "more"})
    monkeypatch.setattr(questions, "_MOST_NUMBERS", 8)
    spec_file.parse(raw)
    monkeypatch.setattr(questions, "_MOST_NUMBERS", 7)
    monkeypatch.setattr(MergedSums, "queries", None)
    with pytest.raises(SpecError, match="are 8 in all queries together, more than 7") as caught:
        spec_file.parse(raw)
    assert [where for where, _ in caught.value.problems] == ["query[1].sums"]


@pytest.mark.parametrize("groups", [1, 2])
def test_persons_are_counted_where_each_is_in_one_cell(groups: int) -> None:
    limits = {"max_rows": 3, "max_groups": groups}
    raw = spec_of(privacy={"unit": "who"}, statistics=["count_units"]) | {"contribution": limits}
    raw["data"]["types"]["who"] = "int"
    if groups == 1:
        spec_file.lay_out(raw)
        return
    with pytest.raises(SpecError, match="count several times in a sum of them"):
        spec_file.lay_out(raw)


def test_persons_need_a_limit_on_rows() -> None:
    raw = spec_of(privacy={"unit": "who"}) | {"contribution": {"l2": 3}}
    raw["data"]["types"]["who"] = "int"
    with pytest.raises(SpecError, match="Give max_rows"):
        spec_file.parse(raw)


def test_files_are_read_with_the_spec_and_stand_in_it(tmp_path: Path) -> None:
    (tmp_path / "sums.csv").write_bytes(b"\xef\xbb\xbfsum,k\r\nfirst,a\r\nall,\r\n")
    spec = spec_file.parse(spec_of(sums={"file": "sums.csv"}), folder=tmp_path)
    assert spec.query[0].sums == "sum,k\r\nfirst,a\r\nall,\r\n"
    assert spec_file.loads(spec_file.dumps(spec)) == spec
    for name, content, text in (
        ("none.csv", None, "none.csv"),
        ("sums.txt", b"sum\nx\n", r"ending in \.csv"),
        ("empty.csv", b"\xef\xbb\xbf", r"The file empty\.csv is empty\."),
        ("latin.csv", b"sum,k\n\xe9,a\n", "UTF-8"),
    ):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(SpecError, match=text):
            spec_file.parse(spec_of(sums={"file": name}), folder=tmp_path)
