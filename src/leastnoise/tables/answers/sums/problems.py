"""Problems of settings and names that the kinds of tables of sums have in common."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leastnoise.tables.answers.base import Problem
    from leastnoise.tables.spec.query import Query

FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def listed_problems(
    given: Sequence[Sequence[str]],
    columns: Sequence[str],
    key: str,
    *,
    called: str = "columns of group_by",
) -> Iterator[Problem]:
    """Problems of listed tables: unknown columns, and tables or columns given twice.

    `key` is the key of the list in the spec. `called` is the name of the allowed `columns` in
    messages.
    """
    seen: set[frozenset[str]] = set()
    for index, by in enumerate(given):
        unknown = [name for name in by if name not in columns]
        if unknown:
            yield f"{key}[{index}]", f"Expected {called}, got {unknown[0]!r}."
        elif len(set(by)) < len(by) or frozenset(by) in seen:
            yield f"{key}[{index}]", f"{list(by)!r} is given twice, or has a column twice."
        seen.add(frozenset(by))


def name_problems(query: Query, names: Sequence[str], key: str, *, hint: str) -> Iterator[Problem]:
    """Yield a problem for each table name that can't be a file name; `hint` ends the message."""
    for name in names:
        if query.name and not FILE.fullmatch(name):
            why = f"A file would be called {name[:80]!r}. Names have 1 to 64 letters, digits, - or"
            yield key, f"{why} _: {hint}"


def std_problems(query: Query, path: str, *, called: str) -> Iterator[Problem]:
    """Yield a problem if `accuracy.std` is given, since errors differ between counts.

    Messages name the tables as `called`.
    """
    if query.accuracy is not None and query.accuracy.std is not None:
        why = f"Not used with {called}, whose counts have a std each. Give half_width_95, which"
        yield f"{path}.accuracy.std", f"{why} all of them keep."


def excluded_problems(
    query: Query,
    path: str,
    *,
    key: str,
    called: str,
    counts: bool = True,
    suppresses: bool = False,
) -> Iterator[Problem]:
    """Problems of settings that can't be used with tables of sums.

    `key` is the key of the spec that asks for the tables; the problem of a histogram or of
    conditions is reported there. The other arguments are as in `form_problems`.
    """
    if query.histogram is not None or query.conditions:
        why = "Not allowed beside a histogram or conditions: give edges in group_by, or use another"
        yield key, f"{why} query."
    yield from form_problems(
        query, path, called=called.lower(), counts=counts, suppresses=suppresses
    )


def form_problems(
    query: Query, path: str, *, called: str, counts: bool = True, suppresses: bool = False
) -> Iterator[Problem]:
    """Problems of settings that change single numbers, so that tables would no longer add up.

    `counts` is True if all statistics are counts, the only numbers that can be made whole together.
    `suppresses` is True for tables in which `min_count` suppresses small cells. `path` is the
    query's key in the spec. Messages name the tables as `called`.
    """
    why = f"Not used with {called}: sums wouldn't add up."
    if query.top is not None:
        instead = "Give min_count, which suppresses small cells and keeps totals"
        choice = f"{instead}, or give" if suppresses else "Give"
        yield f"{path}.top", f"{why} {choice} top in another query."
    if query.min_count is not None and not suppresses:
        instead = (
            "Leave it out, or give it in another query. With margins of columns without levels"
        )
        yield f"{path}.min_count", f"{why} {instead} it suppresses small cells and keeps totals."
    if not counts:
        for name in ("round", "round_to", "clamp"):
            if getattr(query, name):
                yield f"{path}.{name}", f"{why} Counts alone are made whole: use a query of counts."
        return
    both = "Give round = true and clamp = true, for whole numbers that add up, none below 0."
    if query.round_to is not None:
        yield f"{path}.round_to", f"{why} {both}"
    if query.round != query.clamp:
        given, other = ("round", "clamp") if query.round else ("clamp", "round")
        alone = f"Not used with {called} without {other}: sums wouldn't add up."
        yield f"{path}.{given}", f"{alone} {both}"
