"""Compare the checker in Python, the checker in JavaScript, and `verify`.

    python -m benchmarks.check_differential FIRST LAST [SEED]

The cases come from `tests.attacks.test_checker`: certificates of random noise, golden certificates
and releases, and their edits. One process of node reads a batch of certificates. The last line
counts verdicts and disagreements. There should be no disagreement.
"""

from __future__ import annotations

import sys
from collections import Counter

from tests.attacks import test_checker
from tests.attacks.guard import case_of
from tests.check import javascript

BATCH = 500
_VERDICTS = {0: "proved", 1: "rejected", 2: "rejected", 3: "not checked"}


def main() -> None:
    """Print each disagreement, and then the counts."""
    first, last = int(sys.argv[1]), int(sys.argv[2])
    seed = sys.argv[3] if len(sys.argv) > 3 else "1"
    counted: Counter[str] = Counter()
    for start in range(first, last, BATCH):
        test_checker.JUDGED.clear()
        for number in range(start, min(start + BATCH, last)):
            try:
                test_checker.attack(case_of("checker", seed, number))
            except AssertionError as error:
                counted["disagreements"] += 1
                print(f"case {number}: {error}")
            counted["cases"] += 1
        answers = javascript.verdicts([files for files, _ in test_checker.JUDGED])
        for (files, python), (code, lines, _) in zip(test_checker.JUDGED, answers, strict=True):
            counted[python] += 1
            if python != _VERDICTS[code]:
                counted["disagreements"] += 1
                print(f"Python: {python}, JavaScript: {code}, {lines}, {files}"[:3000])
        print(dict(counted), flush=True)


if __name__ == "__main__":
    main()
