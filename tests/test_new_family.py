"""The family in docs/new-family.md is correct: its proof, its scale and its sampler.

It is registered in separate processes, so that other tests don't see it: by a call, or by the entry
point of an installed package.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_docs import ROOT, files_of

CHECKS = """
import math
from fractions import Fraction
import mpmath, numpy as np, scipy.signal, scipy.stats
import leastnoise as ln
import secant
from leastnoise.entropy.source import InsecureSeededEntropy

def leaked(shift, epsilon, scale):
    f = lambda x: mpmath.sech(mpmath.pi * x / (2 * scale)) / (2 * scale)
    at = lambda x: max(f(x) - mpmath.exp(epsilon) * f(x - shift), 0)
    edge = mpmath.findroot(
        lambda x: mpmath.log(f(x) / f(x - shift)) - epsilon, shift / 2 - epsilon * scale / 2
    )
    return mpmath.quad(at, [-60 * scale, -10 * scale, edge - scale, edge])

for shift, epsilon, scale in ((1, 1, 1.25), (1, 0.1, 0.5), (2, 0.5, 3)):
    law = secant.Secant(scale=scale)
    found = secant.proof(law, shift=Fraction(shift), epsilon=Fraction(epsilon))
    truth = leaked(shift, epsilon, scale)
    assert abs(float(found.mid()) / truth - 1) < 1e-9, (shift, epsilon, scale, found, truth)
    assert 1 / law.variance == 1 / scale**2
assert secant.proof(secant.Secant(scale=2), shift=Fraction(1), epsilon=Fraction(1)) == 0

one = ln.L2(1)
budgets = [("1", "0"), ("1", "1e-5"), ("1", "0.01"), ("3", "1e-5"), ("20", "1e-9"), ("0.01", "0.5")]
for epsilon, delta in budgets:
    m = ln.calibrate("secant", epsilon=epsilon, delta=delta, sensitivity=one)
    less = m.noise.scaled(1 - Fraction(1, 10**8))
    budget = ln.Budget(epsilon=epsilon, delta=delta)
    try:
        ln.Certificate.prove(budget=budget, noise=less, sensitivity=one)
    except ln.errors.NotCertified:
        continue
    raise AssertionError(f"less noise is private as well at {epsilon}, {delta}")

noise = secant.Secant(scale=3)
certificate = ln.Certificate.prove(budget=ln.Budget(epsilon=1), noise=noise, sensitivity=one)
law = scipy.stats.hypsecant(scale=3 * 2 / math.pi)
source = InsecureSeededEntropy(1)
block = secant.sampler(noise, Fraction(1, 2**20), source).draw(20_000)
drawn = np.array([float(block.enclose(i, 60).mid()) / 2**20 for i in range(20_000)])
assert scipy.stats.kstest(drawn, law.cdf).pvalue > 1e-3
assert scipy.stats.kstest(drawn * 1.05, law.cdf).pvalue < 1e-3  # it would be seen
assert ln.Mechanism(certificate).release([0]).values.shape == (1,)
assert abs(law.var() - noise.variance) < 1e-9
mean = mpmath.quad(lambda x: 2 * x * law.pdf(float(x)), [0, 30, 100])
assert abs(float(mean) - noise.mean_abs) < 1e-9
assert abs(2 * law.sf(3 * secant.quantile(noise, 0.05)) - 0.05) < 1e-12
points = np.linspace(-9, 9, 7)
assert np.allclose(noise.log_density(points[:, None]), law.logpdf(points), atol=1e-12)

from leastnoise.mechanism.accuracy import Term, half_widths_of_sum

for u in (0.01, 0.3, 2):
    wave = lambda x: 2 * mpmath.cos(u * x) * law.pdf(float(x))
    cosine = mpmath.quad(wave, np.linspace(0, 90, 40))
    assert abs(float(secant.characteristic(noise, np.array([u]))[0] - cosine)) < 1e-9
# a sum of two such draws, and of four, by convolution
x = np.linspace(-200, 200, 400_001)
two = scipy.signal.fftconvolve(law.pdf(x), law.pdf(x), "same") * (x[1] - x[0])
for times, density in ((2, two), (4, scipy.signal.fftconvolve(two, two, "same") * (x[1] - x[0]))):
    inside = 2 * np.cumsum(density[200_000:]) * (x[1] - x[0]) - density[200_000] * (x[1] - x[0])
    term = Term(certificate=certificate, coefficient=1.0, times=times)
    for probability, t in zip((0.5, 0.95), half_widths_of_sum([term], (0.5, 0.95))):
        least = float(x[200_000 + np.searchsorted(inside, probability)])
        assert least * 0.999 < t < least * 1.02, (times, probability, least, t)
print("all is right")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in files_of(ROOT / "docs/new-family.md").items():
        (tmp_path / name).write_text(text)
    return tmp_path


def install(folder: Path, entry: str) -> None:
    """Write the files that an installer adds for a package with an entry point."""
    about = folder / "secant-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: secant\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[leastnoise.families]\nsecant = {entry}\n")


def leastnoise(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "leastnoise", *arguments]
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


PROBLEM = ("--epsilon", "1", "--delta", "0", "--json")


@pytest.mark.dense
def test_the_command_line_knows_a_family_that_is_installed(folder: Path) -> None:
    assert leastnoise(folder, "calibrate", "--noise", "secant", *PROBLEM).returncode == 2
    install(folder, "secant:FAMILY")
    done = leastnoise(
        folder, "calibrate", "--noise", "secant", *PROBLEM, "--certificate", "one.json"
    )
    assert json.loads(done.stdout)["noise"]["name"] == "secant", done.stderr
    assert leastnoise(folder, "verify", "one.json").returncode == 0
    ranked = json.loads(leastnoise(folder, "compare", *PROBLEM).stdout)["candidates"]
    assert [item["noise"]["name"] for item in ranked] == ["staircase", "laplace", "secant"]


@pytest.mark.dense
@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("nowhere:FAMILY", "nowhere:FAMILY can't be imported"),
        ("secant:Secant", "family to be a Family"),
        ("math:pi", "a Family"),
    ],
)
def test_a_broken_entry_point_is_named(folder: Path, entry: str, why: str) -> None:
    (folder / "secant.py").write_text(
        (folder / "secant.py").read_text().replace("ln.register", "#")
    )
    install(folder, entry)
    done = leastnoise(folder, "calibrate", "--noise", "secant", *PROBLEM)
    assert done.returncode not in {0, 70}
    assert not done.stdout
    assert why in done.stderr


@pytest.mark.dense
def test_the_family_of_the_documentation_is_right(folder: Path) -> None:
    (folder / "checks.py").write_text(CHECKS)
    command = [sys.executable, "checks.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.stdout == "all is right\n", done.stderr
