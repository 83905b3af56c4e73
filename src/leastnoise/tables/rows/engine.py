"""The interface of an engine, which runs lazy frames of narwhals to sum rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, final

import narwhals as nw

from leastnoise.tables.expressions.computed import NOTHING, Computed
from leastnoise.tables.spec.values import UNSEEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from leastnoise.tables.expressions.computed import Use
    from leastnoise.tables.spec.values import ColumnType, Key


def sort_casts(casts: Iterable[str], columns: Sequence[str]) -> list[str]:
    """Sort names of casts by the names of their columns.

    The casts u0, k0 and v0, for example, are of the first of `columns`. In this order casts break
    ties between rows of a unit, so that ties break alike on every engine.
    """
    return sorted(casts, key=lambda cast: (columns[int(cast[1:])], cast))


class Engine(ABC):
    """The base of engines, which run lazy frames; their errors never quote data.

    `sums_are_wide` is True if sums of int64 are wider than int64, so that they can't wrap around.
    """

    sums_are_wide: ClassVar[bool] = False

    def __init__(
        self,
        frame: nw.LazyFrame[Any],
        columns: Mapping[str, ColumnType],
        computed: Computed = NOTHING,
    ) -> None:
        """Take a frame with the casts of `columns` and of `computed` columns, and the filters.

        `column` and `filter_column` say how its columns are named.
        """
        self._frame = frame
        self._types = {**columns, **computed.types}
        self._positions = {name: position for position, name in enumerate(self._types)}
        self._filters = {text: f"f{position}" for position, text in enumerate(computed.filters)}

    @property
    def frame(self) -> nw.LazyFrame[Any]:
        """The typed rows, with columns named as `column` says.

        A value that can't be read is NULL, and so is a number that isn't finite. Every engine's
        casts ensure this, so that later steps never meet NaN. The rows may be read only once,
        unless `can_reread`.
        """
        return self._frame

    def column(self, name: str, use: Use) -> str:
        """The name in the frame of the source's column `name`, cast for a use.

        It contains the column's position instead of its name, because some engines can't tell apart
        names that differ in capitals, or read a dot as a path.
        """
        return f"{use}{self._positions[name]}"

    def filter_holds(self, text: str) -> nw.Expr:
        """True for rows that pass the filter with this `text`."""
        return nw.col(self.filter_column(text))

    def filter_column(self, text: str) -> str:
        """The name of the frame's column that is true for rows that pass a filter."""
        return self._filters[text]

    def value_column(self, name: str) -> str:
        """The name of the frame's column that is NULL for rows in which `name` has no value."""
        return self.column(name, "k" if self._types[name] == "text" else "v")

    def has_value(self, name: str) -> nw.Expr:
        """True for rows in which the column `name` has a value: a text, or a finite number."""
        return ~nw.col(self.value_column(name)).is_null()

    @contextmanager
    def scratch(self) -> Iterator[None]:
        """A context at whose end an engine may drop the tables that were materialised in it."""
        yield

    @property
    def can_reread(self) -> bool:
        """True if the frame can be read several times with the same rows each time.

        A source may change between two readings: a file may be replaced, or a view may draw a
        sample. So a person's size, by which the person is bounded, and sums must come from the same
        reading.
        """
        return False

    @abstractmethod
    def copy_rows(self, frame: nw.LazyFrame[Any]) -> None:
        """Read from a copy of `frame` from now on, if the engine can keep such a copy."""

    @abstractmethod
    def materialise(self, frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        """The rows of `frame`, computed once; they may spill to disk."""

    @abstractmethod
    def keys(self, values: Sequence[Key], *, key: str, index: str) -> nw.LazyFrame[Any]:
        """A frame of the columns `key`, the public `values`, and `index`, their positions 0, 1, ….

        The column `key` has the type of the values, so that a join on it finds a row's position.
        """

    @final
    def keep_publishable_keys(
        self, frame: nw.LazyFrame[Any], *, key: str, column: str, longest: int
    ) -> nw.LazyFrame[Any]:
        """Drop the rows of `frame` whose `key` can't be published.

        The key is from the source's column `column`. It must not be NULL. A text must have at most
        `longest` bytes in UTF-8, and no character of `UNSEEN`.
        """
        frame = frame.filter(~nw.col(key).is_null())
        if self._types[column] != "text":
            return frame
        return self.keep_short_texts(frame, text=key, longest=longest, without=UNSEEN)

    @abstractmethod
    def keep_short_texts(
        self, frame: nw.LazyFrame[Any], *, text: str, longest: int, without: str
    ) -> nw.LazyFrame[Any]:
        """Keep the rows whose `text` is short and has no character that `without` matches.

        The text may have at most `longest` bytes in UTF-8. `without` is a regular expression.
        """

    @abstractmethod
    def add_hash(
        self, frame: nw.LazyFrame[Any], *, columns: Sequence[str], salt: str, name: str
    ) -> nw.LazyFrame[Any]:
        """Add a column `name` with the SHA-256 of the salt and the values of `columns`.

        The hashed bytes are the salt and then, for each column, the number of bytes of its text, a
        colon and these bytes. An engine may keep only the first 128 bits, since hashes need only
        sort alike on every engine.
        """

    @abstractmethod
    def add_edge_count(
        self, frame: nw.LazyFrame[Any], *, value: str, edges: Sequence[float], count: str
    ) -> nw.LazyFrame[Any]:
        """Add a column `count` with the number of increasing `edges` that are <= `value`.

        Values are compared exactly, as float64. The count is 0 if the value is NULL.
        """

    @abstractmethod
    def rows(self, frame: nw.LazyFrame[Any]) -> list[tuple[Any, ...]]:
        """The rows of a small result, in any order."""
