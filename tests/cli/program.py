"""The program as a shell sees it: stdout, stderr and exit code of a separate process.

Each process is forked from a process that has imported all modules that a command may need, because
these imports take most of the time of a start. It ends as Python does, except that modules are not
torn down, which would take a second. `PROGRAM` is the file that a shell would start.
"""

from __future__ import annotations

import fcntl
import json
import os
import struct
import subprocess
import sys
import tempfile
import termios
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

PROGRAM = Path(sys.executable).parent / "leastnoise"

_SERVER = """
import atexit, importlib, json, os, pkgutil, sys, threading
import leastnoise
for module in pkgutil.walk_packages(leastnoise.__path__, "leastnoise."):
    if not module.name.startswith(("leastnoise.interop", "leastnoise.learn")):  # other libraries
        importlib.import_module(module.name)
import matplotlib.figure, rich.console, rich.table, scipy.optimize, scipy.special
from leastnoise.cli.main import main

for line in sys.stdin:
    arguments, folder, environment, *streams = json.loads(line)
    child = os.fork()
    if not child:
        os.chdir(folder)
        for name, value in environment.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
        for number, path in enumerate([os.devnull, *streams]):
            os.dup2(os.open(path, os.O_RDWR), number)
        sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))
        sys.argv = ["leastnoise", *arguments]
        try:
            main()
        except SystemExit as end:
            threading._shutdown()
            atexit._run_exitfuncs()
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            os._exit(end.code or 0)
    _, status, took = os.wait4(child, 0)
    print(os.waitstatus_to_exitcode(status), took.ru_utime + took.ru_stime, flush=True)
"""
processor_seconds = 0.0
"""The processor time of all commands until now. They are no children of this process."""


@cache
def _server() -> subprocess.Popen[str]:
    """Start the process that forks. It ends with this process, which holds the end of its stdin."""
    return subprocess.Popen(
        [sys.executable, "-c", _SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"COLUMNS": "120"},
    )


def run(
    *arguments: str, cwd: Path | None = None, columns: int = 120
) -> subprocess.CompletedProcess[str]:
    """Run the program with its output in files, `columns` wide."""
    with tempfile.NamedTemporaryFile("r") as out, tempfile.NamedTemporaryFile("r") as err:
        environment = {"COLUMNS": str(columns)}
        code = _ask(arguments, cwd, environment, out.name, err.name)
        return subprocess.CompletedProcess(arguments, code, out.read(), err.read())


def run_in_terminal(
    *arguments: str, cwd: Path | None = None, columns: int = 80
) -> subprocess.CompletedProcess[str]:
    """Run the program with stdout and stderr on two terminals, `columns` wide."""
    with Terminal(columns) as out, Terminal(columns) as err:
        environment = {"COLUMNS": None, "TERM": "xterm"}
        code = _ask(arguments, cwd, environment, out.name, err.name)
        return subprocess.CompletedProcess(arguments, code, out.text(), err.text())


def _ask(
    arguments: tuple[str, ...],
    cwd: Path | None,
    environment: Mapping[str, str | None],
    *streams: str,
) -> int:
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    asked = [arguments, str(cwd or Path.cwd()), environment, *streams]
    print(json.dumps(asked), file=server.stdin, flush=True)
    code, took = server.stdout.readline().split()
    global processor_seconds  # noqa: PLW0603 (a total, as the operating system keeps it for children)
    processor_seconds += float(took)
    return int(code)


class Terminal:
    """A terminal that a program can write to; it keeps the output."""

    def __init__(self, columns: int) -> None:
        self._own, self.theirs = os.openpty()
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.name = os.ttyname(self.theirs)
        self._seen: list[bytes] = []
        self._reader = threading.Thread(target=self._read)

    def __enter__(self) -> Terminal:
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
        os.close(self._own)

    @property
    def so_far(self) -> str:
        """The output until now."""
        return b"".join(self._seen).decode(errors="replace")

    def text(self) -> str:
        """The whole output, after the program has ended."""
        self._close()
        return b"".join(self._seen).decode().replace("\r\n", "\n")

    def _close(self) -> None:
        if self.theirs >= 0:
            os.close(self.theirs)  # the last writer: the reader meets the end
            self.theirs = -1
        self._reader.join()

    def _read(self) -> None:
        with suppress(OSError):  # Linux raises it at the end of the output
            while text := os.read(self._own, 65536):
                self._seen.append(text)


def answer(*arguments: str) -> dict[str, Any]:
    done = run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)
