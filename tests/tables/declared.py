"""Check in exact fractions that a person's shift obeys all statements of a layout."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import leastnoise as ln
from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.counts import Counts
from leastnoise.guarantees.bodies.plain import Box
from leastnoise.guarantees.bodies.signed import Differences
from leastnoise.guarantees.structured import Within
from leastnoise.tables.layout.layout import Layout


def check_declared(moved: Sequence[Fraction], layout: Layout) -> None:
    """Raise AssertionError unless the shift `moved` obeys all statements of the layout."""
    total, two = sum(map(abs, moved)), sum(value * value for value in moved)
    nonzero = sum(value != 0 for value in moved)
    whole = all(value.denominator == 1 for value in moved)
    assert total <= layout.l1
    assert two <= layout.l2**2
    assert all(gauge(moved, body) <= 1 for body in layout.bodies)
    check_added([-value for value in moved] if min(moved) < 0 else moved, layout)
    for sensitivity in layout.sensitivities:
        if isinstance(sensitivity, Within):
            assert gauge(moved, sensitivity.hull) <= 1
        elif isinstance(sensitivity, ln.L1):
            assert total <= sensitivity.bound
        elif isinstance(sensitivity, ln.L2):
            assert two <= sensitivity.bound**2, (
                f"moved by √{float(two)!r}, declared {float(sensitivity.bound)!r}"
            )
        elif isinstance(sensitivity, ln.Integer):
            assert total <= sensitivity.bound
            assert whole
        elif isinstance(sensitivity, ln.Linf):
            assert nonzero <= sensitivity.l0
            assert all(abs(value) <= sensitivity.bound for value in moved)
            assert whole or not sensitivity.whole
        else:
            assert isinstance(sensitivity, ln.CountingQueries)
            check_counted(moved, sensitivity, replaced=layout.neighbours == "replace-one")


def check_added(moved: Sequence[Fraction], layout: Layout) -> None:
    """Raise AssertionError unless an added unit is in all the `additions` of the layout."""
    for addition in layout.additions:
        assert min(moved) >= 0
        assert addition.most in (1, len(moved))
        assert max(moved) <= addition.bound
        assert sum(moved) <= addition.most * addition.bound


def check_counted(moved: Sequence[Fraction], text: ln.CountingQueries, *, replaced: bool) -> None:
    """Raise AssertionError unless the shift comes from one record, or from one replaced record."""
    assert text.neighbours == ("replace-one" if replaced else "add-remove")
    assert all(abs(value) <= text.bound for value in moved)
    more, less = sum(value > 0 for value in moved), sum(value < 0 for value in moved)
    assert max(more, less) <= text.max_nonzero
    assert replaced or min(more, less) == 0


def gauge(moved: Sequence[Fraction], body: Body) -> Fraction:
    """The gauge of a body, without the package's formulas.

    In a box it is the largest share of a bound; shares of cells add up. For differences of two
    histograms of at most b rows it is the larger of total rise and total fall, divided by b.
    """
    if isinstance(body, Differences):
        assert isinstance(body.of, Counts)
        assert body.of.most == 1
        ups = sum((value for value in moved if value > 0), Fraction(0))
        downs = sum((-value for value in moved if value < 0), Fraction(0))
        return max(ups, downs) / body.of.bound
    if isinstance(body, Cells):
        fraction, first = Fraction(0), 0
        for cell, copies in zip(body.bodies, body.copies, strict=True):
            for _ in range(copies):
                fraction += gauge(moved[first : first + cell.dimension], cell)
                first += cell.dimension
        return fraction
    assert isinstance(body, Box)
    return max(abs(value) / bound for value, bound in zip(moved, body.bounds, strict=True))
