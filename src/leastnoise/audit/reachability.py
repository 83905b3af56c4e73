"""The reachability attack: outputs that one input can have and the other can't.

Tried are what kind of number the output is (NaN, ±inf, whole), whether it lies within the range
that the other input had, and where it lies between two neighbouring multiples of a step: of the
powers of two below the outputs' spread, and of a step that the outputs themselves show. A grid
that is moved with the data is seen by the last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leastnoise.audit.events import Feature, choose, judge

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.audit.finding import Finding
    from leastnoise.audit.subject import Subject

_FEW_COORDINATES = 4
_PHASES = 32
# Powers of two below the spread: modulo a coarser one it is the size of the output that is seen,
# which is the distinguishing test's to look at.
_COARSEST, _FINEST = 3, 26


def detect(subject: Subject) -> Finding:
    """Return the finding of the reachability attack."""
    features: list[Feature] = []
    with np.errstate(all="ignore"):
        for index in range(min(subject.dimension, _FEW_COORDINATES)):
            seen = [one[:, index] for one in subject.first]
            features += [_kind(index), _range(index, seen)]
            features += [_phase(index, step) for step in _steps(seen)]
        return judge(choose(features, subject), subject, detector="reachability")


def _kind(index: int) -> Feature:
    """Return whether the output is NaN, −inf, inf, whole, or another number."""

    def labels(outputs: NDArray[np.float64]) -> NDArray[np.intp]:
        x = outputs[:, index]
        kinds = [np.isnan(x), np.isneginf(x), np.isposinf(x), x == np.rint(x)]
        return np.select(kinds, range(4), default=4)

    return Feature(name=f"the kind of number in coordinate {index}", cells=5, labels=labels)


def _range(index: int, seen: list[NDArray[np.float64]]) -> Feature:
    """Return where the output lies beside the least and the largest on either input."""
    finite = [one[np.isfinite(one)] for one in seen]
    ends = [end for one in finite if one.size for end in (one.min(), one.max())]
    cuts = np.unique(np.array(ends))
    # twice, so that an end itself is a cell of its own
    edges = np.unique(np.concatenate([cuts, np.nextafter(cuts, np.inf)]))

    def labels(outputs: NDArray[np.float64]) -> NDArray[np.intp]:
        return np.searchsorted(edges, outputs[:, index], side="right")

    name = f"the range of coordinate {index} on either input"
    return Feature(name=name, cells=edges.size + 1, labels=labels, ordered=True)


def _steps(seen: list[NDArray[np.float64]]) -> list[float]:
    """Return the steps to try: powers of two, and what the outputs show."""
    every = np.concatenate(seen)
    every = every[np.isfinite(every)]
    if not every.size:
        return []
    low, high = np.quantile(every, (0.1, 0.9))
    spread = float(high - low) or 1.0
    top = int(np.frexp(spread)[1])
    steps = [float(np.ldexp(1.0, power)) for power in range(top - _FINEST, top - _COARSEST + 1)]
    for one in seen:
        distinct = np.unique(one[np.isfinite(one)])
        if 1 < distinct.size < one.size // 4:  # most outputs repeat: they lie on some lattice
            steps.append(float(np.median(np.diff(distinct))))
    return [step for step in steps if step > 0 and np.isfinite(step)]


def _phase(index: int, step: float) -> Feature:
    """Return y/step modulo 1, in 32nds; and whether it is exactly 0."""

    def labels(outputs: NDArray[np.float64]) -> NDArray[np.intp]:
        y = outputs[:, index] / step
        phase = y - np.floor(y)
        near = np.rint(_PHASES * np.nan_to_num(phase)).astype(np.intp) % _PHASES
        return np.where(phase == 0, _PHASES, near)

    name = f"coordinate {index} modulo {step:.6g}"
    return Feature(name=name, cells=_PHASES + 1, labels=labels)
