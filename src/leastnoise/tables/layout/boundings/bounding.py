"""The types of a unit's boundings, and the bounding that each single row meets."""

from __future__ import annotations

from fractions import Fraction

from leastnoise.tables.layout.boundings.in_ball import InBall
from leastnoise.tables.layout.boundings.in_cells import InCells
from leastnoise.tables.layout.boundings.in_unlisted_groups import InUnlistedGroups
from leastnoise.tables.layout.boundings.once_in_cells import OnceInCells

CellBounding = OnceInCells | InCells | InBall
"""The boundings of a unit in listed cells."""
Bounding = CellBounding | InUnlistedGroups
"""The boundings of a unit in listed cells or in unlisted groups."""
ONE_ROW = InCells(per_cell=Fraction(1), total=Fraction(1), first=1)
"""The limits that every single row meets by itself: one cell, with numbers in [−1, 1]."""
