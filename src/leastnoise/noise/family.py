"""What is known of one noise family, and its parts: each as such, or by the place where it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import signature, unwrap
from typing import TYPE_CHECKING, Any, final, get_args, get_type_hints

from leastnoise import _validate, _words
from leastnoise._record import A_FLAG, field, real, record, whole
from leastnoise.errors import InvalidArgument, NotRegistered, show_value
from leastnoise.noise.base import Noise

if TYPE_CHECKING:
    from fractions import Fraction

ENOUGH_BITS = 60
"""Of an enclosure of δ, relatively: more than a double holds, so that the interval is as tight as
two floats can be."""
ANY_BITS = -1000

Part = str | Callable[..., Any]
"""A function or class, or "module:name" where it is."""


@final
@dataclass(frozen=True, kw_only=True)
class OwnLosses:
    """How a family's losses get on a lattice, where δ(ε) alone doesn't say it, or not as well.

    upper, lower: return a `LossLattice` and `LowerCells` (balls/losses.py), from the law, a
        shift, a step and how many steps there are on each side of 0.
    reach: returns a loss beyond which there is nothing but what is at infinity.
    frequent: returns a loss that many outputs have; left out where there is none.
    """

    upper: Callable[[Any, Fraction, Fraction, int], Any]
    lower: Callable[[Any, Fraction, Fraction, int], Any]
    reach: Callable[[Any, Fraction], Fraction]
    frequent: Callable[[Any, Fraction], Fraction] | None = None


@final
@record()
class Family:
    """What is known of one noise family, and its parts: each as such, or by its place.

    A part whose first parameter is a law says by its annotation which laws it is for; `part`
    refuses it to all others.

    law: the class, a subclass of `Noise`.

    What proofs use:
    proof: encloses δ(ε) in a ball, from the law, a `shift` in its norm and `epsilon`: δ itself,
        and no bound on it, as the ball's lower end is stated too.
    attained: says whether that ball is δ(ε) itself for all shifts of a sensitivity, and not above
        it; left out where it always is, and for `VectorNoise` where it never is.
    lower_profile: returns ε ↦ δ(ε), ε >= 0, of one shift that is the same at every ε, or None if
        none is known; left out where what `proof` encloses is already δ(ε) of one such shift.
    tails: encloses P(Z > z) and Q(Z > z) of the loss Z, from the law, a shift and z; left out where
        slopes of δ(ε) do as well.
    enough_bits: the relative accuracy of δ at which the proof tries no higher precision.
    lengthy: a proof at one ε takes up to a second; `quick`: microseconds.
    independent: True if the coordinates are independent, so that several draws together have the
        law of one longer draw.
    longest_is_worst: the longest shift is the worst one at every ε, and the losses that it makes
        are symmetric: P(Z > z) before it is what P(Z < −z) is after it. So it is for one number
        where the density is symmetric and falls on both sides of 0, and for vectors where it
        falls with the length alone (theory/noise.md §1). (Of noise in the shape of a body it is
        the curve that is proved, which no shift exceeds.) Else many releases need `losses`.
    losses: an `OwnLosses`, where they are known better than from δ(ε).
    largest_loss: returns the largest finite loss, from the law and a shift; None where it isn't
        known, and left out where it never is.
    no_loss_beyond: returns a loss that no finite one exceeds, met or not, where `largest_loss` is
        left out.
    loss_unit: the attribute of the law of which all finite losses are whole multiples.
    work: says why a proof would take too long, or None; left out where none does.
    losses_stay: wider noise of the same parameters has the same largest loss, in many outputs.
    any_scale: its parameters are as good at any scale: they are about what a unit can do.
    refinement: how many steps of the lattice that samples start from make one of their own.

    What finds and draws laws:
    slow: its search takes seconds.
    for_one_number, for_a_vector: the family that serves in its stead there, by name.
    fit: returns the law of least loss for a `Question` (noise/question.py) about one release, of
        those that the family's source offers; left out where `design` finds it.
    several: returns the law for several releases, from a `Several` (noise/common/several.py);
        left out where a scale is all that is searched, and where there is none.
    behind: says why no law of the family has less than a given loss, from a `Question` about a
        worst shift of 1 and that loss, in far less time than a search takes; None where one may.
    wider: returns a law with some more noise whose δ is less, from the law and a factor, where
        scaling all of it might not do; its δ may fall steeply.
    limit: says where the search for a law was cut off, so that another may have less loss.
    design: returns such a law too, by an optimiser that is told what `effort` to make.
    sampler: makes a `Sampler` of the law, a grid and entropy; left out where none is exact.
    draws: returns a function that makes a `Sampler` of entropy, from the law and a grid, in place
        of `sampler`: it is kept for many draws, where they share what takes longer than a draw.
    radius: returns the length of a draw, from the law, a grid and entropy, of spherical noise whose
        sampler takes all coordinates at once: parts of a vector are drawn from their own lengths.
    share: returns a client's `Share` (noise/draw.py), from the law, a grid and how many there are;
        left out where sums of shares aren't proved to be the law.
    quantile: returns t with P(|X_i| > t·scale) = p, from the law and p (and i, of `VectorNoise`);
        left out where the law of one coordinate isn't known.
    beyond: encloses P(X_i > t), from the law, any rational t and i (of `VectorNoise` t >= 0); for
        thresholds of keys, and for audits.
    characteristic: returns E cos(u·X_i) at each u of an array, from the law and u, where all
        coordinates are independent; E cos(u·Σ w_j X_j) of `VectorNoise`, from the law, a mapping of
        coordinates to weights, and u. Sums of noise have intervals by it.
    alike: returns, for each coordinate of `VectorNoise`, the first one with the same law, as an
        array; left out where no two of them have, and of other noise, where all have.
    difference: returns t with P(|X_i − r·X_j| > t·scale) = p, from the law, p, i and j, and r >= 0;
        raises NotApplicable where that isn't known, and is left out where it never is, and of
        spherical noise, whose `quantile` says it.
    weighted: returns t with P(|Σ w_j X_j| > t·scale) = p of three coordinates, from the law, p, the
        places and weights >= 0; as `difference`.
    knows_quantiles: says whether `quantile` knows those of a law; left out where it knows all.
    """

    law: Part
    proof: Part
    attained: Part | None = None
    lower_profile: Part | None = None
    tails: Part | None = None
    enough_bits: int = field(converter=whole(least=ANY_BITS, most=-ANY_BITS), default=ENOUGH_BITS)
    lengthy: bool = field(converter=A_FLAG, default=False)
    quick: bool = field(converter=A_FLAG, default=False)
    spherical: bool = field(converter=A_FLAG, default=False)
    independent: bool = field(converter=A_FLAG, default=False)
    longest_is_worst: bool = field(converter=A_FLAG, default=False)
    losses: str | OwnLosses | None = None
    largest_loss: Part | None = None
    no_loss_beyond: Part | None = None
    loss_unit: str | None = None
    work: Part | None = None
    losses_stay: bool = field(converter=A_FLAG, default=False)
    any_scale: bool = field(converter=A_FLAG, default=False)
    slow: bool = field(converter=A_FLAG, default=False)
    for_one_number: str | None = None
    for_a_vector: str | None = None
    refinement: float = field(converter=real(), default=2.5)
    fit: Part | None = None
    several: Part | None = None
    behind: Part | None = None
    wider: Part | None = None
    limit: Part | None = None
    design: Part | None = None
    sampler: Part | None = None
    draws: Part | None = None
    radius: Part | None = None
    share: Part | None = None
    quantile: Part | None = None
    difference: Part | None = None
    weighted: Part | None = None
    beyond: Part | None = None
    characteristic: Part | None = None
    alike: Part | None = None
    knows_quantiles: Part | None = None

    def _check_together(self) -> None:
        for name in _PARTS:
            part = getattr(self, name)
            if not (_is_part(part, name) or (part is None and name not in _NEEDED)):
                raise InvalidArgument(
                    name=name,
                    value=show_value(part),
                    expected=f'{name} to be {_LIKE.get(name, "a function")}, or a "module:name"',
                )
        if not isinstance(self.law, str):
            check_law(self.law)
        if not 0 < self.refinement < math.inf:
            raise InvalidArgument(
                name="refinement",
                value=self.refinement,
                expected="refinement > 0",
            )
        for name in ("loss_unit", "for_one_number", "for_a_vector"):
            if (word := getattr(self, name)) is not None:
                _validate.text(word, name=name, longest=100)

    def __repr__(self) -> str:
        place = (
            self.law if isinstance(self.law, str) else getattr(self.law, "__qualname__", "a law")
        )
        return _words.line("Family", f"of {place.rpartition(':')[2]} noise")

    def part(self, name: str) -> Any:
        """Return the part called `name`, imported if only its place is known; None if left out.

        Raises InvalidArgument for another name, NotRegistered if there is nothing at the place, and
        if the part is for another law: a part itself doesn't ask.
        """
        part = getattr(self, _validate.one_of(name, _PARTS, name="name"))
        found = _imported(part) if isinstance(part, str) else part
        why = f"there is no {name} at {part}" if found is None and part is not None else ""
        if found is not None and name != "law":
            first = found.upper if isinstance(found, OwnLosses) else found
            served, law = laws_served(first), self.part("law")
            if not issubclass(law, served):
                kinds = _words.list_names([kind.__name__ for kind in served])
                why = f"its {name} is for {kinds}, not for {law.__name__}"
        if why:
            raise NotRegistered(family=str(self.law), table=__name__, why=why)
        return found


_LIKE = {"law": "a subclass of Noise", "losses": "an OwnLosses"}
_NEEDED = ("law", "proof")
_PARTS = tuple(
    name for name, kind in Family.__annotations__.items() if "Part" in kind or "OwnLosses" in kind
)


def _is_part(part: object, name: str) -> bool:
    if isinstance(part, str):
        module, colon, attribute = part.partition(":")
        words = [*module.split("."), attribute]
        return bool(colon) and all(word.isidentifier() for word in words)
    return isinstance(part, OwnLosses) if name == "losses" else callable(part)


def check_law(law: object) -> None:
    """Raise InvalidArgument for what is no class of noise laws."""
    if not (isinstance(law, type) and issubclass(law, Noise)):
        raise InvalidArgument(
            name="law", value=show_value(law), expected="law to be a subclass of Noise"
        )


def laws_served(part: Callable[..., Any]) -> tuple[type[Any], ...]:
    """Return the classes of laws that a part is for, as its first parameter's annotation says.

    Every law, where that is no law, or can't be told: of a part from outside.
    """
    return _laws_annotated(part) if isinstance(part, Hashable) else (object,)


@cache  # parts are asked for at every proof of a search
def _laws_annotated(part: Callable[..., Any]) -> tuple[type[Any], ...]:
    def served() -> None: ...

    try:
        first = next(iter(signature(part).parameters.values()))
        served.__annotations__ = {"law": first.annotation}
        kind = get_type_hints(served, getattr(unwrap(part), "__globals__", {}))["law"]
    except (NameError, StopIteration, TypeError, ValueError):  # no annotation of ours
        return (object,)
    kinds = get_args(kind) or (kind,)
    known = all(isinstance(one, type) and issubclass(one, Noise) for one in kinds)
    return kinds if known else (object,)


@cache
def _imported(place: str) -> Any:
    """Return what is at `place`; None if there is nothing. What goes wrong inside it is raised."""
    module, name = place.split(":")
    try:
        return getattr(import_module(module), name, None)
    except ModuleNotFoundError as error:
        if error.name and module.startswith(error.name):
            return None
        raise
