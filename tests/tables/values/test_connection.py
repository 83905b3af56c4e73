"""Cursors of the DuckDB connection that a process keeps."""

from __future__ import annotations

import os

import duckdb
import pandas as pd
import pytest

from leastnoise.tables.values import connection

FRAME = pd.DataFrame({"k": ["a", "b"]})


def test_no_cursor_sees_what_another_was_given() -> None:
    with connection.open_cursor() as first:
        first.register("the_frame", FRAME)
        assert first.table("the_frame").fetchall() == [("a",), ("b",)]
        with (
            connection.open_cursor() as second,
            pytest.raises(duckdb.CatalogException),
        ):
            second.table("the_frame")
    with connection.open_cursor() as third, pytest.raises(duckdb.CatalogException):
        third.table("the_frame")


def test_a_database_that_is_closed_is_opened_anew() -> None:
    connection._keep_connection(os.getpid()).close()
    for _ in range(2):
        with connection.open_cursor() as cursor:
            assert cursor.execute("SELECT 2").fetchall() == [(2,)]


def test_a_limit_on_memory_holds_in_its_own_database() -> None:
    setting = "SELECT current_setting('memory_limit')"
    with connection.open_cursor(memory_limit="1GB") as cursor:
        small = cursor.execute(setting).fetchall()
    with connection.open_cursor() as cursor:
        assert cursor.execute(setting).fetchall() != small
    with connection.open_cursor(memory_limit="1GB") as cursor:
        assert cursor.execute(setting).fetchall() == small


def test_a_process_of_its_own_has_a_connection_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    with connection.open_cursor():
        here = connection._keep_connection(os.getpid())
        monkeypatch.setattr(os, "getpid", lambda: -1)
        with connection.open_cursor():
            assert connection._keep_connection(-1) is not here
