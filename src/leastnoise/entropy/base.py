"""What the exact rounding needs to know of a noise draw, whatever its law."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from flint import arb
    from numpy.typing import NDArray


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """Some consecutive coordinates of one ideal draw, in units of the grid: x_i = X_i/g.

    `estimates` has shape (n,). Where `beyond` is False, |estimates_i − x_i| <= `error`, a proved
    bound, and |estimates_i| <= `reach`; elsewhere the estimate means nothing.
    `enclose(i, bits)` is a ball that contains x_i, made of at least `bits` random bits (the block's
    own, and fresh ones once those are used up) at the caller's precision; it shrinks as `bits`
    grows. Not to be used by several threads.
    """

    estimates: NDArray[np.float64]
    beyond: NDArray[np.bool_]
    error: float
    reach: float
    enclose: Callable[[int, int], arb]


def left_to_balls(count: int, enclose: Callable[[int, int], arb]) -> Block:
    """Return a block without estimates."""
    return Block(
        estimates=np.zeros(count),
        beyond=np.ones(count, dtype=bool),
        error=0.0,
        reach=0.0,
        enclose=enclose,
    )


class Sampler(ABC):
    """One draw of a noise vector; its coordinates are handed out in order, block by block."""

    @abstractmethod
    def draw(self, count: int) -> Block:
        """Return the next `count` coordinates."""
