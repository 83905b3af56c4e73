"""The mechanism under test, and its outputs on two neighbouring inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from leastnoise.errors import InvalidArgument

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.audit.claim import Claim

Draw = Callable[[Any, int], Any]
"""(input, count) ↦ that many outputs."""
Together = Callable[[Any, int], "tuple[NDArray[np.float64], NDArray[np.float64]]"]
"""(input, count) ↦ the outputs of two processes at the same time."""


@final
@dataclass(frozen=True, kw_only=True)
class Subject:
    """What every detector is given.

    `outputs` are those on the two inputs, of shape (draws, dimension) each. `error` is the
    probability that the detector may err with. A mechanism that is a command has `together`.
    """

    claim: Claim
    inputs: tuple[Any, Any]
    outputs: tuple[NDArray[np.float64], NDArray[np.float64]]
    draw: Draw
    error: Fraction
    score: Callable[[Any], Any] | None = None
    together: Together | None = None

    @property
    def dimension(self) -> int:
        """Numbers in one output."""
        return self.outputs[0].shape[1]

    def coordinates(self, most: int = 8) -> range:
        """Return those of the first `most` coordinates that there are: not all are looked at."""
        return range(min(self.dimension, most))

    @property
    def draws(self) -> int:
        """Outputs on each input."""
        return self.outputs[0].shape[0]

    @property
    def first(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The half of the outputs on which events are chosen."""
        half = self.draws // 2
        return self.outputs[0][:half], self.outputs[1][:half]

    @property
    def second(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The half on which they are tested."""
        half = self.draws // 2
        return self.outputs[0][half:], self.outputs[1][half:]

    @property
    def centres(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """The inputs as vectors of the outputs' dimension, None if they aren't numbers."""
        found = [_as_vector(one, self.dimension) for one in self.inputs]
        return None if found[0] is None or found[1] is None else (found[0], found[1])


def _as_vector(value: Any, dimension: int) -> NDArray[np.float64] | None:
    try:
        found = np.asarray(value)
    except ValueError:  # rows of several lengths
        return None
    if found.dtype.kind not in "iuf" or found.size != dimension:
        return None
    return found.astype(np.float64).reshape(dimension)


def draw_outputs(draw: Draw, value: Any, count: int) -> NDArray[np.float64]:
    """Return `count` outputs as floats of shape (count, dimension).

    Raises InvalidArgument for outputs that aren't that; it names their shape alone.
    """
    try:
        found = np.asarray(draw(value, count))
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        found = np.array(None)
    if found.dtype.kind not in "iufb" or found.ndim not in (1, 2) or found.shape[0] != count:
        raise InvalidArgument(
            name="mechanism",
            value=f"outputs of type {found.dtype.type.__name__} and shape {found.shape}",
            expected=f"mechanism(input, {count}) to return real numbers of shape ({count},) or "
            f"({count}, dimension)",
            hint="For a mechanism that returns one output a call, say batched=False.",
        )
    if found.shape[-1] == 0:
        raise InvalidArgument(name="mechanism", value="no numbers", expected="outputs of numbers")
    return np.ascontiguousarray(found.astype(np.float64).reshape(count, -1))
