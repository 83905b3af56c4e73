"""One draw of noise for a vector whose parts lie with several processes.

Either the law is S·(±Q(U_i)) with one S for all coordinates (theory/release.md §2): S is drawn once
and goes along with the parts. Or it is spherical, and R its length: a part of n coordinates has the
length R√B and a direction of its own, the shares B of all parts being Dirichlet(n/2) (§4), so that
the lengths of the parts go along. What else a coordinate is made of is drawn where it is added,
from the entropy of that machine's own operating system.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np
from flint import arb

from leastnoise.balls.core import precision
from leastnoise.entropy.lazy import GUARD, LazyAnyGamma
from leastnoise.entropy.scaled import SETTLED_BITS, ScaledSampler, Settled
from leastnoise.entropy.source import SystemEntropy
from leastnoise.entropy.spherical import SphericalSampler
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.mechanism.grid import exponent_of
from leastnoise.mechanism.reading import as_exact
from leastnoise.mechanism.rounding import round_sums
from leastnoise.mechanism.values import flat
from leastnoise.noise.base import Noise
from leastnoise.noise.draw import make_sampler
from leastnoise.noise.registry import registered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from leastnoise.certificate.certificate import Certificate
    from leastnoise.entropy.base import Sampler
    from leastnoise.mechanism.reading import Values


@final
@dataclass(frozen=True, repr=False, eq=False)
class SharedDraw:
    """A draw of `noise` on `grid`; it can be pickled, and tells nothing by its repr.

    What it holds is as secret as the values: who knows S, or a length, knows more of them than the
    guarantee says.
    """

    noise: Noise
    grid: Fraction
    _factor: Settled
    _size: int | None = None

    @classmethod
    def of(cls, certificate: Certificate, grid: Fraction) -> SharedDraw:
        """Draw what all coordinates share, for parts of any size.

        Raises NotApplicable for a geometry, and for laws whose coordinates share more than a factor
        (generalized gamma, mixtures, noise in the shape of a body).
        """
        noise = certificate.noise
        sampler = make_sampler(noise, grid=grid, entropy=SystemEntropy())
        if certificate.geometry is not None or not isinstance(sampler, ScaledSampler):
            why = "its coordinates can't be drawn apart; gaussian, l2 and laplace noise can"
            raise NotApplicable(family=noise.name, why=why)
        return cls(noise, grid, sampler.settled_factor())

    @classmethod
    def in_parts(
        cls, certificate: Certificate, grid: Fraction, sizes: Sequence[int]
    ) -> list[SharedDraw]:
        """Draw what the coordinates share, for parts of these sizes, each 1 at least.

        Raises NotApplicable as `of` does, but not for generalized gamma.
        """
        noise = certificate.noise
        radius = registered(type(noise)).part("radius")
        if radius is None or certificate.geometry is not None:
            return [cls.of(certificate, grid)] * len(sizes)
        entropy = SystemEntropy()
        length = radius(noise, grid, entropy)
        squares = [LazyAnyGamma(entropy, shape=Fraction(size, 2)) for size in sizes]
        with precision(SETTLED_BITS + GUARD):
            parts = [square.enclose(SETTLED_BITS) for square in squares]
            per_root = length.enclose(SETTLED_BITS) / sum(parts, arb(0)).sqrt()
            lengths = [Settled.of(per_root * part.sqrt()) for part in parts]
        return [cls(noise, grid, one, size) for one, size in zip(lengths, sizes, strict=True)]

    def added_to(self, values: Values) -> NDArray[np.float64]:
        """Return `values`, any coordinates of the vector, with their noise, shape (n,).

        What `add_noise` says of values holds. Each coordinate may be asked for once: whoever sees
        it with two draws knows more than the guarantee says. Raises InvalidArgument for another
        number of values than that of the part, if it has one.
        """
        exact_values, exponent = as_exact(values), exponent_of(self.grid)
        size = flat(exact_values).size
        if self._size not in {None, size}:
            raise InvalidArgument(name="values", value=size, expected=f"{self._size} of them")
        with np.errstate(all="ignore"):
            steps = round_sums(self._sampler(), exponent, exact_values)
            return np.ldexp(steps.astype(np.float64), exponent)

    def _sampler(self) -> Sampler:
        entropy = SystemEntropy()
        if self._size is not None:
            return SphericalSampler(self._factor, self._size, entropy)
        sampler = make_sampler(self.noise, grid=self.grid, entropy=entropy)
        assert isinstance(sampler, ScaledSampler)  # see `of`  # noqa: S101
        return sampler.sharing(self._factor)
