"""Files of SPSS, Stata and SAS, which pyreadstat reads in chunks.

Values are read one by one, so that no row changes how another is read. pyreadstat gives plain
numbers, from which days and instants are computed here. It gives each byte of a text as a letter of
Latin-1; texts are decoded here.

A value that can't be read is missing. So are system-missing and user-missing values of each
program, empty texts, and days outside the years 1 to 9999.
"""

from __future__ import annotations

import codecs
import math
import re
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

from leastnoise.errors import MissingLibrary, SourceError
from leastnoise.tables.rows.duckdb.copied import copy_chunks
from leastnoise.tables.rows.duckdb.inputs import Input
from leastnoise.tables.values.casts import StoredColumn, stored_column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    import duckdb

    from leastnoise.tables.rows.duckdb.inputs import RowReading
    from leastnoise.tables.spec.values import Encoding
    from leastnoise.tables.values.casts import FileRows

_READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
_VALUES_IN_CHUNK = 2_000_000  # values that Python holds at a time
_LABEL = "_label"  # the end of the name of a column of value labels
_ICONV: dict[Encoding, str] = {
    "utf-8": "UTF-8",
    "latin-1": "LATIN1",
    "windows-1252": "WINDOWS-1252",
}
_BYTES = "LATIN1"  # an encoding in which every byte is a letter
_WHOLE = {"int8", "int16", "int32"}
_SECONDS, _MICROS = 86_400, 86_400 * 10**6  # in a day
# Days from 1970-01-01 to the first day of each program's calendar.
_IN_SPSS, _IN_SAS = -141_428, -3_653
_FIRST, _LAST = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31
_SPSS_DAYS = re.compile(r"(A|E|S|J)?DATE\d*|MOYR\d*|QYR\d*|WKYR\d*")
_SPSS_INSTANTS = re.compile(r"(DATETIME|YMDHMS)[\d.]*")
_STATA_DAYS, _STATA_INSTANTS = re.compile(r"%-?t?d.*"), re.compile(r"%-?tc.*")
_SAS_INSTANTS = re.compile(r"(DATETIME|DATEAMPM|[BE]8601D[TNZX]|[NM]DYAMPM|TIMEAMPM)[\d.]*")
_SAS_DAYS = re.compile(
    r"(DATE|DAY|DDMMYY[BCDNPS]?|MMDDYY[BCDNPS]?|YYMMDD[BCDNPS]?|[BE]8601DA|JULDAY|JULIAN|MMYY[CDNPS]?"
    r"|MONYY|MONTH|MONNAME|QTRR?|WEEKDATX?|WEEKDATE|WEEKDAY|WEEK[UVW]|WORDDATX?|WORDDATE|YEAR"
    r"|YYMM[CDNPS]?|YYMON|YYQR?[CDNPS]?)[\d.]*"
)


@final
@dataclass(frozen=True, kw_only=True)
class _Variable:
    """A variable of the file, with its type and value labels.

    `letters` is its name with each byte as a letter of Latin-1, by which pyreadstat reads it.
    """

    name: str
    letters: str
    kind: str
    per_day: int = 1
    """For a day or an instant, the number of the file's units of time in one day."""
    origin: int = 0
    """For a day or an instant, the file's value 0 in days since 1970-01-01."""
    labels: Mapping[Any, str] | None = None

    @property
    def stored(self) -> str:
        """The DuckDB type of the column to which the values are copied."""
        if self.labels is not None or self.kind == "VARCHAR":
            return "VARCHAR"
        return {"DOUBLE": "DOUBLE", "INTEGER": "INTEGER"}.get(self.kind, "BIGINT")

    def column(self, at: int) -> StoredColumn:
        """The column at position `at` of the table."""
        if self.stored == "VARCHAR":
            return stored_column(f"c{at}", "VARCHAR")
        read = {
            "DATE": f"(DATE '1970-01-01' + c{at}::INTEGER)",
            "TIMESTAMP": f"make_timestamp(c{at})",
        }
        return StoredColumn(sql=read.get(self.kind, f"c{at}"), kind=self.kind, exact_kind=self.kind)

    def reader(self, encoding: str) -> Callable[[Any], Any]:
        """A function from a value as pyreadstat gives it to the value in the table."""
        if self.labels is not None:
            labels = self.labels
            if self.kind == "VARCHAR":
                return lambda value: labels.get(_decoded(value, encoding))
            return labels.get
        if self.kind == "VARCHAR":
            return lambda value: _decoded(value, encoding)
        if self.kind in {"DATE", "TIMESTAMP"}:
            return self._instant
        return _whole if self.kind == "INTEGER" else lambda value: value

    def _instant(self, value: float | None) -> int | None:
        """Convert a value to a day or an instant: to days or microseconds since 1970.

        None for a missing value, and for a year that is not between 1 and 9999.
        """
        if value is None or not math.isfinite(value):
            return None
        days, rest = divmod(value, self.per_day)
        day = int(days) + self.origin
        if not _FIRST <= day <= _LAST:
            return None
        if self.kind == "DATE":
            return day
        # clipped, since rounding must not give the next day
        within = min(round(rest * (_MICROS // self.per_day)), _MICROS - 1)
        return day * _MICROS + within


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _decoded(value: object, encoding: str) -> str | None:
    """Decode a text whose letters stand for bytes; None if it is empty or not in the encoding."""
    if not isinstance(value, str) or not value:
        return None
    try:
        return value.encode("latin-1").decode(encoding)
    except UnicodeError:
        return None


@final
@dataclass(frozen=True)
class StatisticalFile(Input):
    """A file of SPSS, Stata or SAS.

    A column with value labels has a second column, such as `region_label`, with their texts. It is
    left out if the file has a column of that name.
    """

    path: Path
    encoding: Encoding | None = None

    @property
    def name(self) -> str:
        return self.path.name

    def columns(self, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, StoredColumn]]:
        """The columns in the metadata."""
        del connection
        return [(variable.name, variable.column(0)) for variable in self._variables()[0]]

    def _read(self, **options: Any) -> tuple[Any, Any]:
        try:
            import pyreadstat  # noqa: PLC0415  # of an extra
        except ImportError:
            raise MissingLibrary(package="pyreadstat", extra="stat") from None
        read = getattr(pyreadstat, _READERS[self.path.suffix.lower()])
        return read(
            str(self.path), output_format="dict", disable_datetime_conversion=True, **options
        )

    def _variables(self) -> tuple[list[_Variable], str]:
        """The variables and the file's encoding, from its metadata.

        Raises SourceError if the metadata can't be read.
        """
        try:
            given = None if self.encoding is None else _ICONV[self.encoding]
            _, about = self._read(metadataonly=True, encoding=given)
            _, in_letters = self._read(metadataonly=True, encoding=_BYTES)
            codec = codecs.lookup(self.encoding or self._own_encoding(about.file_encoding)).name
        except SourceError:
            raise
        except LookupError:
            why = "has an encoding that Python doesn't know. Name it in data.encoding."
            raise SourceError(f"{self.name} {why}") from None
        except MissingLibrary:
            raise
        except Exception:  # noqa: BLE001  # pyreadstat's own errors, which may quote the file
            why = "can't be read: it may be damaged, or have another encoding (data.encoding)"
            raise SourceError(f"{self.name} {why}.") from None
        variables: list[_Variable] = []
        for name, letters in zip(about.column_names, in_letters.column_names, strict=True):
            variable = _variable(
                name,
                letters,
                str(about.readstat_variable_types[name]),
                str(about.original_variable_types[name]),
                suffix=self.path.suffix.lower(),
            )
            variables.append(variable)
            labels = about.variable_value_labels.get(name)
            label = f"{name}{_LABEL}"
            if labels and label not in about.column_names:
                texts = {value: str(text) for value, text in labels.items()}
                variables.append(replace(variable, name=label, labels=texts))
        return variables, codec

    def _own_encoding(self, stated: str | None) -> str:
        if stated is not None or self.path.suffix.lower() != ".dta":
            return stated or "utf-8"
        with self.path.open("rb") as file:  # Stata 13 and earlier had no UTF-8
            start = file.read(100)
        release = re.match(rb"<stata_dta><header><release>(\d+)<", start)
        return "utf-8" if release and int(release[1]) >= 118 else "windows-1252"

    @contextmanager
    def open_rows(self, reading: RowReading) -> Iterator[FileRows]:
        """Yield the used columns, copied to a table that DuckDB may spill."""
        every, encoding = self._variables()
        used = [variable for variable in every if variable.name in reading.used]
        columns = {
            variable.name: (variable.stored, variable.column(at))
            for at, variable in enumerate(used)
        }
        chunks = () if reading.rehearsed else self._chunks(used, every, encoding)
        yield copy_chunks(reading, columns, chunks)

    def _chunks(
        self, used: list[_Variable], every: list[_Variable], encoding: str
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows in chunks, with the used variables only.

        Raises OSError for a damaged file.
        """
        names = list(dict.fromkeys(variable.letters for variable in used or every[:1]))
        readers = [(variable.letters, variable.reader(encoding)) for variable in used]
        most, start = max(_VALUES_IN_CHUNK // max(len(names), 1), 1), 0
        while names:
            try:
                values, _ = self._read(
                    usecols=names, row_offset=start, row_limit=most, encoding=_BYTES
                )
            except Exception:  # noqa: BLE001  # pyreadstat's own errors, which may quote rows
                raise OSError("The file is damaged.") from None
            count = len(values[names[0]]) if values else 0
            read = [list(map(function, values[letters])) for letters, function in readers]
            if count:
                yield list(zip(*read, strict=True)) if read else [()] * count
            if count < most:
                return
            start += count


def _variable(name: str, letters: str, kind: str, form: str, *, suffix: str) -> _Variable:
    """The variable with the type `kind` of pyreadstat and the format `form` of its program.

    The program follows from `suffix`, the end of the file's name.
    """
    if kind == "string":
        return _Variable(name=name, letters=letters, kind="VARCHAR")
    if suffix in {".sav", ".zsav"}:
        origin, days = _IN_SPSS, {_SPSS_DAYS: ("DATE", _SECONDS)}
        days[_SPSS_INSTANTS] = ("TIMESTAMP", _SECONDS)
    elif suffix == ".dta":
        origin, days = _IN_SAS, {_STATA_DAYS: ("DATE", 1)}
        days[_STATA_INSTANTS] = ("TIMESTAMP", 1000 * _SECONDS)
    else:
        origin, days = _IN_SAS, {_SAS_DAYS: ("DATE", 1), _SAS_INSTANTS: ("TIMESTAMP", _SECONDS)}
    for pattern, (read_as, per_day) in days.items():
        if pattern.fullmatch(form):
            return _Variable(
                name=name, letters=letters, kind=read_as, per_day=per_day, origin=origin
            )
    return _Variable(name=name, letters=letters, kind="INTEGER" if kind in _WHOLE else "DOUBLE")
