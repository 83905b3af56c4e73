"""Limits of a search: an amount of work, or seconds if the user sets them.

With a limit in work, a search has the same result on every machine.
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
"""The work of a whole search, which takes about a minute.

Its unit is one simplex step for one row (20 ns).
"""

TOLERANCE = 1e-9
"""The solver's tolerance for rows of size 1; HiGHS often gives up at 1e-10, its minimum."""


@final
@record()
class Effort:
    """The target gap of a design, and the work or time that may be spent on it.

    `gap` is the relative excess of a design's loss over its lower bound that ends the search (0.005
    is half a per cent; None uses a default). `work` is in the unit of WORK. If `seconds` are set,
    they limit the search instead, and the design depends on the machine. `progress` is called with
    a sentence for each stage. Raises InvalidArgument unless 0 < gap < 1 and 0 < seconds < ∞.
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
        """The limit as text for a cache key: the work, or "clock" for any limit in seconds."""
        return f"work {self.work}" if self.seconds is None else "clock"

    def begin(self) -> Allowance:
        """The work and the time that a search may spend from now on."""
        if self.seconds is None:
            return Allowance(work=self.work)
        return Allowance(work=math.inf, deadline=time.perf_counter() + self.seconds)


@final
class Allowance:
    """The rest of the work that a search may do, and the time at which the search has to end.

    `deadline` is a reading of time.perf_counter. If `whole` is given, this is a part of it, and
    work is deducted from both.
    """

    def __init__(
        self, *, work: float, deadline: float = math.inf, whole: Allowance | None = None
    ) -> None:
        self._work, self._deadline, self._whole = work, deadline, whole

    @property
    def spent(self) -> bool:
        """True if no work or no time is left."""
        return self._work <= 0 or self._seconds <= 0

    @property
    def _seconds(self) -> float:
        return self._deadline - time.perf_counter()

    def part(self, share: float) -> Allowance:
        """An allowance for one attempt: a `share` of the remaining work and time."""
        remaining = self._seconds
        deadline = (
            math.inf if math.isinf(remaining) else time.perf_counter() + share * max(remaining, 0.5)
        )
        return Allowance(work=share * self._work, deadline=deadline, whole=self)

    def options(self, *, rows: int, most: float = math.inf) -> dict[str, Any]:
        """Options for `linprog` that limit it to this allowance, and to `most` steps.

        `rows` is the number of rows of the program, on which the work of a step depends.
        """
        steps, seconds = min(most, self._work / rows), self._seconds
        options: dict[str, Any] = {}
        if not math.isinf(steps):
            options["maxiter"] = max(1, math.ceil(steps))
        if not math.isinf(seconds):
            options["time_limit"] = max(seconds, 0.0)
        return options

    def charge(self, result: Any, *, rows: int, interior: bool) -> None:
        """Deduct the work of a `linprog` result for a program with `rows` rows."""
        # a step of an interior-point method counts for 20 of the simplex method
        steps = 20 * result.nit + (result.crossover_nit or 0) if interior else result.nit
        self._spend(max(1, steps) * rows)

    def _spend(self, work: float) -> None:
        self._work -= work
        if self._whole is not None:
            self._whole._spend(work)  # noqa: SLF001  (of the same class)
