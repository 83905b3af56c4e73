"""Limit the cells of a person: keep a few, chosen by a salted hash, if there are too many.

The salt is fresh for each release. So nobody can choose a key that is always kept, and no cell
loses more persons than others because of its position.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import narwhals as nw

from leastnoise.tables.rows.cells import UNIT

if TYPE_CHECKING:
    from typing import Any

    from leastnoise.entropy.source import Entropy
    from leastnoise.tables.rows.engine import Engine

_SALT_BITS = 256
_HASH, _PLACE, _CELLS = "hashed", "place", "cells"


def new_salt(entropy: Entropy) -> str:
    """A fresh salt, as hexadecimal digits."""
    return f"{entropy.bits(_SALT_BITS):0{_SALT_BITS // 4}x}"


def keep_few(
    engine: Engine, per_unit: nw.LazyFrame[Any], keys: list[str], most: int, *, salt: str
) -> nw.LazyFrame[Any]:
    """Keep at most `most` cells of each person: the cells with the smallest hashes.

    `per_unit` has an entry for each person and cell, and is read more than once. Its columns `keys`
    identify the cell. Only entries of persons in more than `most` cells are hashed, with the
    `salt`.
    """
    columns = per_unit.collect_schema().names()
    sizes = per_unit.group_by(UNIT).agg(nw.len().alias(_CELLS))
    over = sizes.filter(nw.col(_CELLS) > most).select(UNIT)
    many = engine.add_hash(
        per_unit.join(over, on=UNIT, how="semi"), columns=[UNIT, *keys], salt=salt, name=_HASH
    )
    placed = many.with_columns(nw.col(_HASH).rank("ordinal").over(UNIT).alias(_PLACE))
    kept = placed.filter(nw.col(_PLACE) <= most).select(*columns)
    return nw.concat([per_unit.join(over, on=UNIT, how="anti").select(*columns), kept])
