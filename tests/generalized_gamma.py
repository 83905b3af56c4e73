"""Reference values of spherical generalized gamma noise, and a second route to its δ; for tests."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import mpmath as mp
import numpy as np
from scipy import special

from leastnoise.noise.radial.law import GeneralizedGamma


@dataclass(frozen=True, kw_only=True)
class Reference:
    """δ(ε) of spherical noise whose radius has the density ∝ r^α e^(−βr^p), for a shift `shift`."""

    dimension: int
    alpha: str
    p: str
    beta: str
    shift: str
    epsilon: str
    delta: float


# mpmath's 30-digit tanh-sinh radial integrals, and double exponential ones for the last two rows of
# theory/noise.md §7 and Wei, Bienstock & Polychroniadou (2026), Table 3 (claimed: δ = 1e-5), by
# code that is not part of leastnoise.
_ROWS = (
    (10, "9", "2", "0.125", "1", "1", 0.00682959498311457538),
    (2, "1", "1", "2", "1", "1", 0.250777835931083589),
    (5, "2.5", "1.5", "0.4", "1", "1", 0.0339076487532689688),
    (2, "0.5", "0.5", "2", "1", "0.1", 0.303554747451049885),
    (2, "1", "5", "0.3", "0.5", "0.1", 0.229232673801722192),
    (6, "5", "1.3", "0.6", "2", "4", 2.77947602299118359e-17),
    (3, "2", "1.5", "0.02", "1", "0.1", 0.00315111511889146999),
    (2, "1", "3", "0.001", "1", "0.1", 0.0314134586959742203),
    (3, "-0.5", "1", "0.8", "1", "1", 0.70371824101516),
    (128, "0", "2", str(1 / (2 * 25.0400312795657724)), "1", "0.1", 0.8132837955656065),
)
REFERENCES = tuple(
    Reference(dimension=d, alpha=a, p=p, beta=b, shift=s, epsilon=e, delta=v)
    for d, a, p, b, s, e, v in _ROWS
)


def plain_delta(law: GeneralizedGamma, *, shift: float, epsilon: float) -> tuple[float, float]:
    """δ(ε) and its absolute error, by the formula of Wei et al., Lemma 4.1, with clipping.

    This computes A − e^ε B over the radius on a fine grid of ln r, and each threshold by bisection
    in the cosine. It shares nothing with the tested code. The error includes the cancellation.
    """
    p, kappa, d = float(law.p), float(law.kappa), law.dimension
    k = float((law.alpha + 1) / law.p)
    s = shift / float(law.scale)
    edges = np.linspace(1e-10, 1 - 1e-10, 20_001)
    b = special.gammaincinv(k, edges)
    b = b[(b > 0) & np.isfinite(b)]
    r = b ** (1 / p)

    def above(y: float) -> np.ndarray:
        """P(ℓ(|x + v|) − ℓ(|x|) > y) given |x| = r."""
        low, high = np.full_like(r, -1.0), np.full_like(r, 1.0)
        for _ in range(60):
            w = (low + high) / 2
            after = np.sqrt(np.maximum(r * r + 2 * r * s * w + s * s, 1e-300))
            loss = kappa * np.log(after / r) + after**p - r**p
            over = loss > y
            high, low = np.where(over, w, high), np.where(over, low, w)
        w = (low + high) / 2
        if d == 1:
            return np.where(w > 1 - 1e-12, 0.0, np.where(w < -1 + 1e-12, 1.0, 0.5))
        return special.betainc((d - 1) / 2, (d - 1) / 2, (1 - w) / 2)

    mass = special.gammainc(k, b)
    first, second = above(epsilon), 1 - above(-epsilon)

    def mean(values: np.ndarray) -> tuple[float, float]:
        """The mean by the trapezoidal rule in the mass, and its error from a coarser grid."""
        fine, coarse = np.trapezoid(values, mass), np.trapezoid(values[::2], mass[::2])
        fine += values[0] * mass[0] + values[-1] * (1 - mass[-1])
        error = abs(float(fine - coarse)) * 2 + 1e-7 + 2 * float(mass[0])
        return float(fine), error + jumps + rounding

    jumps = 2e-4 if d == 1 else 0.0  # at most 3, each lost in one cell of 5e-5
    # of a loss of r^p, whose slope in the cosine is p r^(p−1) s
    rounding = 2e-15 * float(r.max()) / s * (1 + 1 / p) * np.sqrt(d)

    (a, a_error), (c, c_error) = mean(first), mean(second)
    factor = float(np.exp(epsilon))
    return a - factor * c, a_error + factor * c_error


def law_of(reference: Reference) -> tuple[GeneralizedGamma, Fraction]:
    """The law of scale 1, and the shift in units of its scale, s·β^(1/p), to 60 digits."""
    with mp.workdps(60):
        power = mp.mpf(reference.beta) ** (1 / mp.mpf(reference.p)) * mp.mpf(reference.shift)
        shift = Fraction(mp.nstr(power, 60))
    law = GeneralizedGamma(
        scale=1, alpha=reference.alpha, p=reference.p, dimension=reference.dimension
    )
    return law, shift
