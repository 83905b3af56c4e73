"""Search a grid of settings for cliffs: plans and comparisons that take long for no good reason.

python -m benchmarks.cliffs --most 60

Every setting runs in a separate process under a limit of CPU seconds, with an empty cache of
designs, as in a user's first call. The seed decides the order, so that the first settings are a
sample of the whole grid. A setting is listed if it takes more than 5 s, is refused only after more
than 1 s, or needs more than 500 MB.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from types import FrameType
from typing import Any, Self

import leastnoise as ln
from benchmarks.timing import print_rows
from leastnoise.errors import InvalidArgument, InvalidInput, Refused
from leastnoise.guarantees.sensitivity import Sensitivity
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan

EPSILONS = ("1e-4", ".01", "1", "10", "50")
DELTAS = ("0", "1e-12", "1e-6", ".1")
CELLS = (1, 20, 1000)  # cells of a table, conditions, bins, or coordinates of a vector
MAX_ROWS = (1, 5, 50)  # rows of a person, or coordinates that a person moves
QUERIES = (1, 3, 10)  # queries of a plan, or releases of a comparison
RELATIONS = ("add-remove", "replace-one")
TABLES = ("count", "mean", "count_units", "conditions", "cumulative")
VECTORS = ("l1", "l2", "linf", "counting")

SLOW, SLOW_REFUSAL, LARGE = 5.0, 1.0, 500 * 2.0**20
INTERVAL = 0.05  # CPU seconds between two samples of the call stack


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One call: a plan of tables, or a comparison for a vector."""

    kind: str
    epsilon: str
    delta: str
    cells: int
    max_rows: int
    queries: int
    relation: str

    def __str__(self) -> str:
        call = "compare" if self.kind in VECTORS else "plan"
        return (
            f"{call} {self.kind}: ε = {self.epsilon}, δ = {self.delta}, {self.cells} cells, "
            f"max_rows {self.max_rows}, {self.queries} queries, {self.relation}"
        )

    def run(self) -> None:
        if self.kind in VECTORS:
            ln.compare(
                epsilon=self.epsilon,
                delta=self.delta,
                sensitivity=self._sensitivity(),
                dimension=self.cells,
                compositions=self.queries,
            )
            return
        plan(
            spec_file.lay_out(
                {
                    "version": 1,
                    "data": {"source": "x.parquet"},  # never opened
                    "privacy": {
                        "unit": "person",
                        "epsilon": self.epsilon,
                        "delta": self.delta,
                        "neighbours": self.relation,
                    },
                    "contribution": {"max_rows": self.max_rows},
                    "columns": {"x": {"bounds": [0, 1]}},
                    "query": [self._query(f"q{i}") for i in range(self.queries)],
                }
            )
        )

    def _sensitivity(self) -> Sensitivity:
        moved = min(self.max_rows, self.cells)
        match self.kind:
            case "l1":
                return ln.L1(1)
            case "l2":
                return ln.L2(1)
            case "linf":
                return ln.Linf(1, l0=moved)
        return ln.CountingQueries(dimension=self.cells, max_nonzero=moved, neighbours=self.relation)

    def _query(self, name: str) -> dict[str, Any]:
        if self.kind == "conditions":
            conditions = {f"c{i}": {"x": {"min": i / self.cells}} for i in range(self.cells)}
            return {"name": name, "conditions": conditions}
        if self.kind == "cumulative":
            edges = list(range(self.cells + 1))
            bins = {"column": "y", "edges": edges, "cumulative": True}
            return {"name": name, "histogram": bins}
        query = {"name": name, "statistics": ["mean(x)" if self.kind == "mean" else self.kind]}
        return query | {"group_by": {"key": list(range(self.cells))}} if self.cells > 1 else query


def list_settings() -> Iterator[Setting]:
    """Yield every setting of the grid, but no two settings that differ only in unused parts."""
    for kind in (*TABLES, *VECTORS):
        for epsilon, delta, cells, most, queries, relation in product(
            EPSILONS, DELTAS, CELLS, MAX_ROWS, QUERIES, RELATIONS
        ):
            relations_matter = kind not in {"l1", "l2", "linf"}
            limits_matter = kind not in {"l1", "l2", "cumulative"}
            if relation != RELATIONS[0] and not relations_matter:
                continue
            if most != MAX_ROWS[0] and not limits_matter:
                continue
            if kind in VECTORS and most > cells:  # the same as all coordinates
                continue
            yield Setting(
                kind=kind,
                epsilon=epsilon,
                delta=delta,
                cells=cells,
                max_rows=most,
                queries=queries,
                relation=relation,
            )


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a setting. `where` names the function that took more than half of the time."""

    seconds: float
    memory: float
    end: str
    where: str

    @property
    def is_cliff(self) -> bool:
        refused = self.end.startswith("refused") and self.seconds > SLOW_REFUSAL
        failed = self.end.startswith("error")
        return refused or failed or self.seconds > SLOW or self.memory > LARGE

    @classmethod
    def of(cls, setting: Setting, *, limit: int) -> Self:
        """Run `setting` in a child of this warm process, for at most `limit` CPU seconds."""
        reader, writer = os.pipe()
        with tempfile.TemporaryDirectory() as designs:
            child = os.fork()
            if child == 0:
                try:
                    os.environ["LEASTNOISE_CACHE"] = designs
                    _run_limited(setting, limit, writer)
                finally:
                    os._exit(0)
            os.close(writer)
            with os.fdopen(reader) as pipe:
                text = pipe.read()
            _, _, usage = os.wait4(child, 0)
        # killed by the hard limit: a call into C that let no signal through, or a lack of memory
        end, where = json.loads(text) if text else ("killed", "")
        return cls(
            seconds=usage.ru_utime + usage.ru_stime,
            memory=usage.ru_maxrss * 1024,
            end=end,
            where=where,
        )


class _Stopped(BaseException):
    """The limit is reached. It isn't an Exception, so that no search handles it as a failure."""


def _run_limited(setting: Setting, limit: int, pipe: int) -> None:
    samples: Counter[tuple[str, ...]] = Counter()

    def sample(_signal: int, frame: FrameType | None) -> None:
        samples[_stack_of(frame)] += 1

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise _Stopped

    signal.signal(signal.SIGPROF, sample)
    signal.signal(signal.SIGXCPU, stop)
    signal.setitimer(signal.ITIMER_PROF, INTERVAL, INTERVAL)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    try:
        setting.run()
        end = "done"
    except _Stopped:
        end = f"stopped at {limit} s"
    except (InvalidArgument, InvalidInput, Refused) as error:
        end = f"refused: {error}".replace("\n", " ")
    except Exception as error:  # noqa: BLE001 (any error is listed)
        end = f"error: {error!r}"
    signal.setitimer(signal.ITIMER_PROF, 0)
    os.write(pipe, json.dumps((end[:300], _heaviest(samples))).encode())


def _stack_of(frame: FrameType | None) -> tuple[str, ...]:
    """List the functions of leastnoise that are running, the outermost first."""
    functions: list[str] = []
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith("leastnoise."):
            functions.append(f"{module.removeprefix('leastnoise.')}.{frame.f_code.co_qualname}")
        frame = frame.f_back
    return tuple(reversed(functions))


def _heaviest(samples: Counter[tuple[str, ...]]) -> str:
    """Name the innermost function that ran in more than half of all samples, and what it calls."""
    every, path = samples.total(), ()
    while every:
        inner: Counter[tuple[str, ...]] = Counter()
        for stack, count in samples.items():
            if stack[: len(path)] == path and len(stack) > len(path):
                inner[stack[: len(path) + 1]] += count
        longer, count = inner.most_common(1)[0] if inner else (path, 0)
        if count <= every / 2:
            break
        path = longer
    if not path:
        return ""
    parts = ", ".join(f"{stack[-1]} {count / every:.0%}" for stack, count in inner.most_common(3))
    return f"{path[-1]} ({parts})" if parts else path[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, help="how many settings to run; all if left out")
    parser.add_argument("--skip", type=int, default=0, help="how many to leave out before")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, default=20, help="CPU seconds of one setting")
    parser.add_argument("--only", help="a part of the settings' names, such as 'plan count:'")
    asked = parser.parse_args()
    settings = [setting for setting in list_settings() if (asked.only or "") in str(setting)]
    random.Random(asked.seed).shuffle(settings)
    stop = None if asked.most is None else asked.skip + asked.most
    chosen = settings[asked.skip : stop]
    _warm()
    print_rows("Cliffs", ("setting", "CPU", "memory", "end", "what took it"), [])
    outcomes: list[Outcome] = []
    for setting in chosen:
        outcome = Outcome.of(setting, limit=asked.limit)
        outcomes.append(outcome)
        if outcome.is_cliff:
            seconds, memory = f"{outcome.seconds:.1f} s", f"{outcome.memory / 2**20:.0f} MB"
            print(f"| {setting} | {seconds} | {memory} | {outcome.end} | {outcome.where} |")
            sys.stdout.flush()
    _summarise(outcomes, of=len(settings))


def _warm() -> None:
    """Import everything, so that children inherit it."""
    with contextlib.suppress(Refused):
        ln.compare(epsilon=1, delta="1e-6", sensitivity=ln.L1(1), dimension=2)
    Setting(
        kind="count",
        epsilon="1",
        delta="1e-6",
        cells=2,
        max_rows=2,
        queries=1,
        relation="add-remove",
    ).run()


def _summarise(outcomes: list[Outcome], *, of: int) -> None:
    if not outcomes:
        return
    seconds = sorted(outcome.seconds for outcome in outcomes)
    slow = sum(second > SLOW for second in seconds)
    refused = [outcome for outcome in outcomes if outcome.end.startswith("refused")]
    late = sum(outcome.seconds > SLOW_REFUSAL for outcome in refused)
    print(
        f"\n{len(outcomes)} of {of} settings, {sum(seconds):.0f} CPU s: {slow} above {SLOW:g} s; "
        f"{len(refused)} refused, {late} of them after more than {SLOW_REFUSAL:g} s. "
        f"Median {seconds[len(seconds) // 2]:.2g} s, 90 % below "
        f"{seconds[len(seconds) * 9 // 10]:.2g} s, the longest {seconds[-1]:.3g} s."
    )


if __name__ == "__main__":
    main()
