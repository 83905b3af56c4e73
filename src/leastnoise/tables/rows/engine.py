"""What the pipeline asks of an engine; the expressions themselves are narwhals', for any engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, final

import narwhals as nw

from leastnoise.tables.expressions.computed import NOTHING, Computed
from leastnoise.tables.spec.values import UNSEEN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leastnoise.tables.expressions.computed import Use
    from leastnoise.tables.spec.values import ColumnType, Key


class Engine(ABC):
    """Runs lazy frames. It never raises an error that quotes what the frames hold.

    `sums_are_wide` says that sums of int64 are wider than int64, so that none wraps around.
    """

    sums_are_wide: ClassVar[bool] = False

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
        """The typed rows, with columns called as `column` says.

        A value that can't be read is NULL, and so is a number that isn't finite: the casts of every
        engine remove these, so that nothing behind them meets NaN.

        They may be read once only, until they are `settled`.
        """
        return self._frame

    def column(self, name: str, use: Use) -> str:
        """Return what the frame calls the column `name` of the file where it has this use.

        By its place, since to engines names that differ in capitals are one, or a dot is a path.
        """
        return f"{use}{self._places[name]}"

    def holds(self, text: str) -> nw.Expr:
        """Return whether the filter of this `text` is true of a row."""
        return nw.col(self.filter_column(text))

    def filter_column(self, text: str) -> str:
        """Return what the frame calls the column that says whether a filter is true of a row."""
        return self._filters[text]

    def value_column(self, name: str) -> str:
        """Return what the frame calls the column that is NULL where `name` has no value."""
        return self.column(name, "k" if self._types[name] == "text" else "v")

    def has_value(self, name: str) -> nw.Expr:
        """True in a row where the column `name` has a value: a text, or a finite number."""
        return ~nw.col(self.value_column(name)).is_null()

    @contextmanager
    def scratch(self) -> Iterator[None]:
        """Drop, on leaving, the tables that were materialised meanwhile."""
        yield

    @property
    def reads_again(self) -> bool:
        """True if the frame may be read several times, and is the same each time.

        A source may be another by then: a file that is replaced, or a view of a sample. So no limit
        of a person is taken from one reading of it, and the sums from another.
        """
        return False

    @abstractmethod
    def settle(self, frame: nw.LazyFrame[Any]) -> None:
        """Copy `frame` in place of the engine's frame where rows can't be read again otherwise."""

    @abstractmethod
    def materialise(self, frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        """Return a frame with the rows of `frame`, computed once; it may spill to disk."""

    @abstractmethod
    def keys(self, values: Sequence[Key], *, key: str, index: str) -> nw.LazyFrame[Any]:
        """Return a frame of two columns: the public `values`, and their positions 0, 1, ….

        `key` has the type of the values; joined on it, a row finds its position.
        """

    @final
    def named(
        self, frame: nw.LazyFrame[Any], *, key: str, column: str, longest: int
    ) -> nw.LazyFrame[Any]:
        """Return the rows of `frame` whose `key` may be published, of the column so called.

        A text is at most `longest` bytes in UTF-8, and none of it is a control character.
        """
        frame = frame.filter(~nw.col(key).is_null())
        if self._types[column] != "text":
            return frame
        return self.readable(frame, text=key, longest=longest, without=UNSEEN)

    @abstractmethod
    def readable(
        self, frame: nw.LazyFrame[Any], *, text: str, longest: int, without: str
    ) -> nw.LazyFrame[Any]:
        """Return the rows of which `text` has at most so many bytes, and no such character."""

    @abstractmethod
    def hashed(
        self, frame: nw.LazyFrame[Any], *, columns: Sequence[str], salt: str, name: str
    ) -> nw.LazyFrame[Any]:
        """Return `frame` with a column `name`: SHA-256 of the salt and of what is in `columns`.

        Hashed are the bytes of the salt and then, for each column, the number of bytes of its
        text, a colon and these bytes. An engine may keep the first 128 bits alone: the hashes sort
        alike on every engine.
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
