"""What a sceptic has to read: the modules that verifying a certificate imports, and their lines.

    python -m benchmarks.trusted

Lines are those of files, blanks, comments and docstrings included. Each certificate is verified in
a process of its own. The proof is `noise`, `accounting` and `balls`; the statement `certificate`
and `guarantees`, sensitivities and bodies; the rest checks arguments and words errors.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import leastnoise as ln

_CASES = {
    "gaussian": ("gaussian", 1),
    "l2": ("l2", 1),
    "truncated-staircase": ("truncated-staircase", 1),
    "gaussian-mixture": ("gaussian-mixture", 1),
    "generalized-gamma": ("generalized-gamma", 1),
    "laplace, 10 releases": ("laplace", 10),
    "l2, 10 releases": ("l2", 10),
}
_VERIFY = """
import sys
from pathlib import Path
from leastnoise.certificate.certificate import Certificate
Certificate.from_json(sys.stdin.read()).verify()
files = [
    module.__file__ for name, module in sys.modules.items()
    if name.split(".")[0] == "leastnoise" and module.__file__
]
for file in files:
    parts = Path(file).parts
    inside = parts[len(parts) - parts[::-1].index("leastnoise"):]
    print(inside[0], len(Path(file).read_text().splitlines()))
"""
_PROOF = ("balls", "accounting", "noise")
_STATEMENT = ("certificate", "guarantees")


def main() -> None:
    """Print a table, a line a certificate."""
    print(f"{'certificate':<24}{'lines':>8}{'proof':>8}{'statement':>10}{'rest':>8}")
    for name, (family, releases) in _CASES.items():
        dimension = 1 if family in {"truncated-staircase", "gaussian-mixture"} else 3
        noise = ln.calibrate(
            family,
            epsilon="1",
            delta="1e-5",
            sensitivity=ln.L1(1) if family == "laplace" else ln.L2(1),
            dimension=dimension,
            compositions=releases,
        )
        found = subprocess.run(
            [sys.executable, "-c", _VERIFY],
            input=noise.certificate.to_json(),
            capture_output=True,
            text=True,
            check=True,
        )
        lines: Counter[str] = Counter()
        for package, count in (line.split() for line in found.stdout.splitlines()):
            lines[package] += int(count)
        proof, statement = (sum(lines[one] for one in part) for part in (_PROOF, _STATEMENT))
        rest = lines.total() - proof - statement
        print(f"{name:<24}{lines.total():>8,}{proof:>8,}{statement:>10,}{rest:>8,}")


if __name__ == "__main__":
    main()
