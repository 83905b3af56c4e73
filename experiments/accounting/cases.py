"""The releases that are accounted for, and what leastnoise says of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import leastnoise as ln
from leastnoise.accounting.composition import Composition
from leastnoise.guarantees.sensitivity import ShiftBounds
from leastnoise.noise.question import Releases

SIGMA = 3.730631634815942  # of a Gaussian with ε(1e-5) = 1


@dataclass(frozen=True, kw_only=True)
class Case:
    """`count` releases of "gaussian" or "laplace" noise, each of a Poisson sample (`rate`)."""

    noise: str
    scale: float
    count: int
    rate: str = "1"

    @property
    def ours(self) -> Composition:
        """The composition of all of them."""
        laws = {"gaussian": (ln.noise.Gaussian, ln.L2), "laplace": (ln.noise.Laplace, ln.L1)}
        family, norm = laws[self.noise]
        part = Releases(
            noise=family(scale=self.scale, dimension=1),
            shifts=ShiftBounds.of(norm(1)),
            compositions=self.count,
            sampling_rate=Fraction(self.rate),
        )
        return Composition(parts=(part,))


CASES = (
    *(Case(noise="gaussian", scale=SIGMA * k**0.5, count=k) for k in (10, 1000, 10**5)),
    *(Case(noise="laplace", scale=SIGMA * k**0.5, count=k) for k in (10, 1000, 10**4)),
    Case(noise="gaussian", scale=2.0, count=1000, rate="0.05"),
    Case(noise="laplace", scale=1.0, count=1000, rate="0.1"),
)
IN_THE_TAIL = Case(noise="gaussian", scale=20.0, count=10**5)
