"""Every sensitivity by the name that certificates use."""

from __future__ import annotations

from leastnoise.guarantees.sensitivity import BALLS, Sensitivity
from leastnoise.guarantees.structured import CountingQueries, Groups, Linf, Vertices
from leastnoise.guarantees.within import Within

SENSITIVITIES: dict[str, type[Sensitivity]] = {
    **BALLS,
    **{kind.kind: kind for kind in (CountingQueries, Groups, Linf, Vertices, Within)},
}
