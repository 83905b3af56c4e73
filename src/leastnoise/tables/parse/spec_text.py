"""The plain values of a spec as TOML in which every `group_by` keeps its order.

The order of a group_by is that of the columns and rows of a published table. A writer of TOML puts
tables, such as edges, behind all lists.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import tomli_w

if TYPE_CHECKING:
    from collections.abc import Mapping

_QUERY = re.compile(r"^(?=\[\[query\]\]$)", re.MULTILINE)
_SECTION = re.compile(r"^\[(?!\[query\]\]$)|\Z", re.MULTILINE)  # values of lists are indented


def write(record: Mapping[str, Any]) -> str:
    """Return TOML that reads back as `record`, what `spec_file.to_dict` made."""
    queries = [dict(query) for query in record["query"]]
    moved = {
        place: query.pop("group_by")
        for place, query in enumerate(queries)
        if _would_move(query.get("group_by"))
    }
    start, *texts = _QUERY.split(tomli_w.dumps({**record, "query": queries}))
    for place, group_by in moved.items():
        found = _SECTION.search(texts[place])
        end = found.start() if found else 0
        body, others = texts[place][:end].rstrip(), texts[place][end:]
        texts[place] = f"{body}\n\n[query.group_by]\n{_in_order(group_by)}\n{others}"
    return f"{start}{''.join(texts)}".rstrip() + "\n"


def _would_move(group_by: object) -> bool:
    """Whether a list stands behind a table."""
    if not isinstance(group_by, dict):
        return False
    tables = [isinstance(one, dict) for one in group_by.values()]
    return tables != sorted(tables)


def _in_order(group_by: Mapping[str, Any]) -> str:
    """Return the lines of the section, in which a table has keys with dots."""
    lines: list[str] = []
    for name, one in group_by.items():
        written = tomli_w.dumps({name: 0}).removesuffix(" = 0\n")
        if isinstance(one, dict):
            lines += [f"{written}.{tomli_w.dumps({key: own})}" for key, own in one.items()]
        else:
            lines.append(tomli_w.dumps({name: one}))
    return "".join(lines)
