"""Plans for the page: one process answers the newest request, with the command line's errors.

The process is `python -m leastnoise.cli.design_page.planner FOLDER`. It reads the texts of a form
as a line of JSON, and writes its answer as another. A plan reads the header of the source and no
row.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from leastnoise import _words
from leastnoise.cli import records
from leastnoise.cli import release as releases
from leastnoise.cli.design_page import form
from leastnoise.cli.terminal import describe_location
from leastnoise.errors import LeastnoiseError, SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from leastnoise.tables.values.casts import StoredColumn

# seconds that a plan may still take after a newer request; a new process starts in one second
_PATIENCE = 3.0
_ENDED = "Internal error (the process that plans has ended). Please report it."
_CSV_KEYS = ("source", "table", "encoding", "delimiter", "decimal", "header")
_HEADER = (
    "Names are the first line of the CSV. If that line is a row, give the names as header, and "
    "don't share this page: it quotes the line."
)


@final
class Planner:
    """Plans in a separate process; only the newest request gets a plan."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._turn = threading.Lock()  # locked by the thread that talks to the process
        self._process: subprocess.Popen[str] | None = None
        self._newest = 0

    def plan(self, texts: object) -> dict[str, Any] | None:
        """Plan the spec of a form's texts: see `answer`.

        None if a newer request came before the end.
        """
        self._newest = number = self._newest + 1
        while not self._turn.acquire(timeout=_PATIENCE):
            if number != self._newest:
                return None
            self.stop()  # a thread that waits for the old plan then gives up
        try:
            shown = self._ask(texts) if number == self._newest else {}
        finally:
            self._turn.release()
        return (shown or {"error": _ENDED, "problems": []}) if number == self._newest else None

    def _ask(self, texts: object) -> dict[str, Any]:
        """Ask the process, and return its answer; {} if the process ended or was stopped."""
        if self._process is not None and self._process.poll() is not None:
            self._forget()
        if self._process is None:
            self._process = subprocess.Popen(  # noqa: S603 (this program)
                [sys.executable, "-P", "-m", __name__, str(self._folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
            )
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("the process has pipes")
        try:
            print(json.dumps(texts), file=stdin, flush=True)
            return json.loads(stdout.readline())
        except (OSError, ValueError):
            self._forget()
            return {}

    def stop(self) -> None:
        """End the process, and with it a plan in progress."""
        if (process := self._process) is not None:
            process.kill()
            process.wait()

    def close(self) -> None:
        """End the process, and close its pipes."""
        self.stop()
        with self._turn:
            self._forget()

    def _forget(self) -> None:
        """End the process if it still runs, and close its pipes."""
        if self._process is not None:
            with self._process, suppress(OSError):
                self._process.kill()
            self._process = None


def answer(texts: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The columns of the source, the spec as TOML, and the plan or its errors, as JSON values."""
    shown: dict[str, Any] = {"columns": [], "problems": []}
    try:
        record = form.read_record(texts)
        shown |= _describe_columns(record, folder)
        shown["toml"] = form.write_toml(record)
        shown["plan"] = _plan(record, folder)
    except SpecError as error:
        problems = [(key, _words.plain(message)) for key, message in error.problems]
        shown |= {"error": str(error), "problems": problems}
    except LeastnoiseError as error:
        shown["error"] = str(error)
    except Exception as error:  # noqa: BLE001 (its message could quote data)
        shown["error"] = f"Internal error ({describe_location(error)}). Please report it."
    return shown


def _plan(record: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    from leastnoise.tables.plan import summary
    from leastnoise.tables.publish.release import Release

    release = Release(**record, folder=folder)
    planned = release.plan()
    sentences = summary.list_sentences(planned)
    needed = release.needed_epsilon()
    if needed is not None:
        sentences.append(records.say_needed(needed))
    try:
        ledger = releases.describe_ledger(release, planned)
    except LeastnoiseError as error:
        ledger = str(error)
    return {
        "guarantee": summary.whole_guarantee(planned),
        "heads": summary.HEADS,
        "rows": summary.list_rows(planned),
        "sentences": [_words.plain(text) for text in (*sentences, ledger) if text],
        "weak": [*summary.weak_promises(planned.budget.epsilon, release.spec.privacy)],
    }


def _describe_columns(record: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The columns of the source, its joined tables and [derive], from headers and metadata.

    For a CSV, the result also has a hint about its first line, and its guessed delimiter.
    """
    from leastnoise.tables.rows import starter

    columns: dict[str, dict[str, Any]] = {}
    hint, delimiter = "", None
    for data, stored, typed, is_main in _read_headers(record, folder):
        if is_main and not typed:
            hint, delimiter = _HEADER, starter.guess_delimiter(data, stored)
        for name, column in stored.items():
            known = typed and column.type is not None
            columns.setdefault(
                name,
                {
                    "name": name,
                    "shown": _words.plain(name),
                    "kind": _words.plain(column.kind) if typed else "",
                    "types": column.declarable_types(),
                    "needed": not known and is_main and bool(column.declarable_types()),
                },
            )
    for name in record.get("derive", {}):
        columns[name] = {"name": name, "shown": _words.plain(name), "kind": "computed"}
    return {"columns": [*columns.values()], "hint": hint, "delimiter": delimiter}


def _read_headers(
    record: Mapping[str, Any], folder: Path
) -> Iterator[tuple[Any, dict[str, StoredColumn], bool, bool]]:
    """Yield each source that can be read, its columns, and two facts.

    The first is True if the columns have types, the second for the main source: not a joined table.
    """
    from pydantic import ValidationError

    from leastnoise.tables.rows import source
    from leastnoise.tables.spec.model import Data

    joined = record["data"].get("join")
    joined = joined.values() if isinstance(joined, dict) else ()
    for section in (record["data"], *joined):
        # the plan reports this problem
        with suppress(LeastnoiseError, ValidationError, AttributeError):
            data = Data(**{key: section[key] for key in _CSV_KEYS if section.get(key)})
            if data.source is not None:
                rows = source.find_rows(data, folder)
                typed = getattr(rows, "typed", True)
                yield data, source.list_columns(rows), typed, section is record["data"]


def main() -> None:
    """Answer one line after another, until the page's server ends."""
    os.chdir(sys.argv[1])  # so that errors name files as the command line does in that folder
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line), Path())), flush=True)  # noqa: T201 (the answer)


if __name__ == "__main__":
    main()
