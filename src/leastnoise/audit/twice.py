"""Run the mechanism twice in ways that must not repeat its randomness.

| runs | cause of a repetition |
|---|---|
| two calls | a seed inside the function |
| a fork | a generator's state, which the child inherits |
| two threads | a generator for each thread with the same seed |
| two processes | a seed at the module's import, or the clock |

`python -m leastnoise.audit.twice` is one of the two processes: it reads (sys.path, module, name,
input, count), pickled, and writes the outputs as a .npy file.
"""

from __future__ import annotations

import importlib
import inspect
import io
import os
import pickle
import select
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise.audit.claim import draw_outputs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from leastnoise.audit.claim import Draw, Subject

    Pair = tuple[NDArray[np.float64], NDArray[np.float64]]

_SECONDS = 60.0  # time limit for a process that draws


def run_twice(subject: Subject, count: int) -> Iterator[tuple[str, Pair]]:
    """Run the mechanism twice in each way of the table; yield the way's name and the outputs.

    All runs are on the first input. The outputs are a pair of arrays, with `count` outputs of each
    run. Forks and processes that fail are left out. A command is only run in two processes.
    """
    value = subject.inputs[0]
    if subject.draw_pair is not None:
        yield "two processes", subject.draw_pair(value, count)
        return
    yield (
        "two calls",
        (draw_outputs(subject.draw, value, count), draw_outputs(subject.draw, value, count)),
    )
    yield "two threads", _in_threads(subject.draw, value, count)
    if hasattr(os, "fork"):
        children = [_draw_in_fork(subject.draw, value, count) for _ in range(2)]
        parent = draw_outputs(subject.draw, value, count)
        runs = [
            outputs
            for outputs in (*children, parent)
            if outputs is not None and outputs.shape == parent.shape
        ]
        if len(runs) > 1:
            yield "a fork and its parent", (runs[0], runs[-1])
        if len(runs) > 2:
            yield "two forks", (runs[0], runs[1])
    fresh = [_draw_in_process(subject.draw, value, count) for _ in range(2)]
    if fresh[0] is not None and fresh[1] is not None and fresh[0].shape == fresh[1].shape:
        yield "two processes", (fresh[0], fresh[1])


def _in_threads(draw: Draw, value: Any, count: int) -> Pair:
    with ThreadPoolExecutor(2) as pool:
        first, second = (pool.submit(draw_outputs, draw, value, count) for _ in range(2))
        return first.result(), second.result()


def _draw_in_fork(draw: Draw, value: Any, count: int) -> NDArray[np.float64] | None:
    """Draw outputs in a child that is forked here; None if it fails or hangs."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Python warns about forking beside other threads, which is intended here; a child that
        # hangs on their locks is stopped
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        _draw_and_leave(draw, value, count, writing)
    os.close(writing)
    try:
        return _unpack(_read(reading, until=time.monotonic() + _SECONDS))
    finally:
        os.close(reading)
        os.kill(child, signal.SIGKILL)  # it has written everything, or hangs
        os.waitpid(child, 0)


def _draw_and_leave(draw: Draw, value: Any, count: int, writing: int) -> None:
    """Write the outputs to the pipe and end this process, whatever happens."""
    try:
        sent = memoryview(pack(draw_outputs(draw, value, count)))
        while sent:
            sent = sent[os.write(writing, sent) :]
    finally:
        os._exit(0)  # so that no exit handlers of the parent run here


def _read(pipe: int, *, until: float) -> bytes:
    """Read until the end of the pipe; return nothing if the time `until` comes first."""
    parts: list[bytes] = []
    while (left := until - time.monotonic()) > 0 and select.select([pipe], [], [], left)[0]:
        part = os.read(pipe, 1 << 18)
        if not part:
            return b"".join(parts)
        parts.append(part)
    return b""


def pack(outputs: NDArray[np.float64]) -> bytes:
    """Pack outputs as the bytes of a .npy file."""
    written = io.BytesIO()
    np.save(written, outputs, allow_pickle=False)
    return written.getvalue()


def _unpack(data: bytes) -> NDArray[np.float64] | None:
    try:
        return np.load(io.BytesIO(data), allow_pickle=False)
    except (EOFError, ValueError):
        return None


def _draw_in_process(draw: Draw, value: Any, count: int) -> NDArray[np.float64] | None:
    """Draw outputs in a new process; None if it fails, or can't import the function."""
    function = inspect.unwrap(draw)
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    if module in (None, "__main__") or function_at(str(module), name) is not function:
        return None
    try:
        sent = pickle.dumps((sys.path, str(module), name, value, count))
        done = subprocess.run(
            [sys.executable, "-m", "leastnoise.audit.twice"],
            input=sent, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            timeout=_SECONDS, check=False,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )  # fmt: skip
    except (pickle.PicklingError, AttributeError, TypeError, subprocess.TimeoutExpired):
        return None
    return _unpack(done.stdout) if done.returncode == 0 else None


def function_at(module: str, name: str) -> Any:
    """The function called `name` in `module`; None if it doesn't exist there."""
    value: Any = importlib.import_module(module)
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


def main() -> None:
    """Draw the outputs that the parent process requests on stdin."""
    path, module, name, value, count = pickle.load(sys.stdin.buffer)  # noqa: S301 (from the parent)
    out, sys.stdout = os.fdopen(os.dup(1), "wb"), sys.stderr  # the mechanism's prints are discarded
    sys.path[:] = path
    with out:
        out.write(pack(draw_outputs(function_at(module, name), value, count)))


if __name__ == "__main__":
    main()
