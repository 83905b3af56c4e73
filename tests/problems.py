"""Named problems with answers that were computed elsewhere, to more digits than a double holds.

The scales come from 200- to 400-bit ball arithmetic and the deltas from rigorous 60-digit integrals
of the exact formulas, by code that is not part of leastnoise; "issue" marks 12- to 16-digit values.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, kw_only=True)
class MinimalScale:
    """The least scale of a family at a budget, for sensitivity 1."""

    family: str
    dimension: int
    epsilon: str
    delta: str
    scale: str
    relative_error: float = 1e-20

    @property
    def name(self) -> str:
        return f"{self.family}-d{self.dimension}-eps{self.epsilon}-delta{self.delta}"


@dataclass(frozen=True, kw_only=True)
class Delta:
    """δ(ε) of a law at a scale, for sensitivity 1."""

    family: str
    dimension: int
    scale: str
    epsilon: str
    delta: str

    @property
    def name(self) -> str:
        return f"{self.family}-d{self.dimension}-scale{self.scale}-eps{self.epsilon}"


def _gaussian(epsilon: str, delta: str, scale: str, *, error: float = 1e-20) -> MinimalScale:
    return MinimalScale(
        family="gaussian",
        dimension=3,
        epsilon=epsilon,
        delta=delta,
        scale=scale,
        relative_error=error,
    )


def _l2(
    dimension: int, epsilon: str, delta: str, scale: str, *, error: float = 1e-19
) -> MinimalScale:
    return MinimalScale(
        family="l2" if dimension > 1 else "laplace",
        dimension=dimension,
        epsilon=epsilon,
        delta=delta,
        scale=scale,
        relative_error=error,
    )


MINIMAL_SCALES = (
    _gaussian("1", "1e-5", "3.730631634815941832250"),
    _gaussian("1", "0.01", "1.877875560907386025452"),
    _gaussian("0.1", "1e-5", "30.74956613197745023894"),
    _gaussian("0.5", "1e-9", "10.67389681508002612906"),
    _gaussian("5", "1e-6", "0.9800490003092099071136"),
    _gaussian("1e-6", "1e-6", "276029.9039992014956056"),
    _gaussian("1e-3", "1e-12", "5412.302193843927", error=1e-15),  # issue
    _gaussian("20", "1e-15", "0.4438970182683455", error=1e-15),  # issue
    _gaussian("0", "0.01", "39.89318358161652", error=1e-15),  # issue
    _l2(1, "1", "1e-5", "0.99998000029999533340"),
    _l2(1, "1", "1e-2", "0.98029540391011891008"),
    _l2(2, "1", "1e-5", "0.99915910782014077938"),
    _l2(3, "1", "1e-5", "0.99484785912782777573"),
    _l2(7, "1", "1e-5", "0.933639567306", error=1e-12),  # issue
    _l2(20, "1", "1e-5", "0.71295053319531616034"),
    _l2(100, "1", "1e-5", "0.36124676080264589758"),
    _l2(500, "1", "1e-5", "0.16576428681512892479"),
    _l2(5000, "1", "1e-5", "0.0527249891452", error=2e-12),  # issue
    _l2(2, "0.1", "1e-7", "9.9978360228668625323"),
    _l2(3, "0.1", "1e-7", "9.9805010066472195797"),
    _l2(7, "0.1", "1e-7", "9.5840892855410462648"),
    _l2(100, "0.1", "1e-7", "3.9712772708360554432"),
    _l2(2, "10", "1e-3", "0.099768400117763291804"),
    _l2(20, "10", "1e-3", "0.074340444604759799890"),
    _l2(5000, "10", "1e-3", "0.0057376698787885665397"),
    _l2(7, "1", "1e-2", "0.64208919358296033345"),
    _l2(100, "1", "1e-2", "0.18656441264323883136"),
    _l2(500, "1", "1e-2", "0.083872016513468866913"),
)


def _delta(dimension: int, scale: str, epsilon: str, delta: str) -> Delta:
    return Delta(
        family="l2" if dimension > 1 else "laplace",
        dimension=dimension,
        scale=scale,
        epsilon=epsilon,
        delta=delta,
    )


DELTAS = (
    _delta(1, "0.9", "1", "0.05404053109323453710640"),
    _delta(2, "0.5", "1", "0.2507778359310835894637"),
    _delta(3, "2.5", "0.1", "0.05860065078509302334324"),
    _delta(7, "0.99", "1", "5.044387690030895335923e-9"),
    _delta(100, "0.36", "1", "1.063329078677263523438e-5"),
    _delta(5000, "0.06", "1", "9.000041378789270485914e-7"),
    _delta(2, "3", "0", "0.1047534129630533055071"),
    _delta(10, "0.5", "0", "0.2534314622293876232521"),
    Delta(  # the spherical generalized gamma law with α = 9, p = 2, which is a Gaussian
        family="gaussian", dimension=10, scale="2", epsilon="1", delta="0.00682959498311457538"
    ),
)


def fractions_of(problem: MinimalScale | Delta) -> dict[str, Fraction]:
    """The exact numbers of a problem."""
    names = ("scale", "epsilon", "delta")
    return {name: Fraction(getattr(problem, name)) for name in names}
