"""How a whole is shared out: Dirichlet laws of whole shapes, as spacings of sorted uniforms."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np
from flint import arb

from leastnoise.entropy.ordered import OrderedUniforms
from leastnoise.noise.bodies.sampler.reals import Estimates, Reals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.entropy.source import Entropy


@final
class Shares(Reals):
    """The first `kept` entries of a Dirichlet(shapes), of two shapes at least.

    Σ shapes − 1 sorted uniforms cut (0, 1) up; each share is as many adjacent spacings as its shape
    says. `error`: ends are known to 2^-64, and their difference, a whole number below 2^64, rounds
    by 2^-53 of itself.
    """

    def __init__(self, shapes: NDArray[np.int64], entropy: Entropy, *, kept: int) -> None:
        self.size = kept
        self._cuts = np.append(0, np.cumsum(shapes))
        self._last = int(self._cuts[-1])
        self._ends = OrderedUniforms(self._last - 1, entropy)

    def floats(self, start: int, stop: int) -> Estimates:
        cuts = self._cuts[start : stop + 1]
        ends = np.zeros(cuts.size, dtype=np.uint64)
        # the end of the whole, 1, is the word 0, and unsigned differences wrap
        inside = (cuts > 0) & (cuts < self._last)
        ends[inside] = self._ends.words[cuts[inside] - 1]
        values = (ends[1:] - ends[:-1]).astype(np.float64)
        values *= 2.0**-64
        reach = float(values.max(initial=0.0))
        return Estimates(
            values=values,
            beyond=np.zeros(values.size, dtype=bool),
            error=2.0**-63 + 2.0**-53 * reach,
            reach=reach,
        )

    def enclose(self, index: int, bits: int) -> arb:
        return self._end(index + 1, bits) - self._end(index, bits)

    def _end(self, index: int, bits: int) -> arb:
        cut = int(self._cuts[index])
        if cut in (0, self._last):
            return arb(1 if cut else 0)
        return self._ends.enclose(cut - 1, bits)
