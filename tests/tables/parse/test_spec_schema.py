"""The JSON Schema: real specs satisfy it, broken ones don't, and every key is explained."""

from __future__ import annotations

import re
import tomllib
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from leastnoise.cli import demo
from leastnoise.tables.parse.spec_text import json_schema
from leastnoise.tables.spec import model as models
from leastnoise.tables.spec import query as of_a_query
from leastnoise.tables.spec.column import Grid
from leastnoise.tables.spec.model import Spec
from leastnoise.tables.spec.values import Section
from leastnoise.tables.statistics import registry
from tests.grids import thin
from tests.tables.json_schema import accepts
from tests.tables.spec.test_spec import GOOD

DOCS = Path(__file__).parents[3] / "docs"
PAGES = [*DOCS.glob("tables*.md"), *DOCS.glob("howto/cookbook*.md")]
BLOCKS = [
    part
    for page in sorted(PAGES)
    for part in re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
]
_OTHERWISE = {
    "version": 1,
    "data": {"source": "a.csv"},
    "privacy": {"unit": "row", "epsilon": 1},
    "query": [{"name": "all", "statistics": ["count"]}],
}


@pytest.mark.grid
@pytest.mark.parametrize("text", [GOOD, demo.SPEC, *thin(BLOCKS, 18)])
def test_real_specs_satisfy_it(text: str) -> None:
    spec = _OTHERWISE | tomllib.loads(text)
    assert accepts(json_schema(), spec | {"data": _OTHERWISE["data"] | spec["data"]})


def test_files_of_keys_and_open_ends_satisfy_it() -> None:
    spec = tomllib.loads(GOOD)
    spec["query"][0]["group_by"] = {"plan": {"file": "plans.txt"}, "age": {"edges": ["-inf", 0]}}
    spec["data"]["source"] = ["jan.csv", "feb.csv"]
    assert accepts(json_schema(), spec)


@pytest.mark.parametrize(
    ("keys", "group_by", "good"),
    [
        ([1, 2], ["plan"], True),
        ({"file": "plans.txt"}, ["plan"], True),
        ({"fil": "plans.txt"}, ["plan"], False),
        ([1.5], ["plan"], False),
        ([1, 2], [1], False),
        ([1, 2], [], False),
    ],
)
def test_columns_may_say_their_keys(keys: Any, group_by: Any, good: bool) -> None:
    spec = tomllib.loads(GOOD)
    spec["columns"]["plan"] = {"keys": keys}
    spec["query"][0]["group_by"] = group_by
    assert accepts(json_schema(), spec) == good


def test_every_spelling_of_a_statistic_satisfies_it() -> None:
    spec = tomllib.loads(GOOD)
    asked = [*(f"{kind}(a b)" for kind in ("count", "sum", "mean", "var", "std")), "count_units"]
    asked += ["ratio(sum(a), sum(b))", " ratio ( sum (a), count ) ", "ratio(sum(a),count(b))"]
    spec["query"][0]["statistics"] = asked
    assert accepts(json_schema(), spec)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("version", 2),
        ("query", []),
        ("data.typs", {}),
        ("data.types.zper", "integer"),
        ("privacy.epsilon", True),
        ("privacy.neighbours", "replace"),
        ("contribution.max_rows", 0),
        ("columns.mdvis.bounds", [1]),
        ("query.0.statistics", ["average(mdvis)"]),
        ("query.0.statistics", ["var"]),
        ("query.0.statistics", ["ratio(mean(a), count)"]),
        ("query.0.statistics", ["ratio(sum(a))"]),
        ("query.0.group_by.plan", [1.5]),
        ("query.0.group_by.plan", {"file": "plans.md"}),
        ("output.format", "xls"),
    ],
)
def test_broken_specs_do_not(path: str, value: Any) -> None:
    spec: Any = deepcopy(tomllib.loads(GOOD))
    *parents, last = path.split(".")
    inner = spec
    for part in parents:
        inner = inner[int(part) if isinstance(inner, list) else part]
    inner[last] = value
    assert not accepts(json_schema(), spec)
    del spec["privacy"]
    assert not accepts(json_schema(), tomllib.loads(GOOD) | {"privacy": {"unit": "zper"}})


def test_it_needs_nothing_else() -> None:
    text = str(json_schema())
    assert "$ref" not in text
    assert "'null'" not in text


MODELS = [
    kind
    for kind in (vars(models) | vars(of_a_query)).values()
    if isinstance(kind, type) and issubclass(kind, BaseModel) and kind not in {BaseModel, Section}
]


@pytest.mark.grid
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_key_has_words_and_an_example_that_is_one(model: Any) -> None:
    inner = _section(json_schema(), model.__name__)
    for key, field in model.model_fields.items():
        (text,) = field.examples
        example = tomllib.loads(text)
        assert list(example) == [key]
        assert accepts(inner["properties"][key], example[key]), key
        assert not field.description.endswith(".")


@pytest.mark.parametrize("model", [*MODELS, Grid], ids=lambda model: model.__name__)
def test_every_key_is_in_the_reference(model: Any) -> None:
    text = (DOCS / "tables-reference.md").read_text(encoding="utf-8")
    for key, field in model.model_fields.items():
        written = rf"`[^`\n]*\b{field.alias or key}\b[^`\n]*`|^## {key}$"
        assert re.search(written, text, re.MULTILINE), key


def _section(schema: dict[str, Any], name: str) -> dict[str, Any]:
    spec, query = schema["properties"], schema["properties"]["query"]["items"]["properties"]
    groups, _names = query["group_by"]["anyOf"]
    return {
        Spec.__name__: schema,
        "Data": spec["data"],
        "Join": spec["data"]["properties"]["join"]["additionalProperties"],
        "Privacy": spec["privacy"],
        "LedgerAccount": spec["privacy"]["properties"]["ledger"],
        "Contribution": spec["contribution"],
        "Column": spec["columns"]["additionalProperties"],
        "Query": spec["query"]["items"],
        "Histogram": query["histogram"],
        "Hierarchy": groups["additionalProperties"]["anyOf"][1],
        "Bands": groups["additionalProperties"]["anyOf"][2],
        "PrivateKeys": groups["additionalProperties"]["anyOf"][3],
        "KeyFile": groups["additionalProperties"]["anyOf"][4],
        "LevelsFile": groups["additionalProperties"]["anyOf"][5],
        "Predicate": query["conditions"]["additionalProperties"]["additionalProperties"],
        "Accuracy": query["accuracy"],
        "Assumed": query["assume"],
        "Series": spec["series"],
        "Output": spec["output"],
        "About": spec["report"],
    }[name]


def test_it_lists_the_statistics_that_there_are() -> None:
    assert _section(json_schema(), "Query")["properties"]["statistics"]["description"].endswith(
        f'statistics = ["count", "mean(visits)"]\n\nEach is {registry.SPELLINGS}.'
    )
