"""A script: the release of a vector on two executors that are killed during it.

It is a script because a process has one Spark. Its argument is FOLDER. It reads the released vector
twice, and prints the positions and values.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import leastnoise as ln
from tests.engines import spark
from tests.engines.lose_executors import killing


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    noise = ln.calibrate("l2", epsilon=1, delta="1e-6", sensitivity=ln.L2(1), dimension=1000)
    with spark.classic("local-cluster[2,1,1024]") as session:
        from pyspark.sql import functions  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

        asked = functions.udf(killing(session, folder), "double")
        vector = session.range(1000, numPartitions=4).select(
            functions.col("id").alias("position"),
            asked(functions.lit(2.0**20) + functions.col("id") * 0).alias("value"),
        )
        released = ln.release_vector(noise, vector, folder / "out").orderBy("position")
        first, second = released.collect(), released.collect()
    results = {"positions": [row[0] for row in first]}
    results |= {"first": [row[1] for row in first], "second": [row[1] for row in second]}
    print(json.dumps(results))  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]))
