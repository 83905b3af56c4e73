"""The mechanism run twice in ways that should not repeat its randomness.

| way | what is repeated where it goes wrong |
|---|---|
| two calls | a seed inside the function |
| a fork | a generator's state, which the child inherits |
| two threads | a generator for each thread with the same seed |
| two processes | a seed where the module is imported, or the clock |

`python -m leastnoise.audit.twice` is such a process: it reads (sys.path, module, name, input,
count), pickled, and writes the outputs as a .npy file.
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

_SECONDS = 60.0  # after which a process that draws is given up


def run_twice(subject: Subject, count: int) -> Iterator[tuple[str, Pair]]:
    """Yield the name of each way that can be tried, and two runs of `count` outputs."""
    value = subject.inputs[0]
    if subject.together is not None:
        yield "two processes", subject.together(value, count)
        return
    yield (
        "two calls",
        (draw_outputs(subject.draw, value, count), draw_outputs(subject.draw, value, count)),
    )
    yield "two threads", _in_threads(subject.draw, value, count)
    if hasattr(os, "fork"):
        children = [_forked(subject.draw, value, count) for _ in range(2)]
        parent = draw_outputs(subject.draw, value, count)
        runs = [one for one in (*children, parent) if one is not None and one.shape == parent.shape]
        if len(runs) > 1:
            yield "a fork and its parent", (runs[0], runs[-1])
        if len(runs) > 2:
            yield "two forks", (runs[0], runs[1])
    fresh = [_fresh(subject.draw, value, count) for _ in range(2)]
    if fresh[0] is not None and fresh[1] is not None and fresh[0].shape == fresh[1].shape:
        yield "two processes", (fresh[0], fresh[1])


def _in_threads(draw: Draw, value: Any, count: int) -> Pair:
    with ThreadPoolExecutor(2) as pool:
        one, other = (pool.submit(draw_outputs, draw, value, count) for _ in range(2))
        return one.result(), other.result()


def _forked(draw: Draw, value: Any, count: int) -> NDArray[np.float64] | None:
    """Return the outputs of a child that is forked here; None if it fails or hangs."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Python warns of a fork beside other threads, which is what is tried; a child that
        # hangs on a lock of theirs is given up
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        _draw_and_leave(draw, value, count, writing)
    os.close(writing)
    try:
        return _unpack(_read(reading, until=time.monotonic() + _SECONDS))
    finally:
        os.close(reading)
        os.kill(child, signal.SIGKILL)  # it has written all, or is given up
        os.waitpid(child, 0)


def _draw_and_leave(draw: Draw, value: Any, count: int, writing: int) -> None:
    """Write the outputs to the pipe and end this process, whatever happens."""
    try:
        sent = memoryview(pack(draw_outputs(draw, value, count)))
        while sent:
            sent = sent[os.write(writing, sent) :]
    finally:
        os._exit(0)  # no handlers of the parent's may run here


def _read(pipe: int, *, until: float) -> bytes:
    """Return all that comes, up to its end or the time."""
    parts: list[bytes] = []
    while (left := until - time.monotonic()) > 0 and select.select([pipe], [], [], left)[0]:
        part = os.read(pipe, 1 << 18)
        if not part:
            return b"".join(parts)
        parts.append(part)
    return b""


def pack(outputs: NDArray[np.float64]) -> bytes:
    """Return outputs as the bytes of a .npy file."""
    written = io.BytesIO()
    np.save(written, outputs, allow_pickle=False)
    return written.getvalue()


def _unpack(data: bytes) -> NDArray[np.float64] | None:
    try:
        return np.load(io.BytesIO(data), allow_pickle=False)
    except (EOFError, ValueError):
        return None


def _fresh(draw: Draw, value: Any, count: int) -> NDArray[np.float64] | None:
    """Return the outputs of a new process; None if it fails, or can't import the function."""
    own = inspect.unwrap(draw)
    module, name = getattr(own, "__module__", None), getattr(own, "__qualname__", "")
    if module in (None, "__main__") or function_at(str(module), name) is not own:
        return None
    try:
        sent = pickle.dumps((sys.path, str(module), name, value, count))
        done = subprocess.run(
            [sys.executable, "-m", "leastnoise.audit.twice"],
            input=sent, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            timeout=_SECONDS, check=False,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(one for one in sys.path if one)},
        )  # fmt: skip
    except (pickle.PicklingError, AttributeError, TypeError, subprocess.TimeoutExpired):
        return None
    return _unpack(done.stdout) if done.returncode == 0 else None


def function_at(module: str, name: str) -> Any:
    """Return the module's function of that name, None if there is none."""
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def main() -> None:
    """Draw in this process what another one asks for on stdin."""
    path, module, name, value, count = pickle.load(sys.stdin.buffer)  # noqa: S301 (of the parent)
    out, sys.stdout = os.fdopen(os.dup(1), "wb"), sys.stderr  # what the mechanism prints is lost
    sys.path[:] = path
    with out:
        out.write(pack(draw_outputs(function_at(module, name), value, count)))


if __name__ == "__main__":
    main()
