"""Whole commands, from the shell's view."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.timing import median_seconds, print_rows, show

COMMANDS = {
    "leastnoise --help": ("0.4 s", ["leastnoise", "--help"]),
    "import leastnoise": ("0.5 s", ["python", "-c", "import leastnoise"]),
    "import leastnoise, then use it": (
        "",
        ["python", "-c", "import leastnoise as l; l.least_noise(epsilon=1, sensitivity=l.L2(1))"],
    ),
    "leastnoise calibrate --noise l2 --dimension 7": (
        "1.2 s",
        ["leastnoise", "calibrate", "--noise", "l2", "--epsilon", "1", "--delta", "1e-5",
         "--dimension", "7", "--json"],
    ),
    "leastnoise compare --dimension 7": (
        "",
        ["leastnoise", "compare", "--epsilon", "1", "--delta", "1e-5", "--dimension", "7"],
    ),
    "leastnoise compare --counting-queries --dimension 10": (
        "3 s",
        ["leastnoise", "compare", "--epsilon", "1", "--delta", "1e-5", "--counting-queries",
         "--dimension", "10"],
    ),
}  # fmt: skip


def main() -> None:
    folder = Path(sys.executable).parent
    rows = []
    for name, (target, command) in COMMANDS.items():
        run = [str(folder / command[0]), *command[1:]]

        def work(run: list[str] = run) -> None:
            subprocess.run(run, check=True, capture_output=True)

        rows.append((name, show(median_seconds(work, runs=7)), target))
    print_rows("Commands, whole process", ("command", "wall time", "target"), rows)


if __name__ == "__main__":
    main()
