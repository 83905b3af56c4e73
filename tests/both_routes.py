"""One draw by two routes: float estimates where they suffice, or balls for every coordinate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.sampling.base import Block, Sampler
from leastnoise.sampling.entropy import Entropy, InsecureSeededEntropy

if TYPE_CHECKING:
    from flint import arb


class OnlyBalls(Sampler):
    """The same draw, with every float estimate disowned."""

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler

    def draw(self, count: int) -> Block:
        block = self.sampler.draw(count)
        return replace(block, beyond=np.ones(count, dtype=bool), estimates=np.zeros(count))


class Counting(Sampler):
    """The same draw; notes the coordinates that needed balls."""

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler
        self.asked: set[tuple[int, int]] = set()
        self.blocks = 0

    def draw(self, count: int) -> Block:
        block = self.sampler.draw(count)
        number = self.blocks
        self.blocks += 1

        def enclose(index: int, bits: int) -> arb:
            self.asked.add((number, index))
            return block.enclose(index, bits)

        return replace(block, enclose=enclose)


class GivenWords(Entropy):
    """The given 64-bit words, then seeded bits."""

    def __init__(self, words: Sequence[int], *, seed: int = 1) -> None:
        self._given = b"".join(word.to_bytes(8, "little") for word in words)
        self._later = InsecureSeededEntropy(seed)

    def _read(self, size: int) -> bytes:
        taken, self._given = self._given[:size], self._given[size:]
        missing = size - len(taken)
        return taken + (self._later._read(missing) if missing else b"")
