"""Real Spark sessions for tests: classic in this process, or a separate Connect server.

They listen on the loopback address only. By default Spark and its page are open to all machines.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.legacy.parquet.nanosAsLong": "false",
}
# Tests end before a thorough compilation pays: without it Java takes 60 % of the processor time.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SETTINGS["spark.executor.extraJavaOptions"] = JAVA
ENVIRONMENT = {
    "SPARK_LOCAL_IP": "127.0.0.1",
    "PYSPARK_PYTHON": sys.executable,
    "SPARK_SUBMIT_OPTS": JAVA,
    "SPARK_LAUNCHER_OPTS": JAVA,
}
START = 120  # seconds
_java: set[int] = set()  # processes of the sessions that run


def processor_seconds() -> float:
    """The processor time of the sessions' Java processes, which also counts while they run."""
    return sum(map(_processor_seconds, _java))


def _processor_seconds(process: int) -> float:
    """The processor time of a process; 0 if it has ended, and where the system has no /proc."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return 0.0
    user, system = text.rpartition(")")[2].split()[11:13]  # the name before may hold anything
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@contextmanager
def counted(process: int) -> Iterator[None]:
    """Within the block, count a process in `processor_seconds`."""
    _java.add(process)
    try:
        yield
    finally:
        _java.remove(process)


def command_settings() -> dict[str, str]:
    """The environment of a command that starts a session: with few partitions, on two cores."""
    names = ("spark.sql.shuffle.partitions", "spark.ui.enabled")
    settings = " ".join(f"--conf {name}={SETTINGS[name]}" for name in names)
    return {"PYSPARK_SUBMIT_ARGS": f"--master local[2] {settings} pyspark-shell"}


def missing() -> str | None:
    """A sentence about a missing program that Spark needs; None if nothing is missing."""
    try:
        import pyspark  # noqa: F401, PLC0415  # pyright: ignore[reportMissingImports]
    except ImportError:
        return "PySpark isn't installed: make test-engines installs it"
    return None if shutil.which("java") else "Java isn't installed: openjdk-17-jre-headless"


@contextmanager
def classic(master: str = "local[2]") -> Iterator[Any]:
    """Yield a session in this process."""
    os.environ |= ENVIRONMENT
    from pyspark.sql import SparkSession  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

    with tempfile.TemporaryDirectory() as tables:
        builder = SparkSession.builder.master(master).config("spark.sql.warehouse.dir", tables)
        for name, value in SETTINGS.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        try:
            with counted(session.sparkContext._gateway.proc.pid):
                yield session
        finally:
            session.stop()


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """Start a Spark Connect server, yield its address, and stop it on leaving."""
    import pyspark  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

    home = Path(str(pyspark.__file__)).parent
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = SETTINGS | {
        "spark.master": "local[2]",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
    }
    command = [str(home / "bin" / "spark-submit")]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    command += [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    command += ["spark-internal"]
    environment = os.environ | ENVIRONMENT
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, env=environment, cwd=folder, start_new_session=True
        )
    try:
        _wait(process, port, folder / "server.log")
        with counted(process.pid):
            yield f"sc://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, 15)
        process.wait(START)


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + START
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise RuntimeError(f"Spark Connect didn't start: {log.read_text()[-2000:]}")


@contextmanager
def session(kind: str, folder: Path) -> Iterator[tuple[Any, str]]:
    """Yield a session of the kind "classic" or "connect", and the engine's name in a spec.

    A process can have only one session.
    """
    if kind == "classic":
        with classic() as result:
            yield result, "spark"
        return
    with server(folder) as address:
        from pyspark.sql import SparkSession  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

        result = SparkSession.builder.remote(address).getOrCreate()
        try:
            yield result, address
        finally:
            result.stop()
