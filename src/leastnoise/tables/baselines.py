"""What a block would need in the standard ways: the noise that a plan compares with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from leastnoise.errors import Refused
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.laplace import Laplace
from leastnoise.selection.search import calibrate

if TYPE_CHECKING:
    from leastnoise.certify.certificate import Certificate
    from leastnoise.guarantees.budget import Budget
    from leastnoise.noise.base import Noise
    from leastnoise.tables.layout import Layout

_SPHERICAL = ("l2", "gaussian")  # in one dimension "l2" is laplace


@final
@dataclass(frozen=True, kw_only=True)
class Baselines:
    """Noise for the block's norms alone.

    `laplace` for its l1 norm, `gaussian` for its l2 norm, None at δ = 0, and the least `spherical`.
    """

    laplace: Noise | None
    gaussian: Noise | None
    spherical: Noise

    @classmethod
    def of(cls, layout: Layout, budget: Budget) -> Baselines:
        """Return what the block needs if no more than the smallest of its l2 balls is known."""
        balls = (one.radius("l2", dimension=layout.dimension) for one in layout.sensitivities)
        ball = L2(min(radius for radius in balls if radius is not None))
        found: dict[str, Noise] = {}
        for name in _SPHERICAL:
            try:
                found[name] = calibrate(
                    name,
                    epsilon=budget.epsilon,
                    delta=budget.delta,
                    sensitivity=ball,
                    dimension=layout.dimension,
                ).noise
            except Refused:
                continue
        spherical = min(found.values(), key=lambda noise: noise.mse)
        laplace = None
        if budget.epsilon:
            apart = layout.bounding.l1(layout.numbers)
            laplace = Laplace(scale=apart / budget.epsilon, dimension=layout.dimension)
        return cls(laplace=laplace, gaussian=found.get("gaussian"), spherical=spherical)

    def saved(self, certificate: Certificate) -> float | None:
        """Return the part of the spherical noise's variance that fitting to the shape saves.

        None for noise that is as large in every direction.
        """
        geometry, variance = certificate.geometry, certificate.noise.variance
        if geometry is not None:
            variance *= float(geometry.deviations[0]) ** 2
        elif not isinstance(certificate.noise, VectorNoise):
            return None
        return 1 - variance / self.spherical.variance
