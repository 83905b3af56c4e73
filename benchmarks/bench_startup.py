"""The time of whole commands, as a shell measures it."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.timing import median_seconds, print_rows, show

COMPARE = ["leastnoise", "compare", "--epsilon"]
COMMANDS = {
    "leastnoise --help": ("0.4 s", ["leastnoise", "--help"]),
    "import leastnoise": ("0.5 s", ["python", "-c", "import leastnoise"]),
    "import leastnoise; leastnoise.Release": (
        "0.7 s", ["python", "-c", "import leastnoise; leastnoise.Release"]
    ),
    "import leastnoise; leastnoise.calibrate": (
        "0.7 s", ["python", "-c", "import leastnoise; leastnoise.calibrate"]
    ),
    "import leastnoise, then use it": (
        "",
        ["python", "-c", "import leastnoise as l; l.least_noise(epsilon=1, sensitivity=l.L2(1))"],
    ),
    "leastnoise calibrate --noise l2 --dimension 7": (
        "1.2 s",
        ["leastnoise", "calibrate", "--noise", "l2", "--epsilon", "1", "--delta", "1e-5",
         "--dimension", "7", "--json"],
    ),
    "leastnoise calibrate --noise laplace": (
        "1.5 s", ["leastnoise", "calibrate", "--noise", "laplace", "--epsilon", "1"]
    ),
    "leastnoise compare --dimension 7": (
        "1.5 s", [*COMPARE, "1", "--delta", "1e-5", "--dimension", "7"]
    ),
    "leastnoise compare --dimension 7, at (0.1, 1e-6)": (
        "", [*COMPARE, "0.1", "--delta", "1e-6", "--dimension", "7"]
    ),
    "leastnoise compare --dimension 2": (
        "", [*COMPARE, "1", "--delta", "1e-5", "--dimension", "2"]
    ),
    "leastnoise compare --dimension 50": (
        "", [*COMPARE, "1", "--delta", "1e-5", "--dimension", "50"]
    ),
    "leastnoise compare --counting-queries --dimension 10": (
        "3 s", [*COMPARE, "1", "--delta", "1e-5", "--counting-queries", "--dimension", "10"]
    ),
}  # fmt: skip

SPEC = """
version = 1
data = { source = "rows.csv", types = { x = "int" } }
privacy = { unit = "row", epsilon = "1", delta = "1e-6" }
query = [{ name = "n", statistics = ["count"] }]
output = { path = "out", format = "csv" }
"""
LEDGER = SPEC.replace('"1e-6"', '"1e-6", ledger = { path = "none.json" }')
REFUSED = {
    "a key that there isn't": SPEC.replace("unit", "units"),
    "a source that isn't there": SPEC.replace("rows.csv", "none.csv"),
    "a ledger that isn't there": LEDGER,
    "an output that exists": SPEC.replace('"out"', '"exists"'),
}


def main() -> None:
    folder = Path(sys.executable).parent
    rows = []
    for name, (target, command) in COMMANDS.items():
        run = [str(folder / command[0]), *command[1:]]
        rows.append((name, *_seconds(run, fails=False), target))
    with tempfile.TemporaryDirectory() as temporary_directory:
        (Path(temporary_directory) / "rows.csv").write_text("x\n1\n")
        (Path(temporary_directory) / "exists").mkdir()
        spec = Path(temporary_directory) / "spec.toml"
        for name, text in REFUSED.items():
            spec.write_text(text)
            run = [str(folder / "leastnoise"), "release", str(spec)]
            rows.append(
                (f"leastnoise release, refused: {name}", *_seconds(run, fails=True), "1.5 s")
            )
    header = ("command", "wall time", "CPU time", "target")
    print_rows("Commands, whole process", header, rows)


def _seconds(run: list[str], *, fails: bool) -> tuple[str, str]:
    """The median wall time and the mean CPU time of a command, as texts."""
    before, runs = _cpu_seconds(), 0

    def work() -> None:
        nonlocal runs
        runs += 1
        code = subprocess.run(run, check=False, capture_output=True).returncode
        if bool(code) != fails:
            raise RuntimeError(f"{run} ended with {code}")

    wall = median_seconds(work, runs=7)
    return show(wall), show((_cpu_seconds() - before) / runs)


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
