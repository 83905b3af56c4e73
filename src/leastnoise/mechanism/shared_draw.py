"""One draw of noise for a vector whose parts lie with several processes.

Every law here is S·(±Q(U_i)) with one S for all coordinates (theory/release.md §2). S is drawn once
and goes along with the parts; what else a coordinate is made of is drawn where it is added, from
the entropy of that machine's own operating system.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.entropy.scaled import ScaledSampler, Settled
from leastnoise.entropy.source import SystemEntropy
from leastnoise.errors import NotApplicable
from leastnoise.mechanism.grid import exponent_of
from leastnoise.mechanism.reading import as_exact
from leastnoise.mechanism.rounding import round_sums
from leastnoise.noise.base import Noise
from leastnoise.noise.draw import sampler_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.certificate.certificate import Certificate
    from leastnoise.mechanism.reading import Values


@final
@dataclass(frozen=True, repr=False, eq=False)
class SharedDraw:
    """A draw of `noise` on `grid`; it can be pickled, and tells nothing by its repr.

    It is a secret, as the values are: who knows S knows more of them than the guarantee says.
    """

    noise: Noise
    grid: Fraction
    _factor: Settled

    @classmethod
    def of(cls, certificate: Certificate, grid: Fraction) -> SharedDraw:
        """Draw what all coordinates share.

        Raises NotApplicable for a geometry, and for laws whose coordinates share more than a factor
        (generalized gamma, mixtures, noise in the shape of a body).
        """
        noise = certificate.noise
        sampler = sampler_of(noise, grid=grid, entropy=SystemEntropy())
        if certificate.geometry is not None or not isinstance(sampler, ScaledSampler):
            why = "its coordinates can't be drawn apart; gaussian, l2 and laplace noise can"
            raise NotApplicable(family=noise.name, why=why)
        return cls(noise, grid, sampler.settled_factor())

    def added_to(self, values: Values) -> NDArray[np.float64]:
        """Return `values`, any coordinates of the vector, with their noise, shape (n,).

        What `add_noise` says of values holds. Each coordinate may be asked for once: whoever sees
        it with two draws knows more than the guarantee says.
        """
        sampler = sampler_of(self.noise, grid=self.grid, entropy=SystemEntropy())
        assert isinstance(sampler, ScaledSampler)  # see `of`  # noqa: S101
        exponent = exponent_of(self.grid)
        with np.errstate(all="ignore"):
            steps = round_sums(sampler.sharing(self._factor), exponent, as_exact(values))
            return np.ldexp(steps.astype(np.float64), exponent)
