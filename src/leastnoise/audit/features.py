"""Three detectors that look for events which tell the inputs apart, by features of the output.

**distinguishing**: an event of large probability ratio, by one number made of the output. That
number is the output itself; for a vector its projection on the shift and each of its first
coordinates, and the logarithm of the likelihood ratio where the noise is named; or a user's own
score. Its range is cut at quantiles of the first half, finely at the ends.

**precision** (Mironov 2012): the last bits of floats tell which input they came from. Noise that is
computed in floats and added to a value in floats reaches few of the floats around, and which ones
depends on the value. Two ways to see it:

- The finest power of two that divides the output, and how many bits of its significand are 0: 0 + X
  has all bits of X, 1 + X has lost some of them where X is small.
- Textbook Laplace noise is ±b·ln(k/2^53) for a whole k. For an output y and an input x it is tried
  whether any such k gives y exactly.

**reachability**: outputs that one input can have and the other can't. Tried are what kind of number
the output is (NaN, ±inf, whole), whether it lies within the range that the other input had, and
where it lies between two neighbouring multiples of a step: of the powers of two below the outputs'
spread, and of a step that the outputs themselves show. A grid that is moved with the data is seen
by the last.
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

_FEW_COORDINATES = 4  # of which bits, ranges and steps are looked at
_SIGNIFICAND = sys.float_info.mant_dig
_POWERS = 2200  # of two, as many as doubles have
_BINADES = 24  # below that of the largest output; smaller ones are one
_PHASES = 32


def detect_distinguishing(subject: Subject) -> Finding:
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
    middle = np.linspace(0, size - 1, 200).astype(np.intp)
    ends = (1 << np.arange(max(1, size.bit_length() - 1))) - 1
    ends = ends[ends < size]
    return np.unique(np.concatenate([middle, ends, size - 1 - ends]))


def detect_precision(subject: Subject) -> Finding:
    """Return the finding of the precision attack."""
    features: list[Feature] = []
    with np.errstate(all="ignore"):
        for index in subject.coordinates(_FEW_COORDINATES):
            features += [_finest_power(index), _bits_left(index, subject)]
        inversion = _laplace_inversion(subject)
        if inversion is not None:
            features.append(inversion)
        return judge(choose(features, subject), subject, detector="precision")


def _finest_power(index: int) -> Feature:
    """Return the largest j for which the output is a multiple of 2^j."""

    def labels(outputs: NDArray[np.float64]) -> NDArray[np.intp]:
        exponent, zeros = _significand(outputs[:, index])
        found = exponent + zeros + 1074  # the finest power of two of a double is 2^-1074
        return np.where(np.isfinite(outputs[:, index]), np.clip(found, 0, _POWERS - 1), _POWERS)

    name = f"the finest power of two that divides coordinate {index}"
    return Feature(name=name, cells=_POWERS + 1, labels=labels, ordered=True)


def _bits_left(index: int, subject: Subject) -> Feature:
    """Return the binade of the output, with the number of zeros that end its significand."""
    sizes = np.concatenate([np.abs(one[:, index]) for one in subject.first])
    sizes = sizes[np.isfinite(sizes)]
    top = int(np.frexp(sizes.max())[1]) if sizes.size else 0

    def labels(outputs: NDArray[np.float64]) -> NDArray[np.intp]:
        exponent, zeros = _significand(outputs[:, index])
        binade = np.clip(top - exponent, 0, _BINADES - 1)
        return binade * (_SIGNIFICAND + 1) + zeros

    name = f"the trailing zeros of coordinate {index} and its binade"
    return Feature(name=name, cells=_BINADES * (_SIGNIFICAND + 1), labels=labels)


def _significand(x: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return e and t with x = ±M·2^(e−53), 2^52 <= M < 2^53, M divisible by 2^t and no more.

    t is 53 for 0 and for what isn't finite.
    """
    part, exponent = np.frexp(np.where(np.isfinite(x), x, 0.0))
    whole = np.abs(np.ldexp(part, _SIGNIFICAND)).astype(np.int64)
    last = (whole & -whole).astype(np.float64)
    zeros = np.where(whole == 0, _SIGNIFICAND, np.frexp(last)[1] - 1)
    return exponent.astype(np.intp), zeros.astype(np.intp)


def _laplace_inversion(subject: Subject) -> Feature | None:
    """Return from which of the inputs textbook Laplace noise can reach the output; None: unknown.

    The scale is that of the claimed noise, or Δ/ε.
    """
    centres, claimed = subject.centres, _laplace_scale(subject)
    if centres is None or claimed is None or subject.dimension != 1:
        return None
    scale = claimed
    x, other = (float(one[0]) for one in centres)

    def labels(outputs: NDArray[np.float64]) -> NDArray[np.intp]:
        found = [
            2 * _is_reachable(y, x, scale) + _is_reachable(y, other, scale)
            for y in outputs[:, 0].tolist()
        ]
        return np.array(found, dtype=np.intp)

    name = "the inputs from which textbook Laplace noise reaches the output"
    inverted = 3000  # outputs of each half that are inverted: some 30 µs each
    return Feature(name=name, cells=4, labels=labels, most=inverted)


def _laplace_scale(subject: Subject) -> float | None:
    noise, bound = subject.claim.noise, getattr(subject.claim.sensitivity, "bound", None)
    if noise is not None and noise.exponential:  # of one number it is Laplace noise
        return float(noise.scale)
    if noise is None and bound is not None and subject.claim.epsilon:
        return float(bound / subject.claim.epsilon)
    return None


def _is_reachable(y: float, x: float, scale: float) -> bool:
    """Return whether y is fl(x ± fl(b·fl(ln(k/2^53)))) for a whole k, by trying those around."""
    size = abs(y - x)
    if not math.isfinite(size):
        return False
    # y is x ± |noise| rounded: the noise is within `slack` of y − x, and k within `reach`
    slack = 2 * (math.ulp(y) + math.ulp(size) + math.ulp(x))
    uniform = math.exp(-size / scale)
    uniforms = 1 << _SIGNIFICAND
    middle = round(uniform * uniforms)
    most_tried = 200  # values of k around the likeliest one; more only where y has few bits left
    reach = min(most_tried, 4 + math.ceil(uniform * uniforms * slack / scale))
    sign = 1.0 if y >= x else -1.0
    for k in range(max(1, middle - reach), min(uniforms, middle + reach) + 1):
        noise = -scale * math.log(k / uniforms)
        if x + sign * noise == y:
            return True
    return False


def detect_reachability(subject: Subject) -> Finding:
    """Return the finding of the reachability attack."""
    features: list[Feature] = []
    with np.errstate(all="ignore"):
        for index in subject.coordinates(_FEW_COORDINATES):
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
    # modulo a coarser power of two it is the size of the output that is seen, which is the
    # distinguishing test's to look at
    steps = [float(np.ldexp(1.0, power)) for power in range(top - 26, top - 2)]
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
