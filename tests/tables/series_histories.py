"""Random histories of a series with running totals, by the real program in separate processes.

Releases are killed at each of their writes. Ledger and state are lost, copied, and replaced by
older copies. Two processes publish the same release, and the series is restarted. No period may
ever have two values.
"""

from __future__ import annotations

import importlib
import os
import random
import shutil
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise.errors import LeastnoiseError
from leastnoise.ledger.check import check_ledger
from leastnoise.ledger.ledger import Ledger
from leastnoise.ledger.series import LedgerSeries
from leastnoise.tables.publish import draws, prepare
from leastnoise.tables.rows import source
from tests.tables.register import (
    KILLED,
    PLACES,
    REFUSED,
    in_child,
    killed,
    make,
    put,
    release,
    release_in_child,
    start_child,
    values,
    wait_for,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from leastnoise.tables.layout.layout import Layout

STATE, LEDGER, COPY = "weekly.state", "v.ledger", "copy.state"


def import_all(folder: Path) -> None:
    """Import what a release imports, so that no child has to import it again."""
    make(folder)

    def work() -> None:
        release(folder).run()
        (folder / "modules").write_text("\n".join(sys.modules))

    in_child(work)
    for name in (folder / "modules").read_text().split():
        with suppress(ImportError):
            importlib.import_module(name)


class _NoRows:
    """A stand-in for the exact totals of rows: every count is 20."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        self.tell = tell

    @classmethod
    def of(cls, source: object, spec: object, *, tell: Callable[[str], object]) -> _NoRows:
        del source, spec
        return cls(tell)

    def vectors(self, layouts: Sequence[Layout]) -> list[NDArray[np.int64]]:
        return [np.full(layout.dimension, 20 << layout.bits) for layout in layouts]


def read_no_rows() -> None:
    """Patch this process so that it reads no rows: reading takes most time of a small release."""
    source.find_source = lambda *_, **__: object()
    prepare.try_queries = lambda *_, **__: None
    draws.ExactTotals = _NoRows


class History:
    """One history. A seed determines its steps, and `counts` counts the outcomes.

    Without `reads` the processes read no rows. All their writes stay unchanged.
    """

    def __init__(self, folder: Path, seed: int, *, reads: bool = True) -> None:
        self._start = (lambda: None) if reads else read_no_rows
        self.folder, self.draw = folder, random.Random(seed)
        self.stores = [folder / STATE, folder / LEDGER]
        self.counts = Counter[str]()
        self.ledger_was_put_back = False
        self._seen: dict[str, dict[str, str]] = {}
        self._copies: list[dict[str, bytes | None]] = []
        make(folder)

    def run(self, steps: int) -> None:
        """Take the steps, and check after each that no published value has changed."""
        actions = {
            self._release: 55,
            self._two_processes: 10,
            self._restart: 10,
            self._lose: 5,
            self._put_back: 20,
        }
        for _ in range(steps):
            self._copies.append({file.name: _content(file) for file in self.stores})
            (act,) = self.draw.choices([*actions], [*actions.values()])
            act()
            self.check()
        self._check_ledger()

    def check(self) -> None:
        """Assert that no period has two values, and that no value has disappeared."""
        now = values(self.folder)
        assert now.items() >= self._seen.items()
        self._seen = now

    def _check_ledger(self) -> None:
        """Assert that no release is entered twice, and that the series was charged once."""
        if self.ledger_was_put_back:
            with suppress(LeastnoiseError):
                check_ledger(self.folder / LEDGER)
            return
        check_ledger(self.folder / LEDGER)
        bodies = [entry.body for entry in Ledger(self.folder / LEDGER).history()]
        uses = [body["release"] for body in bodies if body["kind"] == "use"]
        assert uses == [*range(1, len(uses) + 1)]
        assert self._seen.keys() <= {str(number) for number in uses}
        charges = sum(body["kind"] == "series" for body in bodies)
        assert charges == 1 or (not charges and not uses)

    def _count(self, code: int) -> None:
        assert code in {0, KILLED, REFUSED}
        self.counts[{0: "done", KILLED: "killed", REFUSED: "refused"}[code]] += 1

    def _release(self) -> None:
        patch = killed(self.draw.choice(PLACES), after=self.draw.random() < 0.5)
        is_killed = self.draw.random() < 0.6

        def start() -> None:
            self._start()
            if is_killed:
                patch()

        self._count(release_in_child(self.folder, start))

    def _two_processes(self) -> None:
        """Two processes publish. When the slower has drawn, the faster one publishes.

        The faster process may have a copy of the state.
        """
        state, copy = self.folder / STATE, self.folder / COPY
        copies = state.exists() and self.draw.random() < 0.7
        if copies:
            shutil.copy(state, copy)
        drawn, goes_on = os.pipe(), os.pipe()
        name = self.draw.choice(["begin", "commit"])

        def slower() -> None:
            usual = getattr(LedgerSeries, name)

            def waits(*args: Any, **named: Any) -> Any:
                os.close(drawn[1])
                os.read(goes_on[0], 1)
                return usual(*args, **named)

            os.close(goes_on[1])
            self._start()
            setattr(LedgerSeries, name, waits)
            release(self.folder).run()

        def faster() -> None:
            os.close(goes_on[1])
            self._start()
            given = {"series": {"state": COPY}} if copies else {}
            release(self.folder, **given).run()

        child = start_child(slower)
        os.close(drawn[1])
        os.read(drawn[0], 1)  # until it waits, or has ended
        first = in_child(faster)
        os.close(goes_on[1])
        second = wait_for(child)
        for end in (drawn[0], goes_on[0]):
            os.close(end)
        self._count(first)
        self._count(second)
        self.counts["at once"] += 1
        if copy.exists() and first == 0 and self.draw.random() < 0.7:
            copy.replace(state)  # or the series must be restarted

    def _restart(self) -> None:
        self._count(in_child(lambda: release(self.folder).restart()))

    def _lose(self) -> None:
        self.stores[0].unlink(missing_ok=True)
        self.counts["lost"] += 1

    def _put_back(self) -> None:
        """Replace the ledger or the state by an older copy.

        The newest ledger returns afterwards.
        """
        file = self.draw.choice(self.stores)
        copy, now = self.draw.choice(self._copies), _content(file)
        put(file, copy[file.name])
        self._count(release_in_child(self.folder, self._start))
        self._count(in_child(lambda: release(self.folder).restart()))
        self.check()
        self.counts["put back"] += 1
        if file.name == LEDGER:
            put(file, now)
            self.ledger_was_put_back = True


def _content(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None
