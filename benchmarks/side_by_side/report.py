"""The report of a library's script to the command: a line of JSON on standard output.

The scripts run in separate environments, so this module uses only the standard library.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib import metadata


def seconds_since_start() -> float:
    """The seconds since the command started this process, including imports and Java."""
    return time.time() - float(os.environ["SIDE_BY_SIDE_STARTED"])


def geometric_std(scale: float) -> float:
    """The std of whole numbers with mass ∝ exp(−|k|/scale): 1/(√2 sinh(1/(2 scale)))."""
    return 1 / (math.sqrt(2) * math.sinh(1 / (2 * scale)))


@dataclass(frozen=True, kw_only=True)
class Stds:
    """The standard deviations that a library states for its noise.

    Attributes:
        count: Of a count by region and sex.
        total: Of a region's sum of (income − the middle of its bounds), which its mean comes from.
        size: Of the count that this sum is divided by.
        band: Of a count of the histogram.
        condition: Of the number of persons who satisfy a condition.
    """

    count: float
    total: float
    size: float
    band: float
    condition: float


def report(*, package: str, delta: str, one_row: str, seconds: float, stds: Stds) -> None:
    """Print the guarantee of a release, and the standard deviations of its noise.

    Args:
        package: Name of the installed package.
        delta: δ of the whole release; ε is 1, for a person who is added or removed.
        one_row: "enforced" if the library keeps a person with several rows within the guarantee,
            "trusted" if the guarantee is for one row and a person is trusted to have no other.
        seconds: From the start of the process until all results were there.
        stds: The standard deviations.
    """
    results = {
        "version": metadata.version(package),
        "delta": delta,
        "one_row": one_row,
        "seconds": seconds,
        "stds": asdict(stds),
    }
    print(json.dumps(results), flush=True)


def report_answers(
    package: str,
    questions: Iterable[str],
    answer: Callable[[str], Mapping[str, float]],
    *,
    runs: int,
    fewer: Mapping[str, int] | None = None,
) -> None:
    """Print the answers of `runs` releases to each question, one release at a time.

    `fewer` has the number of releases of questions that take long.
    """
    releases = {question: (fewer or {}).get(question, runs) for question in questions}
    answers = {
        question: [dict(answer(question)) for _ in range(count)]
        for question, count in releases.items()
    }
    print(json.dumps({"version": metadata.version(package), "answers": answers}), flush=True)
