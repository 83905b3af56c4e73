"""The record of one noise family: its law and functions, as objects or by import path."""

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
"""The relative accuracy of an enclosure of δ at which a proof stops: more bits than a double has,
so that the interval is as tight as two floats can be."""
ANY_BITS = -1000
"""An accuracy that every enclosure has, for proofs that more precision doesn't improve."""

Part = str | Callable[..., Any]
"""A function or class, or its import path "module:name"."""


@final
@dataclass(frozen=True, kw_only=True)
class OwnLosses:
    """A family's functions that compute lattices of its privacy losses, for tight composition.

    Lattices that are derived from δ(ε) alone bound the losses less tightly.

    Args:
        upper: Returns a `LossLattice` (balls/losses.py), from the law, a shift, a step and the
            number of steps on each side of 0. Its δ is an upper bound.
        lower: Returns `LowerCells` (balls/losses.py), from the same arguments. Its δ is a lower
            bound.
        reach: Returns a loss above which finite losses have negligible mass, from the law and a
            shift.
        frequent: Returns a loss that many outputs have, from the law and a shift. None if no loss
            is frequent.
    """

    upper: Callable[[Any, Fraction, Fraction, int], Any]
    lower: Callable[[Any, Fraction, Fraction, int], Any]
    reach: Callable[[Any, Fraction], Fraction]
    frequent: Callable[[Any, Fraction], Fraction] | None = None


@final
@record()
class Family:
    """The record of one noise family: its law and functions, as objects or import paths.

    The annotation of a function's first parameter states the laws that the function serves; `part`
    refuses it for other laws. In this list, "a shift" is the length of a shift in the law's norm. X
    is a draw of the noise, X_i its coordinate i, and E an expectation. Only functions for
    `VectorNoise` get i and j. None means that the family has no such function.

    Args:
        law: The class, a subclass of `Noise`.
        proof: Encloses δ(ε) in a ball, from the law, a `shift` and `epsilon`. It must enclose δ
            itself and not only bound it, because the ball's lower end is stated, too.
        attained: Returns True, from the law and a sensitivity, if the ball of `proof` encloses the
            largest δ(ε) of the sensitivity's shifts, and not only a bound above it. None if it
            always does; for `VectorNoise`, None if it never does.
        lower_profile: Returns, from the law, ε ↦ δ(ε), ε >= 0, of one shift that is the same at
            every ε, or None if no such curve is known. None if `proof` already encloses δ(ε) of one
            such shift.
        tails: Encloses P(Z > z) and Q(Z > z) of the privacy loss Z, from the law, a shift and z. P
            is the law of outputs before the shift, and Q after it. None if slopes of δ(ε) are as
            accurate.
        lattice_deltas: Encloses δ(ε) at ε = 0, `step`, …, `size`·`step`, from the law, a `shift`,
            `step` and `size`. It states the same δ as `proof`. None if `proof` is as fast.
        enough_bits: Relative accuracy of δ at which a proof tries no higher precision.
        lengthy: True if a proof at one ε takes up to a second.
        quick: True if a proof at one ε takes microseconds.
        spherical: True if the density depends only on the length.
        independent: True if the coordinates are independent, so that several draws together have
            the law of one longer draw.
        longest_is_worst: True if the longest shift is the worst at every ε and its losses are
            symmetric: P(Z > z) before the shift equals P(Z < −z) after it. This holds for one
            number if the density is symmetric and decreases on both sides of 0, and for vectors if
            it decreases with the length alone (theory/noise.md §1). For noise in the shape of a
            body it holds for the proved curve, which no shift exceeds. Otherwise several releases
            need `losses`.
        losses: An `OwnLosses`, if it is tighter than losses from δ(ε).
        largest_loss: Returns the largest finite loss, or a bound above it, from the law and a
            shift. None if it is unknown.
        no_loss_beyond: Returns an upper bound on all finite losses; for families without
            `largest_loss`.
        loss_unit: Name of the attribute of the law of which all finite losses are multiples.
        work: Returns the reason why a proof would take too long, or None, from `Releases`
            (noise/question.py), a shift and ε. None if no proof takes too long.
        losses_stay: True if noise of a larger scale, with the other parameters as they are, has the
            same largest loss, and many outputs have it.
        any_scale: True if the parameters are equally good at any scale, since they describe what a
            unit can do.
        slow: True if the search for a law takes seconds.
        for_one_number: Name of the family that replaces this family for one number.
        for_a_vector: Name of the family that replaces this family for a vector.
        refinement: For Poisson samples: how much finer the lattice of the losses is before sampling
            than after it, relative to the standard deviations of the losses.
        fit: Returns the law of least loss for a `Question` (noise/question.py) about one release,
            among the laws that the family's source offers. None if `design` computes it.
        several: Returns the law for several releases, from a `SeveralReleases`
            (noise/common/several.py). None if only a scale is searched, or if the family serves
            one release only.
        behind: Returns the reason why every law of the family has at least a given loss, from that
            loss and a `Question` about a worst shift of 1; None if a law may have less. It is much
            faster than a search.
        wider: Returns a law with slightly more noise and a smaller δ, from the law and a factor.
            Needed if scaling the noise might not reduce δ. The δ of `wider` may fall steeply.
        limit: Returns a note, from the law and a `Question`, if the search for the law was cut off,
            so that another law may have less loss; else None.
        design: Returns a law by an optimiser, from a `Question` and an `effort`.
        sampler: Makes a `Sampler` from the law, a grid and entropy. None if no exact sampler
            exists.
        draws: Returns a function that makes a `Sampler` from entropy, from the law and a grid. It
            replaces `sampler` if many draws can share slow preparations.
        radius: Returns the length of a draw, from the law, a grid and entropy, for spherical noise
            whose sampler takes all coordinates at once. With it, parts of a vector can be drawn
            separately: the length is split among them first.
        share: Returns a client's `Share` (noise/draw.py), from the law, a grid and the number of
            shares. None if sums of shares aren't proved to have the law.
        quantile: Returns t with P(|X_i| > t·scale) = p, or on a lattice the least t with <= p, from
            the law and p (and i for `VectorNoise`). None if the law of one coordinate is unknown.
        difference: Returns t with P(|X_i − r·X_j| > t·scale) = p, from the law, p, i and j, and
            r >= 0; raises NotApplicable if t is unknown. None if it always is, and for spherical
            noise, for which `quantile` suffices.
        weighted: Returns t with P(|Σ w_j X_j| > t·scale) = p for three coordinates, from the law,
            p, the coordinates and weights >= 0; otherwise as `difference`.
        beyond: Encloses P(X_i > t), from the law, any rational t and i (for `VectorNoise` t >= 0);
            used for thresholds of keys, and for audits.
        total_beyond: Encloses P(ΣX_i > t), from the law and any rational t >= 0; used for
            thresholds of the sum of all numbers.
        characteristic: Returns E cos(u·X_i) at each u of an array, from the law and u, if all
            coordinates are independent. For `VectorNoise` it returns E cos(u·Σ w_j X_j), from the
            law, a mapping of coordinates to weights, and u. It gives intervals for sums of noise.
        alike: Returns, for each coordinate of `VectorNoise`, the first coordinate with the same
            law, as an array. None if no two coordinates have the same law. Other noise has the same
            law in all coordinates.
        knows_quantiles: Returns True if `quantile` knows the coordinates of a law. None if it knows
            the coordinates of all laws.
    """

    law: Part
    proof: Part
    attained: Part | None = None
    lower_profile: Part | None = None
    tails: Part | None = None
    lattice_deltas: Part | None = None
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
    total_beyond: Part | None = None
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
        path = self.law if isinstance(self.law, str) else getattr(self.law, "__qualname__", "a law")
        return _words.line("Family", f"of {path.rpartition(':')[2]} noise")

    def part(self, name: str) -> Any:
        """The function called `name`, imported if only its path is known.

        Args:
            name: Name of a field, such as "proof".

        Returns:
            The object; None if it was omitted.

        Raises:
            InvalidArgument: No field has this name.
            NotRegistered: The path leads to no object, or the annotation of the function's first
                parameter names other laws than the family's.
        """
        part = getattr(self, _validate.one_of(name, _PARTS, name="name"))
        part_object = _import_object(part) if isinstance(part, str) else part
        why = f"there is no {name} at {part}" if part_object is None and part is not None else ""
        if part_object is not None and name != "law":
            first = part_object.upper if isinstance(part_object, OwnLosses) else part_object
            laws, law = laws_served(first), self.part("law")
            if not issubclass(law, laws):
                kinds = _words.list_names([kind.__name__ for kind in laws])
                why = f"its {name} is for {kinds}, not for {law.__name__}"
        if why:
            raise NotRegistered(family=str(self.law), table=__name__, why=why)
        return part_object


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
    """Raise InvalidArgument unless `law` is a subclass of `Noise`."""
    if not (isinstance(law, type) and issubclass(law, Noise)):
        raise InvalidArgument(
            name="law", value=show_value(law), expected="law to be a subclass of Noise"
        )


def laws_served(part: Callable[..., Any]) -> tuple[type[Any], ...]:
    """Return the classes of laws that a function accepts, from its first parameter's annotation.

    The result is (object,), which stands for any law, if the annotation is missing, isn't a law or
    can't be evaluated.
    """
    return _laws_annotated(part) if isinstance(part, Hashable) else (object,)


@cache  # parts are asked for at every proof of a search
def _laws_annotated(part: Callable[..., Any]) -> tuple[type[Any], ...]:
    """The result of `laws_served`, cached; `part` must be hashable."""

    def annotated() -> None: ...

    try:
        first = next(iter(signature(part).parameters.values()))
        annotated.__annotations__ = {"law": first.annotation}
        kind = get_type_hints(annotated, getattr(unwrap(part), "__globals__", {}))["law"]
    except (NameError, StopIteration, TypeError, ValueError):  # no annotation of ours
        return (object,)
    kinds = get_args(kind) or (kind,)
    known = all(isinstance(law, type) and issubclass(law, Noise) for law in kinds)
    return kinds if known else (object,)


@cache
def _import_object(path: str) -> Any:
    """Return the object at an import path, or None if the path leads to no object.

    Other import errors are raised.
    """
    module, name = path.split(":")
    try:
        return getattr(import_module(module), name, None)
    except ModuleNotFoundError as error:
        if error.name and module.startswith(error.name):
            return None
        raise
