"""The tables of keys in docs/tables-reference.md, from the JSON Schema of the spec.

    python -m benchmarks.spec_keys

writes a table of each section between its marks `<!-- keys of SECTION -->` and `<!-- end -->`. A
test compares the page with the schema.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from leastnoise.tables.parse.spec_text import json_schema

PAGE = Path(__file__).parents[1] / "docs" / "tables-reference.md"
SECTIONS = {
    "data": ("data",),
    "data.join": ("data", "join", "*"),
    "privacy": ("privacy",),
    "contribution": ("contribution",),
    "columns": ("columns", "*"),
    "series": ("series",),
    "query": ("query", "[]"),
    "output": ("output",),
}
"""The path of each section in the schema."""
TOPICS = {
    "source": "where-the-rows-are",
    "delimiter": "how-a-csv-is-written",
    "join": "joined-tables",
    "neighbours": "one-person-more-or-one-replaced",
    "bounds": "bounds-that-are-found",
    "max_rows": "a-limit-that-is-found",
    "max_groups": "a-limit-that-is-found",
    "missing": "missing-values",
    "candidates": "quantiles",
    "importance": "several-queries-share-one-budget",
    "accuracy": "accuracy-and-assume",
    "assume": "accuracy-and-assume",
    "statistics": "statistics",
    "group_by": "groups",
    "quantiles_by": "quantiles",
    "quantiles_share": "quantiles",
    "margins": "tables-with-totals-that-add-up",
    "sums": "named-sums-of-cells",
    "objective": "the-largest-error",
    "prefer": "groups-that-nobody-listed",
    "conditions": "conditions-that-overlap",
    "round": "whole-numbers-and-none-below-0",
    "clamp": "whole-numbers-and-none-below-0",
    "min_count": "which-groups-are-published",
    "sql": "a-query-in-sql",
}
"""The section of the page that explains a key further."""


def section(name: str) -> dict[str, Any]:
    """The properties of a section in the schema."""
    inner = json_schema()
    for step in SECTIONS[name]:
        if step == "*":
            inner = inner["additionalProperties"]
        elif step == "[]":
            inner = inner["items"]
        elif step:
            inner = inner["properties"][step]
    return inner["properties"]


def table(name: str) -> str:
    """The keys of a section with their meanings and examples, as a table in Markdown."""
    known = section("data") if name == "data.join" else {}
    keys = section(name)
    alike = [key for key in keys if key != "source" and key in known]
    lines = ["| key | meaning | example |", "|---|---|---|"]
    lines += [line(key, schema) for key, schema in keys.items() if key not in alike]
    if alike:
        names = ", ".join(f"`{key}`" for key in alike)
        lines.append(f"| {names} | as in `[data]` | |")
    return "\n".join(lines)


def line(key: str, schema: dict[str, Any]) -> str:
    """The row of one key in the table."""
    meaning, _, rest = schema["description"].partition(" Example:\n\n")
    lines = rest.partition("\n\n")[0].splitlines()
    example = f"`{lines[0].partition(' = ')[2]}`" if len(lines) == 1 else ""
    choices = [f"`{choice!r}`".replace("'", '"') for choice in schema.get("enum", [])]
    named = [
        re.search(rf"\b{re.escape(str(choice))}\b", meaning.lower())
        for choice in schema.get("enum", [])
    ]
    if not all(named) and key != "delimiter":
        meaning += f" {'One of ' if len(choices) > 1 else 'Always '}{', '.join(choices)}."
    if schema.get("default") not in (None, [], False):
        meaning += f" The default is `{schema['default']}`."
    topic = TOPICS.get(key)
    shown = f"[`{key}`](#{topic})" if topic else f"`{key}`"
    return f"| {shown} | {meaning} | {example} |"


def page(text: str) -> str:
    """The text of the page with new tables of keys."""
    for name in SECTIONS:
        before, start, rest = text.partition(f"<!-- keys of {name} -->")
        _, end, after = rest.partition("<!-- end -->")
        if not end:
            raise ValueError(f"The page needs one table of {name}")
        text = f"{before}{start}\n\n{table(name)}\n\n{end}{after}"
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
