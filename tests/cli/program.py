"""The program as a shell sees it: stdout, stderr and exit code of a process of its own.

Each process is forked from one that has imported all that a command may need, which is most of
what starting it anew would take. `PROGRAM` is the file that a shell would start.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

PROGRAM = Path(sys.executable).parent / "leastnoise"

_SERVER = """
import importlib, json, os, pkgutil, sys
import leastnoise
for module in pkgutil.walk_packages(leastnoise.__path__, "leastnoise."):
    if not module.name.startswith("leastnoise.interop"):  # which other libraries come with
        importlib.import_module(module.name)
import matplotlib.figure, rich.console, rich.table, scipy.optimize, scipy.special
from leastnoise.cli.main import main

for line in sys.stdin:
    arguments, folder, *streams = json.loads(line)
    child = os.fork()
    if not child:
        os.chdir(folder)
        for number, path in enumerate([os.devnull, *streams]):
            os.dup2(os.open(path, os.O_RDWR), number)
        sys.argv = ["leastnoise", *arguments]
        main()
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
"""


@cache
def _server() -> subprocess.Popen[str]:
    """The process that forks; it ends with this one, which holds the other end of its stdin."""
    return subprocess.Popen(
        [sys.executable, "-c", _SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"COLUMNS": "120"},
    )


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    with tempfile.NamedTemporaryFile("r") as out, tempfile.NamedTemporaryFile("r") as err:
        asked = [arguments, str(cwd or Path.cwd()), out.name, err.name]
        print(json.dumps(asked), file=server.stdin, flush=True)
        code = int(server.stdout.readline())
        return subprocess.CompletedProcess(arguments, code, out.read(), err.read())


def answer(*arguments: str) -> dict[str, Any]:
    done = run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)
