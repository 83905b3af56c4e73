"""Three detectors for events that tell the inputs apart, by features of the output.

**distinguishing**: an event with a large probability ratio, by a number computed from the output.
This number is the output itself. For a vector, the numbers are the projection on the shift, each of
the first coordinates, and the log-likelihood ratio if the noise is claimed. The user's score
replaces them. The range of each number is cut at quantiles of the first half, finely at the ends.

**precision** (Mironov 2012): the last bits of floats reveal the input. Noise computed in floats and
added to a float reaches few of the nearby floats, and which ones depends on the value. There are
two tests:

- The finest power of two that divides the output, and the number of trailing zeros of its
  significand: 0 + X has all bits of X, but 1 + X has lost some for small X.
- Textbook Laplace noise is ±b·ln(k/2^53) for a whole k. The test looks for a k that gives exactly
  the output y from the input x.

**reachability**: outputs that one input can produce and the other can't. Features are the kind of
number (NaN, ±inf, whole), the position relative to the range on each input, and the position
between neighbouring multiples of a step. Steps are powers of two below the outputs' spread, and a
step that the outputs show. The outputs' own step reveals a grid that moves with the data.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.audit.events import Feature, choose, judge
from leastnoise.errors import InvalidArgument

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.audit.claim import Finding, Subject

    Score = Callable[[NDArray[np.float64]], NDArray[np.float64]]

_FEW_COORDINATES = 4  # coordinates whose bits, ranges and steps are tested
_SIGNIFICAND = sys.float_info.mant_dig
_POWERS = 2200  # number of powers of two among doubles
_BINADES = 24  # binades below the largest output's; all smaller ones share a label
_PHASES = 32


def detect_distinguishing(subject: Subject) -> Finding:
    """Run the test `distinguishing`, by events with a large ratio of probabilities."""
    with np.errstate(all="ignore"):  # outputs may be inf or NaN
        features = [_cut(name, score, subject) for name, score in _scores(subject).items()]
        return judge(choose(features, subject), subject, detector="distinguishing")


def _scores(subject: Subject) -> dict[str, Score]:
    if subject.score is not None:
        return {"the score": _check_results(subject.score)}
    if subject.dimension == 1:
        return {"their size": lambda outputs: outputs[:, 0]}
    direction = _direction(subject)
    scores: dict[str, Score] = {
        "their projection on the shift": lambda outputs: outputs @ direction
    }
    for index in subject.coordinates():
        scores[f"coordinate {index}"] = lambda outputs, index=index: outputs[:, index]
    noise, centres = subject.claim.noise, subject.centres
    if noise is not None and centres is not None and noise.dimension == subject.dimension:
        x, other = centres
        scores["the likelihood ratio of the claimed noise"] = lambda outputs: (
            noise.log_density(outputs - x) - noise.log_density(outputs - other)
        )
    return scores


def _direction(subject: Subject) -> NDArray[np.float64]:
    """A direction in which vector outputs on the two inputs should differ, shape (dimension,).

    It is the difference of the two inputs if they are vectors, and otherwise the difference of the
    outputs' medians on them. If that is 0, it is a vector of ones.
    """
    ends = subject.centres
    if ends is None:
        ends = tuple(np.nan_to_num(np.median(outputs, axis=0)) for outputs in subject.first)
    shift = ends[1] - ends[0]
    return shift if shift.any() else np.ones_like(shift)


def _check_results(score: Callable[[NDArray[np.float64]], object]) -> Score:
    """Wrap the user's score, and check the shape and type of the results."""

    def score_and_check(outputs: NDArray[np.float64]) -> NDArray[np.float64]:
        scores = np.asarray(score(outputs))
        if scores.shape != outputs.shape[:1] or scores.dtype.kind not in "iufb":
            raise InvalidArgument(
                name="score",
                value=f"results of shape {scores.shape}",
                expected=f"score(outputs) to return a number for each of {len(outputs):,} outputs",
            )
        return scores.astype(np.float64)

    return score_and_check


def _cut(name: str, score: Score, subject: Subject) -> Feature:
    """Cut the range of the score into cells at quantiles, with an extra cell for NaN."""
    edges: list[NDArray[np.float64]] = []
    for outputs in subject.first:
        scores = score(outputs)
        scores = np.sort(scores[np.isfinite(scores)])
        if scores.size:
            edges.append(scores[_quantile_indices(scores.size)])
    cuts = np.unique(np.concatenate(edges)) if edges else np.zeros(1)

    def labels(outputs: NDArray[np.float64]) -> NDArray[np.intp]:
        scores = score(outputs)
        cells = np.searchsorted(cuts, scores, side="right")
        return np.where(np.isnan(scores), cuts.size + 1, cells)

    return Feature(name=name, cells=cuts.size + 2, labels=labels, ordered=True)


def _quantile_indices(size: int) -> NDArray[np.intp]:
    """The indices, in a sorted array of `size` scores, of the scores at which to cut their range.

    These are about 200 indices at equal distances, and the indices 0, 1, 3, 7, … from either end.
    """
    middle = np.linspace(0, size - 1, 200).astype(np.intp)
    ends = (1 << np.arange(max(1, size.bit_length() - 1))) - 1
    ends = ends[ends < size]
    return np.unique(np.concatenate([middle, ends, size - 1 - ends]))


def detect_precision(subject: Subject) -> Finding:
    """Run the test `precision`, by the last bits of floats."""
    features: list[Feature] = []
    with np.errstate(all="ignore"):
        for index in subject.coordinates(_FEW_COORDINATES):
            features += [_finest_power(index), _bits_left(index, subject)]
        inversion = _laplace_inversion(subject)
        if inversion is not None:
            features.append(inversion)
        return judge(choose(features, subject), subject, detector="precision")


def _finest_power(index: int) -> Feature:
    """Label an output by the largest whole j for which coordinate `index` is a multiple of 2^j."""

    def labels(outputs: NDArray[np.float64]) -> NDArray[np.intp]:
        exponent, zeros = _significand(outputs[:, index])
        power = exponent + zeros + 1074  # the finest power of two of a double is 2^-1074
        return np.where(np.isfinite(outputs[:, index]), np.clip(power, 0, _POWERS - 1), _POWERS)

    name = f"the finest power of two that divides coordinate {index}"
    return Feature(name=name, cells=_POWERS + 1, labels=labels, ordered=True)


def _bits_left(index: int, subject: Subject) -> Feature:
    """Label an output by coordinate `index`: its binade, and its significand's trailing zeros."""
    sizes = np.concatenate([np.abs(outputs[:, index]) for outputs in subject.first])
    sizes = sizes[np.isfinite(sizes)]
    top = int(np.frexp(sizes.max())[1]) if sizes.size else 0

    def labels(outputs: NDArray[np.float64]) -> NDArray[np.intp]:
        exponent, zeros = _significand(outputs[:, index])
        binade = np.clip(top - exponent, 0, _BINADES - 1)
        return binade * (_SIGNIFICAND + 1) + zeros

    name = f"the trailing zeros of coordinate {index} and its binade"
    return Feature(name=name, cells=_BINADES * (_SIGNIFICAND + 1), labels=labels)


def _significand(x: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The exponent of each float, and the number of trailing zero bits of its significand.

    A float is x = ±M·2^(e−53) with 2^52 <= M < 2^53: e is the exponent, M the significand. The
    number of zeros is 53 for 0, NaN and ±inf.
    """
    part, exponent = np.frexp(np.where(np.isfinite(x), x, 0.0))
    whole = np.abs(np.ldexp(part, _SIGNIFICAND)).astype(np.int64)
    last = (whole & -whole).astype(np.float64)
    zeros = np.where(whole == 0, _SIGNIFICAND, np.frexp(last)[1] - 1)
    return exponent.astype(np.intp), zeros.astype(np.intp)


def _laplace_inversion(subject: Subject) -> Feature | None:
    """Label an output by the inputs from which textbook Laplace noise can reach it.

    The scale is the claimed noise's, or the claimed sensitivity over ε. None for vectors, or if the
    inputs or the scale aren't known.
    """
    centres, claimed = subject.centres, _laplace_scale(subject)
    if centres is None or claimed is None or subject.dimension != 1:
        return None
    scale = claimed
    x, other = (float(centre[0]) for centre in centres)

    def labels(outputs: NDArray[np.float64]) -> NDArray[np.intp]:
        reached = [
            2 * _is_reachable(y, x, scale) + _is_reachable(y, other, scale)
            for y in outputs[:, 0].tolist()
        ]
        return np.array(reached, dtype=np.intp)

    name = "the inputs from which textbook Laplace noise reaches the output"
    inverted = 3000  # outputs of each half that are inverted, about 30 µs each
    return Feature(name=name, cells=4, labels=labels, most=inverted)


def _laplace_scale(subject: Subject) -> float | None:
    noise, bound = subject.claim.noise, getattr(subject.claim.sensitivity, "bound", None)
    if noise is not None and noise.exponential:  # in one dimension it is Laplace noise
        return float(noise.scale)
    if noise is None and bound is not None and subject.claim.epsilon:
        return float(bound / subject.claim.epsilon)
    return None


def _is_reachable(y: float, x: float, scale: float) -> bool:
    """True only if textbook Laplace noise, computed in floats, can take `x` to exactly `y`.

    That is, y = fl(x ± fl(scale·fl(ln(k/2^53)))) for a whole k, where fl rounds to a float. Only
    some k near the likeliest are tried, so such a k may be missed.
    """
    size = abs(y - x)
    if not math.isfinite(size):
        return False
    # y is x ± |noise| rounded: the noise is within `slack` of y − x, and k within `reach`
    slack = 2 * (math.ulp(y) + math.ulp(size) + math.ulp(x))
    uniform = math.exp(-size / scale)
    uniforms = 1 << _SIGNIFICAND
    middle = round(uniform * uniforms)
    most_tried = 200  # values of k around the likeliest; more matter only if y has few bits left
    reach = min(most_tried, 4 + math.ceil(uniform * uniforms * slack / scale))
    sign = 1.0 if y >= x else -1.0
    for k in range(max(1, middle - reach), min(uniforms, middle + reach) + 1):
        noise = -scale * math.log(k / uniforms)
        if x + sign * noise == y:
            return True
    return False


def detect_reachability(subject: Subject) -> Finding:
    """Run the test `reachability`, by outputs that only one input can produce."""
    features: list[Feature] = []
    with np.errstate(all="ignore"):
        for index in subject.coordinates(_FEW_COORDINATES):
            seen = [outputs[:, index] for outputs in subject.first]
            features += [_kind(index), _range(index, seen)]
            features += [_phase(index, step) for step in _steps(seen)]
        return judge(choose(features, subject), subject, detector="reachability")


def _kind(index: int) -> Feature:
    """Label an output by the kind of number in coordinate `index`: NaN, −inf, inf, whole, other."""

    def labels(outputs: NDArray[np.float64]) -> NDArray[np.intp]:
        x = outputs[:, index]
        kinds = [np.isnan(x), np.isneginf(x), np.isposinf(x), x == np.rint(x)]
        return np.select(kinds, range(4), default=4)

    return Feature(name=f"the kind of number in coordinate {index}", cells=5, labels=labels)


def _range(index: int, seen: list[NDArray[np.float64]]) -> Feature:
    """Label an output by coordinate `index`, relative to its extremes in `seen` on each input."""
    finite = [outputs[np.isfinite(outputs)] for outputs in seen]
    ends = [end for part in finite if part.size for end in (part.min(), part.max())]
    cuts = np.unique(np.array(ends))
    # two edges at each end, so that the end itself has a cell
    edges = np.unique(np.concatenate([cuts, np.nextafter(cuts, np.inf)]))

    def labels(outputs: NDArray[np.float64]) -> NDArray[np.intp]:
        return np.searchsorted(edges, outputs[:, index], side="right")

    name = f"the range of coordinate {index} on either input"
    return Feature(name=name, cells=edges.size + 1, labels=labels, ordered=True)


def _steps(seen: list[NDArray[np.float64]]) -> list[float]:
    """The steps to try: powers of two below the spread, and lattice steps of repeated outputs."""
    every = np.concatenate(seen)
    every = every[np.isfinite(every)]
    if not every.size:
        return []
    low, high = np.quantile(every, (0.1, 0.9))
    spread = float(high - low) or 1.0
    top = int(np.frexp(spread)[1])
    # coarser powers of two would only show the output's size, as the distinguishing test does
    steps = [float(np.ldexp(1.0, power)) for power in range(top - 26, top - 2)]
    for outputs in seen:
        distinct = np.unique(outputs[np.isfinite(outputs)])
        if 1 < distinct.size < outputs.size // 4:  # most outputs repeat: they lie on a lattice
            steps.append(float(np.median(np.diff(distinct))))
    return [step for step in steps if step > 0 and np.isfinite(step)]


def _phase(index: int, step: float) -> Feature:
    """Label an output by coordinate `index`: its position between neighbouring multiples of `step`.

    The label is the coordinate over `step`, modulo 1, in 32nds, with a separate label for exactly
    0.
    """

    def labels(outputs: NDArray[np.float64]) -> NDArray[np.intp]:
        y = outputs[:, index] / step
        phase = y - np.floor(y)
        near = np.rint(_PHASES * np.nan_to_num(phase)).astype(np.intp) % _PHASES
        return np.where(phase == 0, _PHASES, near)

    name = f"coordinate {index} modulo {step:.6g}"
    return Feature(name=name, cells=_PHASES + 1, labels=labels)
