"""What each key of a spec means, and TOML that gives it: for errors and for the JSON Schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, final

from leastnoise.tables.spec.model import (
    Accuracy,
    Assumed,
    Bands,
    Column,
    Contribution,
    Data,
    Histogram,
    LedgerAccount,
    Output,
    Predicate,
    Privacy,
    PrivateKeys,
    Query,
    Spec,
)
from leastnoise.tables.statistics.registry import SPELLINGS

if TYPE_CHECKING:
    from pydantic import BaseModel


@final
class Words(NamedTuple):
    """What a key means, without a full stop, and how it may be written."""

    meaning: str
    example: str


WORDS: dict[type[BaseModel], dict[str, Words]] = {
    Spec: {
        "version": Words("the version of this format", "version = 1"),
        "data": Words("where the rows are", '[data]\nsource = "visits.parquet"'),
        "privacy": Words(
            "whom the guarantee protects, and how far", '[privacy]\nunit = "person"\nepsilon = "1"'
        ),
        "contribution": Words("what one person can add at most", "[contribution]\nmax_rows = 5"),
        "columns": Words("what the public knows of columns", "[columns.visits]\nbounds = [0, 30]"),
        "query": Words(
            "what is published, a block a table",
            '[[query]]\nname = "all"\nstatistics = ["count"]',
        ),
        "output": Words("the directory of the release", '[output]\npath = "out"'),
    },
    Data: {
        "source": Words(
            "a file, a pattern, a folder, a list of these, or a database, relative to the spec",
            'source = "visits.parquet"',
        ),
        "table": Words("the table of a database", 'table = "visits"'),
        "engine": Words("what reads the rows: duckdb, polars or spark", 'engine = "duckdb"'),
        "encoding": Words(
            "the encoding of a CSV that isn't UTF-8: latin-1 or windows-1252",
            'encoding = "latin-1"',
        ),
        "types": Words(
            "the type of each column that is used, for CSV and SQLite, which say none",
            'types = { person = "int", visits = "float" }',
        ),
    },
    Privacy: {
        "unit": Words(
            'the column that identifies a person, or "row" if each row is one',
            'unit = "person"',
        ),
        "unit_is": Words('which is meant, if a column is called "row"', 'unit_is = "column"'),
        "neighbours": Words(
            "which tables nobody can tell apart: with one person more, or with one replaced",
            'neighbours = "add-remove"',
        ),
        "epsilon": Words(
            'ε of the whole release, or "least" if every block has an accuracy', 'epsilon = "1"'
        ),
        "delta": Words("δ of the whole release, 0 if it isn't given", 'delta = "1e-6"'),
        "ledger": Words("the ledger to charge", 'ledger = { path = "visits.ledger" }'),
    },
    LedgerAccount: {
        "path": Words("the ledger's file, relative to the spec", 'path = "visits.ledger"'),
        "dataset": Words("the account, if the ledger has several", 'dataset = "visits"'),
        "plan": Words("the number of the plan that this release is part of", "plan = 1"),
    },
    Contribution: {
        "max_rows": Words("the most rows of one person", "max_rows = 5"),
        "max_groups": Words("the most groups of a block that one person is in", "max_groups = 2"),
        "max_rows_per_group": Words(
            "the most rows of one person in one group", "max_rows_per_group = 1"
        ),
        "l1": Words("the largest l1 norm of what one person adds to a block", "l1 = 3"),
        "l2": Words("the largest l2 norm of what one person adds to a block", "l2 = 3"),
    },
    Column: {
        "bounds": Words("public bounds, which values are clamped to", "bounds = [0, 30]"),
        "missing": Words(
            'what NULL, NaN and unreadable values do: "skip", a number that they become, or "none" '
            "for the promise that there are none",
            'missing = "skip"',
        ),
    },
    Query: {
        "name": Words("the name of the block's table", 'name = "use_by_plan"'),
        "weight": Words("how much its errors count beside other blocks'", "weight = 2"),
        "accuracy": Words("how far off its numbers may be", "accuracy = { half_width_95 = 10 }"),
        "assume": Words(
            "for how many values in a group to show a mean's error", "assume = { n = 4000 }"
        ),
        "statistics": Words(
            SPELLINGS,
            'statistics = ["count", "mean(visits)"]',
        ),
        "group_by": Words(
            'public keys by column, a file of keys, edges of bands, or keys = "private"',
            "group_by = { plan = [1, 2, 3] }",
        ),
        "histogram": Words(
            "counts of rows per bin", 'histogram = { column = "visits", edges = [0, 5, 30] }'
        ),
        "where": Words(
            "named conditions, which may overlap", "where = { often = { visits = { min = 10 } } }"
        ),
        "max_conditions": Words(
            "in how many of the conditions one person counts", "max_conditions = 2"
        ),
        "round": Words("whether counts are published whole", "round = true"),
        "clamp": Words("whether negative counts and sums are published as 0", "clamp = true"),
    },
    Histogram: {
        "column": Words("the column that is counted by", 'column = "visits"'),
        "edges": Words("the edges of the bins [a, b), the last one closed", "edges = [0, 5, 30]"),
    },
    Bands: {
        "edges": Words("the edges of the bands [a, b), the last one closed", "edges = [0, 18, 65]"),
    },
    PrivateKeys: {
        "keys": Words(
            "that the keys are data: a group is published where its noisy count is large enough",
            'keys = "private"',
        ),
        "longest": Words("the most bytes of a text that is a key", "longest = 16"),
    },
    Predicate: {
        "min": Words("the least value that satisfies it", "min = 1"),
        "max": Words("the largest value that satisfies it", "max = 10"),
        "below": Words("what values that satisfy it are less than", "below = 100"),
        "among": Words("the public keys that satisfy it", "among = [1, 2]"),
    },
    Accuracy: {
        "half_width_95": Words(
            "half of the width of an interval that holds 95 % of the noise", "half_width_95 = 10"
        ),
        "std": Words("the standard deviation", "std = 5"),
        "statistic": Words("of which statistic alone", 'statistic = "count"'),
    },
    Assumed: {"n": Words("how many values are in a group", "n = 4000")},
    Output: {
        "path": Words("a directory that doesn't exist yet, relative to the spec", 'path = "out"'),
        "format": Words("the format of the tables", 'format = "csv"'),
        "report": Words("whether `leastnoise release` writes a page, too", "report = true"),
    },
}


def missing(model: type[BaseModel], key: str) -> str:
    """Return what an error says of a key that has to be there and isn't."""
    words = WORDS[model][key]
    return f"Missing: {words.meaning}. Write {_in_one_line(words.example)}"


def write(model: type[BaseModel], key: str) -> str:
    """Return what an error tells to write in place of a value that can't be read."""
    return f"Write it like {_in_one_line(WORDS[model][key].example)}"


def _in_one_line(example: str) -> str:
    header, *keys = example.split("\n")
    return f"{header} with {' and '.join(keys)}" if keys else header
