"""The rows of a Spark frame, a table of its catalog, or files that it reads; looked at by schema.

Sessions are the user's own, classic or Connect, whichever the frame or the name of the engine says.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from leastnoise.errors import SourceError
from leastnoise.tables.rows import spark_casts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from leastnoise.tables.values.casts import Held


@final
@dataclass(frozen=True)
class SparkRows:
    """Rows of a `frame` of Spark's.

    `files` says what the columns are where they come from files, also those that Spark can't read
    and the frame doesn't have.
    """

    name: str
    frame: Any = field(repr=False)  # Spark may be set to show rows
    files: Mapping[str, Held] | None = None
    typed: bool = True

    @property
    def kinds(self) -> list[tuple[str, str]]:
        """The names of the columns, which may stand twice, and Spark's names of their types."""
        return [(field.name, field.dataType.simpleString()) for field in self.frame.schema.fields]

    def columns(self) -> list[tuple[str, Held]]:
        """Return names and columns, from the schema alone; raises SourceError if there is none."""
        if self.files is not None:
            return list(self.files.items())
        with guarded(self.name):
            return [(name, spark_casts.held(kind)) for name, kind in self.kinds]

    def without_rows(self) -> SparkRows:
        """Return the same columns, and no rows."""
        return SparkRows(self.name, self.frame.limit(0), self.files, self.typed)


def functions_of(frame: Any) -> Any:
    """Return Spark's functions for the columns of that frame, which is classic or of Connect."""
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        from pyspark.sql.connect import functions as connect  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

        return connect
    from pyspark.sql import functions  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

    return functions


@contextmanager
def guarded(name: str = "", *, why: str | None = None) -> Iterator[None]:
    """Turn what Spark raises into a SourceError that quotes nothing: its messages have values.

    It says that `name` can't be read, or `why` where that is another reason.
    """
    try:
        yield
    except _errors():
        plain = f"{name} can't be read by Spark: it may be damaged, or the session has ended."
        raise SourceError(why or plain) from None


def _errors() -> tuple[type[Exception], ...]:
    """Return what Spark raises, an extra; py4j comes with classic Spark alone."""
    from pyspark.errors import PySparkException  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

    found: list[type[Exception]] = [PySparkException, OSError]
    with suppress(ImportError):
        from py4j.protocol import Py4JError  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

        found.append(Py4JError)
    return tuple(found)
