"""Queries in SQL: their keys, and the parts that are refused by name."""

from __future__ import annotations

import random
import re
import tomllib
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from sqlglot import exp

import leastnoise as ln
from leastnoise.errors import SpecError
from leastnoise.tables.expressions import language
from leastnoise.tables.parse import spec_file, sql_queries
from tests.tables.expressions.oracle import random_expression
from tests.tables.json_schema import accepts
from tests.tables.parse.test_spec_schema import json_schema

_REGIONS = {"region": ["n", "s"]}
_SAID: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("select count(*) from data", {}, {"statistics": ["count"]}),
    (
        "SELECT count(x), COUNT(DISTINCT person), sum(x), avg(x) FROM data WHERE age >= 18",
        {},
        {
            "filter": "age >= 18",
            "statistics": ["count(x)", "count_units", "sum(x)", "mean(x)"],
        },
    ),
    (
        "select region, var_pop(x), stddev_pop(x) from data group by sex, region -- a remark",
        {"group_by": {"region": ["n", "s"], "sex": [1, 2]}, "importance": 2},
        {
            "statistics": ["var(x)", "std(x)"],
            "group_by": {"sex": [1, 2], "region": ["n", "s"]},
            "importance": 2,
        },
    ),
    ("select median(x) from data", {}, {"statistics": ["median(x)"]}),
    ("select count(), count(x) from data -- weekly", {}, {"statistics": ["count", "count(x)"]}),
    ("select count(1) /* of rows */ from DATA /* all */", {}, {"statistics": ["count"]}),
    (
        "select REGION, avg(X) from data where X > 0 group by Region",
        {"group_by": {"region": ["n", "s"]}},
        {"filter": "x > 0", "statistics": ["mean(x)"], "group_by": {"region": ["n", "s"]}},
    ),
    (
        "select quantile(x, 0.25), percentile_cont(0.9) within group (order by x) from data",
        {},
        {
            "statistics": ["quantile(x, 0.25)", "quantile(x, 0.9)"],
        },
    ),
    (
        'select sum("odd name") from data where "odd name" between 1 and 2 and not sex = 1',
        {"round": False},
        {
            "filter": '"odd name" between 1 and 2 and not sex = 1',
            "statistics": ["sum(odd name)"],
        },
    ),
    (
        (
            "select count(*) from data where "
            "row_number() over (partition by Person order by day) = 1 and count() over PERSON >= 2"
        ),
        {},
        {
            "filter": "row_number(by = day) over person = 1 and count() over person >= 2",
            "statistics": ["count"],
        },
    ),
]


def raw(part: dict[str, Any]) -> dict[str, Any]:
    names = ("x", "odd name")
    return {
        "version": 1,
        "data": {"source": "rows.parquet"},
        "privacy": {"unit": "person", "epsilon": 1, "delta": "1e-6"},
        "contribution": {"max_rows": 3},
        "columns": {
            name: {"bounds": [0, 1], "candidates": {"from": 0, "to": 1, "step": "0.1"}}
            for name in names
        },
        "query": [{"name": "q", **part}],
    }


@pytest.mark.grid
@pytest.mark.parametrize(("sql", "beside", "expected"), _SAID)
def test_a_query_becomes_the_keys_of_the_same_meaning(
    sql: str, beside: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert accepts(json_schema(), raw({"sql": sql, **beside}))
    spec = spec_file.parse(raw({"sql": sql, **beside}))
    (part,), (wanted,) = spec.query, spec_file.parse(raw(expected)).query
    if wanted.filter is not None:
        assert language.parse(part.filter or "") == language.parse(wanted.filter)
    unlike = {"filter": None}
    assert part.model_copy(update=unlike) == wanted.model_copy(update=unlike)
    assert spec_file.loads(spec_file.dumps(spec)) == spec


_REFUSED = {
    "select count(*) from data having count(*) > 3": "can't have having: min_count = 10 beside",
    "select count(*) from data order by 1": "Sort the published table, or write top = 10",
    "select count(*) from data limit 3": "can't have limit: top = 10 beside sql",
    "select count(*) from data offset 1": "can't have offset: publish all",
    "select distinct region from data": "can't have distinct: group by the columns",
    "select count(*) from data qualify true": "can't have qualify: write a condition over the unit",
    "select count(*) from data using sample 10%": "can't have sample: draw the sample before",
    "select count(*) from data tablesample 10%": 'Expected "from data"',
    "select count(*) from data join b using (person)": "can't have join: write [data.join.NAME]",
    "select count(*) from data, b": "can't have join: write [data.join.NAME]",
    "with b as (select 1) select count(*) from data": "can't have with: write each of its queries",
    "select count(*) from data union select count(*) from data": "Expected one select",
    "select count(*) from (select * from data)": 'Expected "from data"',
    "select count(*) from visits": 'Expected "from data"',
    "select count(*) from data as d": 'Expected "from data"',
    "select 1": 'Expected "from data"',
    "select count(*) from data for update": "can't have locks: leave it out",
    "select avg(x) over () from data": "looks at other rows, so one person would change another's",
    "select avg(x) over (partition by unit) from data": "isn't a statistic, but a value of each",
    "select count(*) over person from data": "Name it in [derive], and write a statistic of it",
    "select count(*) filter (where x > 1) from data": "after where, in a separate query",
    "select count(*) from data where x > (select avg(x) from data)": "looks at other rows",
    "select count(*) from data where x > now()": "changes from call to call",
    "select count(distinct region) from data": "can only count the unit 'person'",
    "select sum(distinct x) from data": "Leave distinct out",
    "select count(x, sex) from data": "counts several columns. Write a count for each",
    "select count(distinct) from data": "can only count the unit 'person'",
    "select count(* exclude (x)) from data": "Expected the name of a column in count",
    "select quantile_cont() from data": "Expected a single level of a quantile",
    "select percentile_cont(0.5) within group (order by x, sex) from data": "(order by x).",
    "select percentile_cont(0.5, 0.1) within group (order by x) from data": "(order by x).",
    "select mode() within group (order by x) from data": "isn't a statistic",
    "select avg(x * 2) from data": '[derive] computed = "x * 2", and write computed.',
    "select avg(data.x) from data": "Write x alone: there is only one table",
    "select avg(x) as m from data": "Leave 'as m' out",
    "select var_samp(x) from data": "Write var_pop(x)",
    "select stddev(x) from data": "Write stddev_pop(x)",
    "select quantile_disc(0.5) within group (order by x desc) from data": "Expected ascending",
    "select quantile(x, [0.1, 0.9]) from data": "Expected a single level of a quantile",
    "select quantile(x, 1.5) from data": "Expected a level above 0 and below 1",
    "select mode(x) from data": "isn't a statistic. You can use count(*)",
    "select sum(x) / count(*) from data": 'write statistics = ["ratio(sum(a), sum(b))"]',
    "select max(x) from data": "isn't a statistic. You can use count(*)",
    "select * from data": "isn't a statistic",
    "select region from data group by region": "Expected a statistic after select",
    "select sex, count(*) from data group by region": "'sex' is neither in group by",
    "select count(*) from data group by 1": "Write the column's name, not a constant",
    "select count(*) from data group by month(day)": "Name it first: [derive] computed =",
    "select count(*) from data group by all": "can't have group by all",
    "select count(*) from data group by rollup(region)": "Expected the name of a column",
    "select count(*) from data; select 1": "Expected one expression",
    "select count(": "can't be read",
    "delete from data": "Expected one select",
    "region = 'n'": "Expected one select",
    "select count(*) from data -- " + "x" * 4096: "at most 4,096 characters",
}


@pytest.mark.parametrize("sql", _REFUSED)
def test_what_is_no_statistic_is_refused_by_name(sql: str) -> None:
    with pytest.raises(SpecError, match=re.escape(_REFUSED[sql])) as caught:
        spec_file.parse(
            raw({"sql": sql, "group_by": _REGIONS} if "group by" in sql else {"sql": sql})
        )
    assert [key for key, _ in caught.value.problems] == ["query[0].sql"]


_ADVISED = ["-x", "x * 2", "coalesce(x, 0)", "lower('a\"''b')", "case when x > 1 then 0 else 1 end"]


@pytest.mark.parametrize("text", _ADVISED)
def test_advice_to_name_what_is_computed_can_be_followed(text: str) -> None:
    given: dict[str, Any] = raw({"sql": f"select count({text}) from data"})
    given |= {"derive": {"computed": "x + 1"}}
    with pytest.raises(SpecError) as caught:
        spec_file.parse(given)
    advice = re.search(r"\[derive\] (.*), and write (.*)\.$", caught.value.problems[0][1])
    assert advice is not None
    given["derive"] |= tomllib.loads(advice[1])
    given["query"][0]["sql"] = f"select count({advice[2]}) from data"
    assert spec_file.parse(given).query[0].statistics == (f"count({advice[2]})",)
    assert language.parse(given["derive"][advice[2]]) == language.parse(text)


_ARGUMENTS = (
    "",
    "*",
    "x",
    "t, x",
    "distinct x",
    "distinct t, x",
    "1",
    "-x",
    "x order by t",
    "null",
)
_BEHIND = (
    "",
    " within group (order by x)",
    " within group (order by x, t)",
    " filter (where x > 1)",
    " over ()",
)
_READ = {
    *("COUNT", "SUM", "AVG", "MEDIAN", "VARIANCE_POP", "STDDEV_POP", "VARIANCE", "STDDEV", "MODE"),
    *("PERCENTILE_CONT", "PERCENTILE_DISC", "ARRAY_AGG"),
}
_SAME = {
    "count": "count(*)",
    "count_units": "count(distinct person)",
    "mean": "avg",
    "var": "var_pop",
    "std": "stddev_pop",
}


def _aggregates() -> list[str]:
    kinds = (function for function in exp.ALL_FUNCTIONS if issubclass(function, exp.AggFunc))
    return sorted({name for function in kinds for name in function.sql_names()})


@pytest.mark.dense
def test_what_is_accepted_is_what_the_engine_computes_and_all_else_is_refused() -> None:
    """Every aggregate with every form of arguments: none is read as another, none crashes."""
    rows = pd.DataFrame({"person": [1, 1, 2, 3], "x": [0.25, 0.75, None, 0.5], "t": [2, 1, 3, 4]})
    connection = duckdb.connect()
    connection.register("data", rows)
    accepted: set[str] = set()
    forms = [f"({arguments}){behind}" for arguments in _ARGUMENTS for behind in _BEHIND]
    forms += ["(x, 0.5)", "(0.5)", "(0.5) within group (order by x)"]
    for name in _aggregates():
        for form in forms if name in _READ else ("(x)", "()", "(distinct x)"):
            text = f"select {name}{form} from data"
            problems: list[Any] = []
            plain = sql_queries.translate_queries(raw({"sql": text}), problems)
            if problems:
                continue
            accepted.add(name)
            (statistic,) = plain["query"][0]["statistics"]
            kind, bracket, rest = str(statistic).partition("(")
            same = _SAME.get(kind, kind) + bracket + rest
            same = same.replace("count(*)(", "count(").replace("quantile(", "quantile_cont(")
            wanted = connection.execute(f"select {same} from data").fetchall()
            try:
                assert connection.execute(text).fetchall() == wanted, text
            except duckdb.CatalogException:  # a name of another dialect
                assert form in {"(x)", "(x, 0.5)"}, text
    assert {"COUNT", "SUM", "AVG", "MEDIAN", "VARIANCE_POP", "PERCENTILE_CONT"} <= accepted


@pytest.mark.parametrize(
    ("part", "why"),
    [
        ({"sql": 3}, "Expected a text"),
        ({"sql": "select count(*) from data", "statistics": ["count"]}, "the key statistics"),
        (
            {"sql": "select count(*) from data", "filter": "x > 1"},
            "can't have the key filter, too. Write it in the SQL",
        ),
        (
            {"sql": "select count(*) from data group by region"},
            "Missing: the list of the groups of",
        ),
        (
            {"sql": "select count(*) from data group by sex", "group_by": _REGIONS},
            "Expected group_by with the same columns",
        ),
        ({"sql": "select count(*) from data", "group_by": _REGIONS}, "Expected group_by with the"),
    ],
)
def test_what_stands_beside_it_has_to_fit(part: dict[str, Any], why: str) -> None:
    with pytest.raises(SpecError, match=why):
        spec_file.parse(raw(part))


def test_columns_that_say_their_keys_are_grouped_by_name() -> None:
    given = raw({"sql": "select count(*) from data group by region, age"})
    given["columns"] = {"region": {"keys": ["n", "s"]}, "age": {"edges": [0, 18, 65]}}
    (part,) = spec_file.parse(given).query
    assert part.group_by == ("region", "age")


@pytest.mark.dense
@pytest.mark.parametrize("seed", range(10))
def test_where_is_written_as_a_filter_of_the_same_meaning(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(40):
        text = random_expression(rng, "bool", rng.randrange(1, 5)).text
        if len(text) < 4000:
            query: Any = language.parse_sql(f"select count(*) from data where {text}")
            written = language.write(query.args["where"].this)
            assert language.parse(written) == language.parse(text)


def test_a_spec_without_queries_takes_one(tmp_path: Path) -> None:
    pd.DataFrame({"person": [1, 2, 3], "age": [17, 18, 19], "x": [0.5, 1, 1]}).to_parquet(
        tmp_path / "rows.parquet"
    )
    text = "\n".join(
        [
            'version = 1\ndata = { source = "rows.parquet" }',
            'privacy = { unit = "person", epsilon = 1000 }',
            "contribution = { max_rows = 1 }",
            "columns = { x = { bounds = [0, 1] } }",
        ]
    )
    (tmp_path / "spec.toml").write_text(text, encoding="utf-8")
    result = ln.Release.from_toml(
        tmp_path / "spec.toml", sql="select count(*), avg(x) from data where age >= 18", assume=2
    )
    table = result.run().tables["result"]
    assert round(table.columns["count"][0]) == 2
    assert round(table.columns["mean_x"][0], 1) == 1
    (tmp_path / "more.toml").write_text(
        f'{text}\n[[query]]\nname = "q"\nstatistics = ["count"]\n', encoding="utf-8"
    )
    with pytest.raises(SpecError, match="no query in SQL can be given"):
        ln.Release.from_toml(tmp_path / "more.toml", sql="select count(*) from data")
    with pytest.raises(SpecError, match=r"query\[0\]\.sql: Expected one select"):
        ln.Release.from_toml(tmp_path / "spec.toml", sql="x", assume=2)
