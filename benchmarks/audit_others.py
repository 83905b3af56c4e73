"""The audit of other libraries' mechanisms: the claim of each, and the findings.

python -m benchmarks.audit_others > benchmarks/AUDIT.md, with the extra `bench`. A library that
isn't installed is left out.
"""

from __future__ import annotations

import math
import platform
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np

import leastnoise as ln
from leastnoise.audit.audit import DETECTORS

DRAWS = 10**6
ONE_A_CALL = 200_000  # outputs of mechanisms that return one per call
Subject = tuple[str, Callable[..., Any] | ln.Mechanism, ln.Claim | None, bool]

LAPLACE = ln.Claim(epsilon="0.1", sensitivity=ln.L1(1), noise=ln.noise.Laplace(scale=10))
COUNT = ln.Claim(epsilon="0.1", sensitivity=ln.Integer(1))


def _gaussian() -> ln.Mechanism:
    return ln.calibrate("gaussian", epsilon=1, delta="1e-5", sensitivity=ln.L2(1))


def _normal(scale: float) -> ln.Claim:
    return ln.Claim(
        epsilon=1, delta="1e-5", sensitivity=ln.L2(1), noise=ln.noise.Gaussian(scale=scale)
    )


def _leastnoise() -> Iterator[Subject]:
    laplace = ln.calibrate("laplace", epsilon="0.1", sensitivity=ln.L1(1))
    yield "Laplace, `Mechanism`", laplace, None, True
    yield "Gaussian, `Mechanism`", _gaussian(), None, True


def _numpy() -> Iterator[Subject]:
    generator = np.random.default_rng()
    scale = float(_gaussian().noise.scale)

    def geometric(value: int, count: int) -> Any:
        p = -math.expm1(-0.1)
        return value + generator.geometric(p, count) - generator.geometric(p, count)

    yield "`Generator.laplace`", lambda v, n: v + generator.laplace(0, 10, n), LAPLACE, True
    yield "`Generator.normal`", lambda v, n: v + generator.normal(0, scale, n), _normal(scale), True
    yield "`Generator.geometric`, a difference of two", geometric, COUNT, True


def _diffprivlib() -> Iterator[Subject]:
    from diffprivlib import mechanisms as dp

    laplace = dp.Laplace(epsilon=0.1, delta=0.0, sensitivity=1)
    yield "`Laplace`", laplace.randomise, LAPLACE, False
    analytic = dp.GaussianAnalytic(epsilon=1.0, delta=1e-5, sensitivity=1)
    yield "`GaussianAnalytic`", analytic.randomise, _normal(analytic._scale), False  # noqa: SLF001
    geometric = dp.Geometric(epsilon=0.1, sensitivity=1)
    yield "`Geometric`", lambda v: geometric.randomise(int(v)), COUNT, False
    snapping = dp.Snapping(epsilon=0.1, sensitivity=1.0, lower=-1000.0, upper=1000.0)
    yield "`Snapping`", snapping.randomise, ln.Claim(epsilon="0.1", sensitivity=ln.L1(1)), False


def _opendp() -> Iterator[Subject]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    reals = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    wholes = dp.vector_domain(dp.atom_domain(T=int))
    scale = float(_gaussian().noise.scale)
    laplace = dp.m.make_laplace(reals, dp.l1_distance(T=float), scale=10.0)
    gaussian = dp.m.make_gaussian(reals, dp.l2_distance(T=float), scale=scale)
    integers = dp.m.make_laplace(wholes, dp.l1_distance(T=int), scale=10.0)
    yield "`make_laplace`, floats", lambda v, n: laplace([v] * n), LAPLACE, True
    yield "`make_gaussian`, floats", lambda v, n: gaussian([v] * n), _normal(scale), True
    yield "`make_laplace`, integers", lambda v, n: integers([int(v)] * n), COUNT, True


LIBRARIES: dict[str, Callable[[], Iterator[Subject]]] = {
    "leastnoise": _leastnoise,
    "numpy": _numpy,
    "diffprivlib": _diffprivlib,
    "opendp": _opendp,
}
_SHORT = {"violation": "**violation**", "nothing found": "–", "not tried": "not tried"}


def main() -> None:
    print("# Audits of other libraries\n")
    print(
        "`python -m benchmarks.audit_others > benchmarks/AUDIT.md`, "
        f"Python {platform.python_version()}. Inputs 0 and 1, {DRAWS:,} draws on each, "
        f"{ONE_A_CALL:,} of a mechanism that returns one a call; error 1e-9 an audit. – says that "
        "nothing was found.\n"
    )
    print("| library | mechanism | claim | " + " | ".join(DETECTORS) + " | ε at the claimed δ >= |")
    print("|" + "---|" * (len(DETECTORS) + 4))
    texts: list[str] = []
    for library, subjects in LIBRARIES.items():
        if not find_spec(library):
            print(f"{library} is not installed.", file=sys.stderr)
            continue
        for name, mechanism, claim, batched in subjects():
            result = ln.audit_mechanism(
                mechanism, claim, draws=DRAWS if batched else ONE_A_CALL, batched=batched
            )
            verdicts = " | ".join(_SHORT[item.verdict] for item in result.findings)
            number = ln.__version__ if library == "leastnoise" else version(library)
            labelled = f"{library} {number}"
            stated = f"({float(result.claimed.epsilon):g}, {float(result.claimed.delta):g})"
            least = f"{math.floor(1000 * result.epsilon_lower) / 1000:g}"
            print(f"| {labelled} | {name} | {stated} | {verdicts} | {least} |", flush=True)
            texts += [
                f"- {labelled}, {name}, {item.detector}: {item.statement}"
                for item in result.findings
                if item.verdict == "violation"
            ]
    print("\n## What was found\n")
    print("\n".join(texts))


if __name__ == "__main__":
    main()
