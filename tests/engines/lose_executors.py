"""A script: a release on a cluster whose two executors are killed during it.

It is a script because a process has one Spark. Its arguments are FOLDER and WHEN the executors are
killed, "while reading" or "after a checkpoint". It prints the integers before noise, or the name of
the error.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

from leastnoise.errors import LeastnoiseError
from leastnoise.tables.rows.spark import engine as on_spark
from tests.engines import spark
from tests.tables.integers import integers

EXECUTORS = "[o]rg.apache.spark.executor.CoarseGrainedExecutorBackend"
RAW: dict[str, Any] = {
    "version": 1,
    "data": {"source": "rows.parquet"},
    "privacy": {"unit": "who", "epsilon": 1, "delta": "1e-6"},
    "contribution": {"l2": "1.7"},
    "columns": {"x": {"bounds": [0, 8]}},
    "query": [{"name": "q", "statistics": ["count", "sum(x)"], "group_by": {"year": [1, 2, 3]}}],
}


def killer(session: Any) -> list[str]:
    """The command that kills all executors of the session; they are children of its JVM."""
    jvm = session.sparkContext._gateway.proc.pid
    return ["pkill", "-9", "-P", str(jvm), "-f", EXECUTORS]


def killing(session: Any, folder: Path) -> Any:
    """A function for a column. It returns its value, and its first call kills all executors."""
    marker, command = str(folder / "killed"), killer(session)

    def same(value: int) -> int:
        try:
            open(marker, "x").close()
        except FileExistsError:
            return value
        subprocess.run(command, check=False)
        return value

    return same


def main(folder: Path, when: str) -> None:
    warnings.simplefilter("ignore")
    with spark.classic("local-cluster[2,1,1024]") as session:
        frame = session.read.parquet(str(folder / "rows.parquet")).repartition(4)
        if when == "while reading":
            from pyspark.sql import functions  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

            asked = functions.udf(killing(session, folder), "bigint")
            frame = frame.withColumn("who", asked("who"))
        else:
            inner = on_spark.Spark.materialise

            def then_killed(self: Any, rows: Any) -> Any:
                kept = inner(self, rows)
                (folder / "killed").touch()
                subprocess.run(killer(session), check=True)
                return kept

            on_spark.Spark.materialise = then_killed  # type: ignore[method-assign]
        try:
            print(json.dumps(integers(RAW, folder, frame=frame)))  # noqa: T201
        except LeastnoiseError as error:
            print(type(error).__name__)  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
