"""Rows in cells: what one unit does to counts of which each row raises one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, kw_only=True)
class Rows:
    """A unit moves whole numbers, one for each of disjoint cells, by at most `most` single moves.

    A move raises or lowers one cell by 1; with `replaced` it may lower one cell and raise another
    instead, as a row does that is replaced by one of another cell.
    """

    most: int
    replaced: bool = False
