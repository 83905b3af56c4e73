"""What a proof may cost: bounds on what a statement is about, looked at before any work is done.

A certificate comes from anywhere, and some laws within a family's own bounds take hours to prove,
or more memory than there is. These bounds are public numbers alone, alike on every machine, and the
same for `prove`: whatever leastnoise calibrates, it verifies. Each is that of some half a minute
on one core, or of 500 MB, of proofs measured with CPython 3.11 and python-flint 0.8.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from leastnoise.errors import NotApplicable
from leastnoise.noise.registry import registered

if TYPE_CHECKING:
    from leastnoise.noise.releases import Releases


def check_work(part: Releases, epsilon: Fraction) -> None:
    """Raise NotApplicable if the proof of `part` at `epsilon` takes too much time or memory."""
    bound = registered(type(part.noise)).part("work")
    why = bound(part, part.noise.worst_shift(part.shifts.outer), epsilon) if bound else None
    if why:
        raise NotApplicable(family=part.noise.name, why=why)
