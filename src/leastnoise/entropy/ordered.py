"""Sorted uniforms on (0, 1), each refined on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.entropy.lazy import LazyUniform

if TYPE_CHECKING:
    from flint import arb
    from numpy.typing import NDArray

    from leastnoise.entropy.source import Entropy


@final
class OrderedUniforms:
    """`words` holds the first 64 bits of each of `count` independent uniforms, in order."""

    def __init__(self, count: int, entropy: Entropy) -> None:
        self._entropy = entropy
        self.words: NDArray[np.uint64] = np.sort(entropy.words(count))
        self._lazy: dict[int, LazyUniform] = {}
        self._part_ties()

    def _part_ties(self) -> None:
        """Sort equal words by further bits, until all differ: what is sorted is the uniforms."""
        equal = np.flatnonzero(self.words[1:] == self.words[:-1])
        for word in np.unique(self.words[equal]):
            run = np.flatnonzero(self.words == word)
            known, tails = 0, [0] * run.size
            while len(set(tails)) < run.size:
                tails = [tail << 64 | self._entropy.bits(64) for tail in tails]
                known += 64
            for index, tail in zip(run.tolist(), sorted(tails), strict=True):
                prefix = int(word) << known | tail
                self._lazy[index] = LazyUniform(self._entropy, prefix=prefix, known=64 + known)

    def enclose(self, index: int, bits: int) -> arb:
        """Enclose one of them; see `LazyReal.enclose`."""
        if index not in self._lazy:
            prefix = int(self.words[index])
            self._lazy[index] = LazyUniform(self._entropy, prefix=prefix, known=64)
        return self._lazy[index].enclose(bits)
