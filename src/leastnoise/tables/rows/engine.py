"""What the pipeline asks of an engine; the expressions themselves are narwhals', for any engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import narwhals as nw

from leastnoise.tables.expressions.computed import NOTHING, Computed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leastnoise.tables.expressions.computed import Use
    from leastnoise.tables.spec.values import ColumnType, Key


class Engine(ABC):
    """Runs lazy frames. It never raises an error that quotes what the frames hold."""

    def __init__(
        self,
        frame: nw.LazyFrame[Any],
        columns: Mapping[str, ColumnType],
        computed: Computed = NOTHING,
    ) -> None:
        """Take a frame that has the `columns` and what is `computed` beside them, by its place."""
        self._frame = frame
        self._types = {**columns, **computed.types}
        self._places = {name: place for place, name in enumerate(self._types)}
        self._filters = {text: f"f{place}" for place, text in enumerate(computed.filters)}

    @property
    def frame(self) -> nw.LazyFrame[Any]:
        """The typed rows; columns are called as `column` says, and unreadable values are NULL.

        They may be read once only.
        """
        return self._frame

    def column(self, name: str, use: Use) -> str:
        """Return what the frame calls the column `name` of the file where it has this use.

        By its place, since to engines names that differ in capitals are one, or a dot is a path.
        """
        return f"{use}{self._places[name]}"

    def holds(self, text: str) -> nw.Expr:
        """Return whether the filter of this `text` is true of a row."""
        return nw.col(self._filters[text])

    def has_value(self, name: str) -> nw.Expr:
        """Return whether the column `name` has a value: a finite number, or a text."""
        if self._types[name] == "text":
            return ~nw.col(self.column(name, "k")).is_null()
        return nw.col(self.column(name, "v")).is_finite()

    @abstractmethod
    def materialise(self, frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        """Return a frame with the rows of `frame`, computed once; it may spill to disk."""

    @abstractmethod
    def keys(self, values: Sequence[Key], *, key: str, index: str) -> nw.LazyFrame[Any]:
        """Return a frame of two columns: the public `values`, and their positions 0, 1, ….

        `key` has the type of the values; joined on it, a row finds its position.
        """

    @abstractmethod
    def counted(
        self, frame: nw.LazyFrame[Any], *, value: str, edges: Sequence[float], count: str
    ) -> nw.LazyFrame[Any]:
        """Return `frame` with a column `count`: how many of the increasing `edges` are <= `value`.

        Compared exactly, as float64; 0 where the value is NULL.
        """

    @abstractmethod
    def rows(self, frame: nw.LazyFrame[Any]) -> list[tuple[Any, ...]]:
        """Return the rows of a small result, in any order."""
