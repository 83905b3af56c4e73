"""Copies of a golden release with one edited fact each, and the verdict on each folder.

After an edit the seal gets the new digests of all files, so that no other fact is false.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from tests.attacks import edits

ROWS = Path(__file__).parent.parent / "golden/releases/rows"
PLAN, CERTIFICATE, SEAL, TABLE = "plan.json", "certificate.json", "release.json", "visits.parquet"
Files = dict[str, bytes]
_BUDGET = ("epsilon", "delta")
_STD = 0.43489888364573054
_SDMX = "STRUCTURE,STRUCTURE_ID,ACTION,STATISTIC,STD_DEV\n"


def _with(record: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy of the record with `value` at `path`."""
    copy = json.loads(json.dumps(record))
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return copy


def _folder(
    *changes: tuple[str, tuple[Any, ...], Any], table: str = TABLE, text: str | None = None
) -> Files:
    """The release's files after edits of records and of the table, with a new seal."""
    files = {path.name: path.read_bytes() for path in ROWS.iterdir()}
    content = files.pop(TABLE)
    files[table] = content if text is None else text.encode()
    for name in (PLAN, CERTIFICATE):
        record = json.loads(files[name])
        for file, path, value in changes:
            record = _with(record, path, value) if file == name else record
        files[name] = json.dumps(record).encode()
    files = _sealed(files)
    seal = json.loads(files[SEAL])
    for file, path, value in changes:
        seal = _with(seal, path, value) if file == SEAL else seal
    return files | {SEAL: json.dumps(seal).encode()}


def _sealed(files: Files) -> Files:
    """The files with a new seal that has their digests."""
    digests = {n: hashlib.sha256(c).hexdigest() for n, c in files.items() if n != SEAL}
    seal = json.loads(files[SEAL]) | {"files": digests}
    return files | {SEAL: json.dumps(seal).encode()}


def _laplace(std: float, **part: Any) -> Files:
    """The folder with Laplace noise on 4 numbers; `part` replaces fields of the plan's part."""
    lines = (ROWS.parent.parent / "statements.jsonl").read_text().splitlines()
    record = next(e["record"] for e in map(json.loads, lines) if e["name"] == "laplace")
    law = {"noise": "laplace", "scale": record["noise"]["parameters"]["scale"]}
    here = ("noisy_parts", 0)
    changes = [(PLAN, (*here, key), value) for key, value in (law | part).items()]
    changes += [(file, (key,), record[key]) for file in (PLAN, CERTIFICATE) for key in _BUDGET]
    return _folder(
        (CERTIFICATE, ("draws", 0, "certificate"), record),
        (PLAN, (*here, "grid"), record["grid"]),
        (PLAN, (*here, "errors", 0, "std"), std),
        *changes,
    )


def _twice(std: float) -> Files:
    """The folder whose plan has the part twice, as two statistics with separate noise."""
    part = json.loads((ROWS / PLAN).read_text())["noisy_parts"][0]
    part["errors"][0]["std"] = std
    return _folder((PLAN, ("noisy_parts",), [part, part]))


def _series(planned: Any, *index: Any) -> Files:
    seal = [(SEAL, ("release",), number) for number in index]
    return _folder((PLAN, ("series",), {"releases": planned}), *seal)


@cache
def folders() -> dict[str, tuple[Files, str]]:
    """Folders and the verdicts on them, by a description of the edit."""
    part, csv = ("noisy_parts", 0), "region,count,{}\nn,1,{}\ns,0,{}\n"
    proved = {
        "as it was": _folder(),
        "an entry": _folder((SEAL, ("entry",), 1)),
        "the second of four releases": _series(4, 2),
        "the last of four releases": _series(4, 4),
        "a table in CSV": _folder(table="visits.csv", text=csv.format("count_std", _STD, _STD)),
        "an empty table": _folder(table="visits.csv", text=""),
        "labelled columns": _folder(
            table="visits.csv", text=csv.format("count_std: noise", _STD, _STD)
        ),
        "a table in JSON": _folder(table="visits.json", text=json.dumps([{"count_std": _STD}])),
        "SDMX": _folder(
            table="visits.csv", text=f"{_SDMX}a,b,c,count,{_STD}\na,b,c,sum_visits,7\n"
        ),
        "a workbook": _folder(table="tables.xlsx", text="a"),
        "a statistic without noise": _folder((PLAN, (*part, "errors", 0, "statistic"), "a")),
    }
    std = 2**0.5 * float.fromhex("0x1.7f3bafbb723bdp+0")  # of the golden statement "laplace"
    proved |= {
        "Laplace noise in 4 cells": _laplace(std, cells=4),
        "Laplace noise in 2 cells with means": _laplace(7, cells=2),
        "two parts of one name": _twice(7),
    }
    proved |= {
        f"{key}, whose errors aren't compared": _folder(
            (PLAN, (*part, key), []), (PLAN, (*part, "errors", 0, "std"), 7)
        )
        for key in ("margins", "cumulative", "levels")
    }
    rejected = {
        "another kind of seal": _folder((SEAL, ("kind",), "a")),
        "a list of files": _folder((SEAL, ("files",), [])),
        "entry 0": _folder((SEAL, ("entry",), 0)),
        "an entry as text": _folder((SEAL, ("entry",), "1")),
        "release 0": _series(4, 0),
        "release 5 of 4": _series(4, 5),
        "no release of 4": _series(4),
        "release 1 of 1": _folder((SEAL, ("release",), 1)),
        "0 releases": _series(0, 1),
        "4.0 releases": _series(4.0, 1),
        "another digest": _folder((SEAL, ("files", PLAN), "0" * 64)),
        "another plan's version": _folder((PLAN, ("version",), 2)),
        "another rule": _folder((PLAN, ("rule",), "a")),
        "a rho": _folder((PLAN, ("rho",), "1")),
        "another epsilon": _folder((PLAN, ("epsilon",), "4")),
        "another delta": _folder((PLAN, ("delta",), "1e-9")),
        "other neighbours": _folder(
            (PLAN, ("neighbours",), "replace-one"),
            (CERTIFICATE, ("draws", 0, "certificate", "neighbours"), "add-remove"),
        ),
        "other noise": _folder((PLAN, (*part, "noise"), "laplace")),
        "another scale": _folder((PLAN, (*part, "scale"), "2")),
        "another grid": _folder((PLAN, (*part, "grid"), "1")),
        "a table of another name": _folder(table="a.csv", text="a"),
        "a workbook of another name": _folder(table="a.xlsx", text="a"),
        "an empty unit": _folder((PLAN, ("unit",), "")),
        "dimension: true": _laplace(std, cells=4, dimension=True),
        "std as a list": _folder((PLAN, (*part, "errors", 0, "std"), [_STD])),
        "a table that is no list": _folder(table="visits.json", text="{}"),
        "a table of whole numbers": _folder(table="visits.json", text="[1]"),
        "a table without std": _folder(table="visits.csv", text=csv.format("a", 1, 1)),
        "a part of another name": _folder((PLAN, (*part, "name"), "a")),
        "keys without a table": _folder((PLAN, ("keys",), [{"name": "a"}])),
        "quantiles without a table": _folder((PLAN, ("quantiles",), [{"name": "a"}])),
        "std in the plan": _folder((PLAN, (*part, "errors", 0, "std"), _STD * (1 + 2e-6))),
        "std of Laplace noise": _laplace(7, cells=4),
        "std of persons": _folder(
            (PLAN, (*part, "errors", 0, "statistic"), "count_units"),
            (PLAN, (*part, "errors", 0, "std"), 7),
        ),
        "std in CSV": _folder(table="visits.csv", text=csv.format("count_std", _STD, 7)),
        "std of labelled columns": _folder(
            table="visits.csv", text=csv.format("count_std: noise", 7, _STD)
        ),
        "std in JSON": _folder(table="visits.json", text=json.dumps([{"count_std": 7}])),
        "std in SDMX": _folder(table="visits.csv", text=f"{_SDMX}a,b,c,count,7\n"),
    }
    for value in (None, True, 0, 1.5, [], ["add-remove"], {}):
        for key in ("neighbours", "unit", "noisy_parts", "quantiles", "keys", "series"):
            if value != [] or key not in {"quantiles", "keys"}:
                rejected[f"{key}: {value}"] = _folder((PLAN, (key,), value))
        rejected[f"draws: {value}"] = _folder((CERTIFICATE, ("draws",), value))
    for name in ("", ".", "..", "/etc/passwd", "a\\b", "a:b", "a\0b"):
        rejected[f"a file {name!r}"] = _folder((SEAL, ("files", name), "0" * 64))
    for name in (PLAN, CERTIFICATE, "spec.toml"):
        files = _folder()
        seal = json.loads(files[SEAL])
        del seal["files"][name]
        rejected[f"{name} not sealed"] = files | {SEAL: json.dumps(seal).encode()}
    known = {name: (files, "proved") for name, files in proved.items()}
    return known | {name: (files, "rejected") for name, files in rejected.items()}


_WRONG = (None, True, 0, 1.5, "", "x", [], ["x"], {})


def wrong_types(name: str) -> dict[str, Files]:
    """A golden release with values of several types in each field of its plan and certificate.

    In a list of records, only the first record with a field is edited.
    """
    files = {path.name: path.read_bytes() for path in (ROWS.parent / name).iterdir()}
    known = {}
    for file in (PLAN, CERTIFICATE, SEAL):
        record = json.loads(files[file])
        places = {tuple(k for k in p if type(k) is str): p for p in edits._paths(record)[::-1]}
        for path in places.values():
            for value in _WRONG:
                edited = files | {file: json.dumps(_with(record, path, value)).encode()}
                known[f"{file} {path} {value!r}"] = edited if file == SEAL else _sealed(edited)
    return known
