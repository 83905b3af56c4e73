"""When a search ends: after an amount of work, or after seconds if the user sets them.

Work is the same on every machine, and so is what is found by it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, final

from leastnoise import _validate
from leastnoise._record import field, optional, real, record
from leastnoise.errors import InvalidArgument

Progress = Callable[[str], None]

WORK = 3 * 10**9
"""Of a whole search: about a minute. A unit is a step of the simplex method in one row (20 ns)."""

TOLERANCE = 1e-9
"""Of rows of size 1 of a linear program: at HiGHS' smallest, 1e-10, it often gives up."""


@final
@record()
class Effort:
    """How near to the best possible a design has to be, and how long it is worth trying.

    `gap` is relative (0.005 is half a per cent; None leaves it to who designs). The best design so
    far is taken after `work`; or after so many `seconds`, if they are set, and then it depends on
    the machine which one that is. `progress` is told the stages. Raises InvalidArgument for a gap
    or a time that isn't positive.
    """

    gap: float | None = field(converter=optional(real()), default=None)
    work: int = WORK
    seconds: float | None = field(converter=optional(real(name="time_limit")), default=None)
    progress: Progress | None = None

    def _check_together(self) -> None:
        _validate.listener(self.progress)
        if self.gap is not None and not 0 < self.gap < 1:
            raise InvalidArgument(
                name="gap",
                value=self.gap,
                expected="0 < gap < 1",
                hint="Half a per cent is 0.005.",
            )
        if self.seconds is not None and not 0 < self.seconds < math.inf:
            raise InvalidArgument(
                name="time_limit", value=self.seconds, expected="a positive number of seconds"
            )

    @property
    def limit(self) -> str:
        """Where the search stops, in a word: what it finds is the same for the same word."""
        return f"work {self.work}" if self.seconds is None else "clock"

    def begin(self) -> Allowance:
        """Return the allowance of work and time, from now on."""
        if self.seconds is None:
            return Allowance(work=self.work)
        return Allowance(work=math.inf, deadline=time.perf_counter() + self.seconds)


@final
class Allowance:
    """What is left of an effort: work, and time if there is a `deadline` (of time.perf_counter)."""

    def __init__(
        self, *, work: float, deadline: float = math.inf, whole: Allowance | None = None
    ) -> None:
        self._work, self._deadline, self._whole = work, deadline, whole

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return self._work <= 0 or self._seconds <= 0

    @property
    def _seconds(self) -> float:
        return self._deadline - time.perf_counter()

    def part(self, share: float) -> Allowance:
        """Return a `share` of what is left, for one try: what it spends is spent of the whole."""
        left = self._seconds
        deadline = math.inf if math.isinf(left) else time.perf_counter() + share * max(left, 0.5)
        return Allowance(work=share * self._work, deadline=deadline, whole=self)

    def options(self, *, rows: int, most: float = math.inf) -> dict[str, Any]:
        """Return the options that hold `linprog` to this, and to `most` steps."""
        steps, seconds = min(most, self._work / rows), self._seconds
        found: dict[str, Any] = {}
        if not math.isinf(steps):
            found["maxiter"] = max(1, math.ceil(steps))
        if not math.isinf(seconds):
            found["time_limit"] = max(seconds, 0.0)
        return found

    def charge(self, found: Any, *, rows: int, interior: bool) -> None:
        """Spend what `linprog` did to give `found` for a program of so many rows."""
        # a step of an interior-point method counts for 20 of the simplex method
        steps = 20 * found.nit + (found.crossover_nit or 0) if interior else found.nit
        self._spend(max(1, steps) * rows)

    def _spend(self, work: float) -> None:
        self._work -= work
        if self._whole is not None:
            self._whole._spend(work)  # noqa: SLF001  (of the same class)
