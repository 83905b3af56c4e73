"""Plans, searches and calls with two states of the source: CPU seconds before and now.

`python -m benchmarks.beside COMMIT` runs each call with the source of COMMIT and with the source of
the working tree, each time in a separate process. It prints the least CPU time of the rounds, the
peak memory and the result. Every call runs under a limit of CPU seconds.
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bench_plans import TREES
from benchmarks.searches import COMPARED, PLANNED
from benchmarks.timing import print_rows

ROOT = Path(__file__).parents[1]
LONGEST = 90  # CPU seconds
_LIMIT = f"import resource; resource.setrlimit(resource.RLIMIT_CPU, ({LONGEST}, {LONGEST}))\n"
_IMPORTED = """
import time; start = time.process_time()
import leastnoise; leastnoise.{name}
print(time.process_time() - start)
"""
_COMPOSED = """
from leastnoise import L1, noise
from leastnoise.noise.question import Releases
from leastnoise.accounting.composition import Composition
from leastnoise.guarantees.sensitivity import ShiftBounds
law = Releases(noise=noise.Laplace(scale="118"), shifts=ShiftBounds.of(L1(1)), compositions=1000)
import time; start = time.process_time()
epsilon = Composition(parts=(law,)).epsilon(delta="1e-5")
print(time.process_time() - start, f"ε in [{epsilon.lower:.9g}, {epsilon.upper:.9g}]")
"""
_ONE_NUMBER = """
import leastnoise as ln
laplace = ln.calibrate("laplace", epsilon="1", sensitivity=ln.L1(1))
laplace.release(0.5)
import time; start = time.process_time()
for _ in range(200): laplace.release(0.5)
print((time.process_time() - start) / 200)
"""
_MANY_GROUPS = """
import time
from pathlib import Path
import leastnoise as ln
Path("rows.csv").write_text("g,x\\n1,2\\n")
Path("spec.toml").write_text(f'''
version = 1
data = {{ source = "rows.csv", types = {{ g = "int", x = "float" }} }}
privacy = {{ unit = "row", epsilon = "1", delta = "1e-6" }}
columns = {{ x = {{ bounds = [0, 10] }} }}
output = {{ path = "out", format = "csv" }}
[[query]]
name = "q"
statistics = ["count", "mean(x)"]
group_by = {{ g = {[*range(100_000)]} }}
''')
start = time.process_time()
ln.Release.from_toml("spec.toml").run()
print(time.process_time() - start)
"""


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call and the CPU seconds that it may take; `code` prints its seconds and its result."""

    name: str
    target: str
    code: str


@dataclass(frozen=True, kw_only=True)
class Cost:
    """CPU seconds (None above the limit), peak memory in MB, and the result of a call."""

    seconds: float | None
    megabytes: float
    result: str

    def __str__(self) -> str:
        if self.result == "fails":
            return "fails"
        seconds = f"> {LONGEST} s" if self.seconds is None else f"{self.seconds:.2g} s"
        return f"{seconds}, {self.megabytes:.0f} MB"


def calls() -> Iterator[Call]:
    """Every call that is compared."""
    for index, (name, epsilon, _, target) in enumerate(TREES):
        code = f"from benchmarks.bench_plans import measure; print(*measure({index}))"
        yield Call(name=f"plan: {name}, ε = {epsilon}", target=target, code=code)
    for index, (name, *_, target) in enumerate(PLANNED):
        code = f"from benchmarks.searches import planned; print(*planned({index}))"
        yield Call(name=f"plan: {name}", target=target, code=code)
    for index, (name, _, target) in enumerate(COMPARED):
        code = f"from benchmarks.searches import compared; print(*compared({index}))"
        yield Call(name=f"compare: {name}", target=target, code=code)
    for name, target in (("Release", ".7 s"), ("calibrate", "")):
        code = _IMPORTED.format(name=name)
        yield Call(name=f"import of `ln.{name}`", target=target, code=code)
    yield Call(name="ε of 1,000 × Laplace noise", target=".1 s", code=_COMPOSED)
    yield Call(name="`release` of one number", target=".00015 s", code=_ONE_NUMBER)
    yield Call(name="a release: count and mean by 100,000 groups", target="", code=_MANY_GROUPS)


def unpack(commit: str, folder: Path) -> Path:
    """Put the source of `commit` into `folder`; return the folder for PYTHONPATH."""
    packed = subprocess.run(
        ["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def run(call: Call, source: Path) -> Cost:
    """Run a call with the modules of `source`, in a separate process and a new folder."""
    with tempfile.TemporaryDirectory() as folder:
        variables = {
            "PYTHONPATH": f"{source}{os.pathsep}{ROOT}",
            "OMP_NUM_THREADS": "1",
            "LEASTNOISE_CACHE": folder,
        }
        with subprocess.Popen(
            [sys.executable, "-c", _LIMIT + call.code],
            cwd=folder,
            env=os.environ | variables,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            printed = process.stdout.read() if process.stdout else ""
            _, status, used = os.wait4(process.pid, 0)
    failed = os.waitstatus_to_exitcode(status) > 0
    seconds, _, result = ("", "", "fails") if failed else printed.strip().partition(" ")
    taken = float(seconds) if seconds else None
    return Cost(seconds=taken, megabytes=used.ru_maxrss / 1024, result=result)


def least(costs: list[Cost]) -> Cost:
    """The cheapest of the rounds."""
    return min(costs, key=lambda cost: LONGEST if cost.seconds is None else cost.seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit", help="the state to compare with, such as 14badff0")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", default="", help="calls whose name contains this text")
    asked = parser.parse_args()
    rows: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        before, now = unpack(asked.commit, Path(folder)), ROOT / "src"
        for call in calls():
            if asked.only not in call.name:
                continue
            rounds = [(run(call, before), run(call, now)) for _ in range(asked.rounds)]
            old, new = (least([costs[state] for costs in rounds]) for state in (0, 1))
            result = new.result if new.result == old.result else f"{old.result} → {new.result}"
            rows.append((call.name, call.target, str(old), str(new), result))
    heads = ("call", "target", asked.commit, "now", "result")
    print_rows(f"Before and now, CPU seconds, least of {asked.rounds} rounds", heads, rows)


if __name__ == "__main__":
    main()
