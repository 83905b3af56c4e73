"""Example bodies of every kind, by name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.bodies.cells import AtMost, Cells
from leastnoise.guarantees.bodies.counts import Counted, CountedSums, Counts
from leastnoise.guarantees.bodies.one_sided import OneSided
from leastnoise.guarantees.bodies.plain import Ball, Box, Polygon, Segment
from leastnoise.guarantees.bodies.signed import Differences, Signed
from leastnoise.guarantees.bodies.together import Jointly, Together

ONE = Segment(bound=1)
PAIR = Counts(queries=2)
ROWS = CountedSums(cells=2, bounds=[1, 2])

ONE_SIDED: dict[str, OneSided] = {
    "all of 2": PAIR,
    "all of 3": Counts(queries=3, bound="0.5"),
    "1 of 3": Counts(queries=3, most=1),
    "2 of 4": Counts(queries=4, most=2, bound=2),
    "a count and a sum": CountedSums(cells=1, bounds=[1, 2]),
    "two cells with sums": ROWS,
    "a cell with two sums": CountedSums(cells=1, bounds=[1, 1, 3]),
    "2 counted": Counted(of=PAIR, bound="0.5"),
    "1 of 2 counted": Counted(of=Counts(queries=2, most=1), bound=2),
    "counts and more counts": Jointly(
        parts=[PAIR, Counts(queries=2, most=1, bound=3)], radii=[1, 1], exponent=None
    ),
    "two blocks of rows": Jointly(
        parts=[ROWS, CountedSums(cells=1, bounds=[1])], radii=[1, "1.5"], exponent=None
    ),
    "split": Jointly(parts=[PAIR, Counts(queries=1)], radii=[3, "1.5"], exponent=1),
    "squares": Jointly(parts=[PAIR, Counts(queries=2)], radii=["5/3", "5/4"], exponent=2),
    "three halves": Jointly(
        parts=[Counts(queries=1), CountedSums(cells=1, bounds=[2, 1])],
        radii=["1.6", "1.6"],
        exponent="3/2",
    ),
}

BODIES: dict[str, Body] = {
    "interval": Segment(bound="1.5"),
    "box": Box(bounds=[1, "0.5", 2]),
    "disc": Ball(bound=2, coordinates=2),
    "ball": Ball(bound="0.5", coordinates=4),
    "hexagon": Polygon(points=[[1, 0], [0, 1], [1, 1]]),
    "skew polygon": Polygon(points=[[2, 1], [-1, 1], ["0.5", 2], ["-0.1", "0.2"]]),
    "cells": Cells(bodies=[ONE, Box(bounds=[1, 2])], copies=[2, 1]),
    "cells of discs": Cells(bodies=[Ball(bound=2, coordinates=2)], copies=[2]),
    "cells of hexagons": Cells(bodies=[Signed(of=PAIR)], copies=[2]),
    "2 of 3": AtMost(most=2, cells=3, of=ONE),
    "2 of 5": AtMost(most=2, cells=5, of=Segment(bound=2)),
    "2 of 3 boxes": AtMost(most=2, cells=3, of=Box(bounds=[1, 2])),
    "2 of 3 discs": AtMost(most=2, cells=3, of=Ball(bound=1, coordinates=2)),
    "product": Together(bodies=[ONE, Signed(of=PAIR)], radii=[1, 1], exponent=None),
    "split": Together(bodies=[Signed(of=PAIR), ONE], radii=[3, "1.5"], exponent=1),
    "joint discs": Together(
        bodies=[Ball(bound=1, coordinates=2), Ball(bound=3, coordinates=1)],
        radii=["5/3", "5/4"],
        exponent=2,
    ),
    "p = 1.7": Together(
        bodies=[Box(bounds=[1, 1]), Signed(of=PAIR)], radii=["1.6", "1.6"], exponent="1.7"
    ),
    "nested": Together(
        bodies=[Cells(bodies=[Box(bounds=[1, 1])], copies=[2]), ONE], radii=[1, 2], exponent=None
    ),
    **{f"signed {name}": Signed(of=item) for name, item in ONE_SIDED.items()},
    **{f"differences of {name}": Differences(of=item) for name, item in ONE_SIDED.items()},
}

# the multiples of the identity that a cube around the body needs: every coordinate's reach
Gauge = Callable[[NDArray[np.float64]], NDArray[np.float64]]
