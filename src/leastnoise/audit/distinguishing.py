"""The distinguishing test: an event of large probability ratio, by one number made of the output.

That number is the output itself; for a vector its projection on the shift and each of its first
coordinates, and the logarithm of the likelihood ratio where the noise is named; or a user's own
score. Its range is cut at quantiles of the first half, finely at the ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.audit.events import Feature, choose, judge
from leastnoise.errors import InvalidArgument

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.audit.finding import Finding
    from leastnoise.audit.subject import Subject

    Score = Callable[[NDArray[np.float64]], NDArray[np.float64]]

_BINS = 200
_MOST_COORDINATES = 8


def detect(subject: Subject) -> Finding:
    """Return the finding of the distinguishing test."""
    with np.errstate(all="ignore"):  # outputs may be inf or NaN
        features = [_cut(name, score, subject) for name, score in _scores(subject).items()]
        return judge(choose(features, subject), subject, detector="distinguishing")


def _scores(subject: Subject) -> dict[str, Score]:
    if subject.score is not None:
        return {"the score": _checked(subject.score)}
    if subject.dimension == 1:
        return {"their size": lambda outputs: outputs[:, 0]}
    direction = _direction(subject)
    scores: dict[str, Score] = {
        "their projection on the shift": lambda outputs: outputs @ direction
    }
    for index in range(min(subject.dimension, _MOST_COORDINATES)):
        scores[f"coordinate {index}"] = lambda outputs, index=index: outputs[:, index]
    noise, centres = subject.claim.noise, subject.centres
    if noise is not None and centres is not None and noise.dimension == subject.dimension:
        x, other = centres
        scores["the likelihood ratio of the claimed noise"] = lambda outputs: (
            noise.log_density(outputs - x) - noise.log_density(outputs - other)
        )
    return scores


def _direction(subject: Subject) -> NDArray[np.float64]:
    """Return x' − x, of the inputs if they are vectors, else of the outputs' medians."""
    ends = subject.centres
    if ends is None:
        ends = tuple(np.nan_to_num(np.median(one, axis=0)) for one in subject.first)
    shift = ends[1] - ends[0]
    return shift if shift.any() else np.ones_like(shift)


def _checked(score: Callable[[NDArray[np.float64]], object]) -> Score:
    """Return the user's score, the shape and type of whose results are checked."""

    def checked(outputs: NDArray[np.float64]) -> NDArray[np.float64]:
        found = np.asarray(score(outputs))
        if found.shape != outputs.shape[:1] or found.dtype.kind not in "iufb":
            raise InvalidArgument(
                name="score",
                value=f"results of shape {found.shape}",
                expected=f"score(outputs) to return a number for each of {len(outputs):,} outputs",
            )
        return found.astype(np.float64)

    return checked


def _cut(name: str, score: Score, subject: Subject) -> Feature:
    """Return the intervals between quantiles of the score, and one cell more for NaN."""
    edges: list[NDArray[np.float64]] = []
    for outputs in subject.first:
        found = score(outputs)
        found = np.sort(found[np.isfinite(found)])
        if found.size:
            edges.append(found[_ranks(found.size)])
    cuts = np.unique(np.concatenate(edges)) if edges else np.zeros(1)

    def labels(outputs: NDArray[np.float64]) -> NDArray[np.intp]:
        found = score(outputs)
        return np.where(np.isnan(found), cuts.size + 1, np.searchsorted(cuts, found, side="right"))

    return Feature(name=name, cells=cuts.size + 2, labels=labels, ordered=True)


def _ranks(size: int) -> NDArray[np.intp]:
    """Return ranks at equal distances, and 0, 1, 2, 4, … from either end."""
    middle = np.linspace(0, size - 1, _BINS).astype(np.intp)
    ends = (1 << np.arange(max(1, size.bit_length() - 1))) - 1
    ends = ends[ends < size]
    return np.unique(np.concatenate([middle, ends, size - 1 - ends]))
