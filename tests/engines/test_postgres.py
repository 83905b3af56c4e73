"""Tables of a real PostgreSQL server have a file's integers, and no row causes an error."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import leastnoise as ln
from leastnoise.errors import InvalidInput, SourceError, SpecError
from leastnoise.tables.rows.duckdb.postgres import ENCODINGS
from tests.engines import postgres
from tests.tables.integers import integers
from tests.tables.rows.test_bounding import LIMITS, QUERIES, rows, spec_of
from tests.tables.several import ROWS, raw_spec

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module", params=["UTF8", "LATIN1"])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    with postgres.server(request.param) as result:
        yield result


def run(address: str, *statements: str) -> None:
    from adbc_driver_postgresql import dbapi  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

    with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in ("SET client_encoding = 'UTF8'", *statements):
            cursor.execute(statement)


def filled(address: str, name: str, frame: Any) -> None:
    import pyarrow as pa  # noqa: PLC0415
    from adbc_driver_postgresql import dbapi  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

    with dbapi.connect(address) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest(name, pa.Table.from_pandas(frame, preserve_index=False), mode="replace")
        connection.commit()


def opened(folder: Path) -> ln.Ledger:
    """A ledger with room for a few releases."""
    ledger = ln.Ledger(folder / "b.ledger")
    ledger.open_account("rows", unit="row", budget=ln.Budget(epsilon=10_000))
    return ledger


def release(folder: Path, address: str, table: str, query: list[dict[str, Any]]) -> Any:
    """A release of so little noise that the counts can be read off, charged to that ledger."""
    return ln.Release(
        data={"source": address, "table": table},
        privacy={"unit": "row", "epsilon": "1000", "ledger": {"path": "b.ledger"}},
        query=query,
        folder=folder,
    ).run()


def test_every_block_has_the_integers_of_a_file(address: str, tmp_path: Path) -> None:
    frame = rows(400, seed=6)
    frame.to_parquet(tmp_path / "rows.parquet")
    filled(address, "the rows", frame)
    for limits in (LIMITS[3], LIMITS[6]):
        raw = spec_of(contribution=limits, query=QUERIES[:9])
        expected = integers(raw, tmp_path)
        raw["data"] = {"source": address, "table": "public.the rows"}
        assert integers(raw, tmp_path) == expected


def test_what_a_server_holds_is_never_an_error(address: str, tmp_path: Path) -> None:
    """Infinite dates, numerics that are no number, padding, long texts, and letters of Latin-1."""
    run(
        address,
        "DROP TABLE IF EXISTS odd",
        "CREATE TABLE odd (who numeric(38,0), x numeric(10,2), town varchar(5000), pad char(6), "
        "day date, id uuid, price money, at timestamp, free numeric, few varchar(9)[])",
        "INSERT INTO odd VALUES "
        "(1, 2.25, 'é', 'ab', '2026-01-31', '00000000-0000-0000-0000-000000000001', 3, "
        "'2026-01-31', 1), "
        "(2, 'NaN', repeat('x', 4997), 'ab', 'infinity', NULL, NULL, 'infinity', '1e400'), "
        "(99999999999999999999999999999999999998, 4, 'é', NULL, '0044-03-15 BC', NULL, 1, "
        "'0044-03-15 BC', 1),"
        "(99999999999999999999999999999999999999, 8, 'é', 'ab', '-infinity', NULL, 1, NULL, 'NaN')",
    )
    raw = raw_spec(address) | {"contribution": {"max_rows": 1}}
    raw["data"] |= {"table": "odd", "types": {"who": "int"}}
    raw["query"] = [
        {"name": "towns", "statistics": ["count", "sum(x)"], "group_by": {"town": ["é", "x"]}},
        {"name": "pads", "statistics": ["count"], "group_by": {"pad": ["ab", "ab    "]}},
        {"name": "days", "statistics": ["count"], "group_by": {"day": ["2026-01-31", "infinity"]}},
        {
            "name": "ids",
            "statistics": ["count"],
            "group_by": {"id": ["00000000-0000-0000-0000-000000000001"]},
        },
    ]
    results = {name.split()[0]: vector for name, vector in integers(raw, tmp_path).items()}
    stamped = raw | {"derive": {"year": "year(at)"}}
    stamped["query"] = [{"name": "q", "statistics": ["count"], "group_by": {"year": [2026, -43]}}]
    assert list(integers(stamped, tmp_path).values()) == [[1, 0]]
    item = results["ids"][0]
    assert results["pads"] == [3 * item, 0]
    assert results["days"] == [item, 0]
    assert results["towns"][0] == 3 * 2**28
    for column in ("price", "at", "free", "few"):
        raw["query"] = [{"name": "q", "statistics": [f"sum({column})"]}]
        raw["columns"] = {column: {"bounds": [0, 1]}}
        with pytest.raises(SpecError, match=f"column '{column}' holds"):
            integers(raw, tmp_path)


def test_errors_quote_nothing_and_change_nothing(address: str, tmp_path: Path) -> None:
    filled(address, "visits", ROWS)
    run(
        address,
        "CREATE OR REPLACE VIEW failing AS SELECT who, year::bigint, "
        "(CASE WHEN who = 3 THEN 'Ada' ELSE '1' END)::float8 AS x FROM visits",
    )
    raw = raw_spec(address)
    raw["data"]["table"] = "failing"
    with pytest.raises(SourceError, match="failing in PostgreSQL can't be read") as caught:
        integers(raw, tmp_path)
    assert "Ada" not in str(caught.value)
    raw["data"]["table"] = "none"
    with pytest.raises(SourceError, match="has no table 'none'"):
        integers(raw, tmp_path)
    raw["data"] = {"source": "postgresql://tester@127.0.0.1:1/postgres", "table": "visits"}
    with pytest.raises(SourceError, match="PGPASSWORD"):
        integers(raw, tmp_path)


def test_what_was_known_before_is_not_charged_for(address: str, tmp_path: Path) -> None:
    """Names that differ in capitals are two columns; a table that nobody may read is refused."""
    run(
        address,
        "DROP TABLE IF EXISTS capitals, closed",
        'CREATE TABLE capitals (k int, "K" int)',
        "INSERT INTO capitals VALUES (1, 2), (1, 2)",
        "CREATE TABLE closed (k int)",
        "DROP ROLE IF EXISTS nobody_in_particular",
        "CREATE ROLE nobody_in_particular LOGIN",
    )
    ledger = opened(tmp_path)

    def released(source: str, table: str, *columns: str) -> Any:
        query = [
            {"name": f"q{at}", "statistics": ["count"], "group_by": {column: [1, 2]}}
            for at, column in enumerate(columns)
        ]
        return release(tmp_path, source, table, query)

    tables = released(address, "capitals", "k", "K").tables
    assert tables["q0"].columns["count"] == pytest.approx([2, 0], abs=0.5)
    assert tables["q1"].columns["count"] == pytest.approx([0, 2], abs=0.5)
    assert ledger.accounts()["rows"].charges == 1
    other = address.replace("tester@", "nobody_in_particular@")
    with pytest.raises(InvalidInput, match=r"can't be run: .* Nothing was spent"):
        released(other, "closed", "k")
    assert ledger.accounts()["rows"].charges == 1


def test_every_byte_of_the_encodings_that_are_taken_is_a_letter(address: str) -> None:
    """The server's own maps say so. No text of such a database can be missing from them."""
    for item in ENCODINGS - {"UTF8"}:
        letters = f"length(convert(set_byte('\\x00'::bytea, 0, n), '{item}', 'UTF8'))"
        counted = f"SELECT sum({letters}) FROM generate_series(1, 255) n"
        run(address, f"DO $$ BEGIN EXECUTE $x$ {counted} $x$; END $$")


@pytest.mark.parametrize("encoding", ["WIN1252", "SQL_ASCII"])
def test_a_database_of_bytes_that_are_no_letters_is_refused_before_the_charge(
    tmp_path: Path, encoding: str
) -> None:
    """One such byte in a row decided whether a release was made."""
    query = [{"name": "q", "statistics": ["count"], "group_by": {"town": ["a"]}}]
    ledger = opened(tmp_path)
    with postgres.server(encoding) as address:
        run(
            address,
            "CREATE TABLE towns (town text)",
            f"INSERT INTO towns VALUES ('a'), (convert_from('\\x81'::bytea, '{encoding}'))",
        )
        with pytest.raises(SourceError, match=f"encoding {encoding}, .* database in UTF8"):
            release(tmp_path, address, "towns", query)
    assert ledger.accounts()["rows"].charges == 0
