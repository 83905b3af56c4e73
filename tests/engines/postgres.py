"""A real PostgreSQL server for tests, which listens on the loopback address alone."""

from __future__ import annotations

import glob
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def programs() -> Path | None:
    """The folder with initdb, which Debian doesn't put on the path."""
    if result := shutil.which("initdb"):
        return Path(result).resolve().parent
    installed = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    return Path(installed[-1]).parent if installed else None


@contextmanager
def server(encoding: str) -> Iterator[str]:
    """Start a server with this encoding of texts, yield its address, and stop it on leaving."""
    directory = programs()
    if directory is None:
        raise RuntimeError("PostgreSQL isn't installed: Debian's package is postgresql")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # The server refuses to be root, and another user can't enter pytest's folders.
    as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(prefix="leastnoise-postgres-") as name:
        folder = Path(name)
        if as_user:
            shutil.chown(folder, "postgres")
        data = folder / "data"
        built = [str(directory / "initdb"), "-D", str(data), "-A", "trust", "-U", "tester"]
        _run([*as_user, *built, f"--encoding={encoding}", "--locale=C"], folder)
        control = [str(directory / "pg_ctl"), "-D", str(data), "-w", "-l", str(folder / "log")]
        _run([*as_user, *control, "-o", f"-h 127.0.0.1 -p {port} -k {folder}", "start"], folder)
        try:
            yield f"postgresql://tester@127.0.0.1:{port}/postgres"
        finally:
            _run([*as_user, *control, "-m", "immediate", "stop"], folder)


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(
        command, check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
