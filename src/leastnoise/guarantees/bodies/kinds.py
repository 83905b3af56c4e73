"""Every body, and every one-sided set, by the name that certificates use."""

from __future__ import annotations

from leastnoise.guarantees.bodies.at_most import AtMost
from leastnoise.guarantees.bodies.ball import Ball
from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.bodies.box import Box
from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.counted import Counted
from leastnoise.guarantees.bodies.counted_sums import CountedSums
from leastnoise.guarantees.bodies.counts import Counts
from leastnoise.guarantees.bodies.differences import Differences
from leastnoise.guarantees.bodies.interval import Interval
from leastnoise.guarantees.bodies.jointly import Jointly
from leastnoise.guarantees.bodies.one_sided import OneSided
from leastnoise.guarantees.bodies.polygon import Polygon
from leastnoise.guarantees.bodies.signed import Signed
from leastnoise.guarantees.bodies.together import Together

BODIES: dict[str, type[Body]] = {
    kind.kind: kind
    for kind in (AtMost, Ball, Box, Cells, Differences, Interval, Polygon, Signed, Together)
}

ONE_SIDED: dict[str, type[OneSided]] = {
    kind.kind: kind for kind in (Counted, CountedSums, Counts, Jointly)
}
