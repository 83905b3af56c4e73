"""A table that is joined to the rows of a source: at most one row of it stands beside each."""

from __future__ import annotations

from typing import final

from leastnoise.tables.spec.dialect import (
    DECIMAL,
    DELIMITER,
    ENCODING,
    HEADER,
    Decimal,
    Delimiter,
    Header,
)
from leastnoise.tables.spec.values import Encoding, Names, Section, Text, key

ON_SPARK = "Spark reads no join: join the frames in Spark, and let the result be the source."


@final
class Join(Section):
    """A table of which one row stands beside each row with the same value of the column `on`.

    Joined by the unit's own column, a person's row of it is part of that person's data, which the
    guarantee covers; by any other, the table has to be `public`. Where it has no row of a value, or
    several, its columns are missing.
    """

    source: Text | Names = key(
        "the joined table's file, pattern, folder or database", 'source = "persons.parquet"'
    )
    on: Text = key("the column by which it is joined, of both tables", 'on = "person"')
    public: bool = key("whether it is public, and no person's data", "public = true", default=False)
    table: Text | None = key("the table of a database", 'table = "persons"', default=None)
    encoding: Encoding | None = ENCODING
    delimiter: Delimiter | None = DELIMITER
    decimal: Decimal | None = DECIMAL
    header: Header | None = HEADER

    @property
    def sources(self) -> tuple[str, ...]:
        """The texts of the source."""
        return (self.source,) if isinstance(self.source, str) else self.source

    def in_words(self, name: str) -> str:
        """Return what stands beside each row, of the table that the spec calls `name`."""
        row = f"Each row has the row of {name} with the same {self.on} beside it, if there is one"
        if self.public:
            return f"{row} alone: {name} is public, and not protected."
        return f"{row} alone: it is protected as part of its {self.on}'s data."
