"""A certificate: the statement that a noise law meets a budget, and how to prove it again."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any, Self, final

from leastnoise import _validate
from leastnoise._record import derived, field, instance_of, optional, record, takes, whole
from leastnoise.accounting.proof.composed import check_work, prove_composed
from leastnoise.certificate.records import (
    VERSION,
    check_header,
    exact_fields,
    number,
    number_text,
    parse_object,
    read_budget,
    read_noise,
    read_record,
    typed,
    write_record,
)
from leastnoise.certificate.subject import (
    check_subject,
    line_of,
    neighbours_of,
    one_release,
    shifts_of,
    stated_beside,
)
from leastnoise.errors import CertificateRejected, InvalidArgument, NotApplicable, NotCertified
from leastnoise.guarantees.budget import (
    A_SAMPLING_RATE,
    LEAST_SAMPLING_RATE,
    Budget,
    sampling_rate_of,
)
from leastnoise.guarantees.exact import Exact, Interval, decimal_text, exact, float_at_most
from leastnoise.guarantees.fields import FractionField, FractionOrNoneField
from leastnoise.guarantees.geometry import Geometry
from leastnoise.guarantees.sensitivity import (
    Neighbours,
    Sensitivity,
    ShiftBounds,
    common_neighbours,
)
from leastnoise.noise.base import Noise
from leastnoise.noise.question import Releases

ASSUMPTIONS = (
    "Between neighbouring inputs the query moves by at most the stated sensitivity.",
    "AES-256-CTR keyed by the operating system can't be told from fair bits.",
    "Running time and memory use are not observed.",
)
SAMPLING = (
    "Every release is of a sample of its own, which each record is in with probability "
    "sampling_rate, independently of all else; who was in it is not published. Neighbouring inputs "
    "differ by one record that is there or not."
)
_FIELDS = (
    "kind", "version", "epsilon", "delta", "noise", "dimension", "sensitivity", "geometry",
    "compositions", "sampling_rate", "delta_interval", "grid", "assumptions",
)  # fmt: skip
_NEIGHBOURS = "neighbours"  # a field of those alone that state more than their sensitivity does


def _checked_neighbours(
    stated: Neighbours | None, *, name: str, record: Certificate
) -> Neighbours | None:
    del name
    check_subject(record.budget, record.noise, record.sensitivity, record.geometry)
    return stated_beside(neighbours_of(record.sensitivity, record.sampling_rate), stated)


@final
@record()
class Certificate:
    """The statement: v ↦ v + noise is (epsilon, delta)-private for every shift in `sensitivity`.

    With a `geometry`, the noise goes through its map: v ↦ W⁻¹(W v + noise). With `compositions` = k
    it is about k releases with independent noise of that law together, whose queries were chosen
    before or after seeing the outputs of the others, each with that sensitivity.

    `delta` encloses the smallest δ for which that holds at ε = budget.epsilon, with room for
    proofs on other machines: `verify` has to find it again, inside. `grid`, if it is
    there, is the lattice to which the sum is rounded; rounding is post-processing and costs no
    privacy (theory/release.md §1). With `sampling_rate` < 1 every release is of a Poisson sample,
    and neighbours differ by one record that is there or not. `stated_neighbours` says who they are
    where the sensitivity doesn't.

    Not promised: anything about a query whose sensitivity is larger than declared; see
    `assumptions`.

    >>> from leastnoise.guarantees.sensitivity import L2
    >>> from leastnoise.noise import Gaussian
    >>> claim = Certificate.prove(
    ...     budget=Budget(epsilon="1", delta="1e-5"),
    ...     noise=Gaussian(scale="3.7307", dimension=7),
    ...     sensitivity=L2(1),
    ... )
    >>> claim.delta.certainly_at_most(Fraction(1, 100000))
    True
    """

    budget: Budget
    noise: Noise
    sensitivity: Sensitivity
    delta: Interval = field(converter=instance_of(Interval, like="an Interval"))
    geometry: Geometry | None = None
    grid: FractionOrNoneField = field(converter=optional(takes(exact)), default=None)
    compositions: int = field(converter=whole(), default=1)
    sampling_rate: FractionField = field(converter=A_SAMPLING_RATE, default=Fraction(1))
    stated_neighbours: Neighbours | None = field(
        converter=takes(_checked_neighbours, of_record=True), default=None
    )
    version: int = derived(lambda _: VERSION)
    _proved: bool = derived(lambda _: False, compare=False, repr=False)

    @property
    def proved(self) -> bool:
        """Whether `prove` made this very object, or it passed `verify`; copies start anew."""
        return self._proved

    def __repr__(self) -> str:
        return line_of(self)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the statement rests on beside the proof."""
        return assumptions_at(self.sampling_rate)

    @property
    def dimension(self) -> int:
        """Number of coordinates that are released together."""
        return self.geometry.dimension if self.geometry else self.noise.dimension

    @property
    def neighbours(self) -> Neighbours | None:
        """The neighbours that the statement is about.

        None: those that whoever declared the sensitivity had in mind. A statement about samples is
        one about records that are there or not.
        """
        return neighbours_of(self.sensitivity, self.sampling_rate) or self.stated_neighbours

    @property
    def shifts(self) -> ShiftBounds:
        """What the noise must hide; raises NotApplicable if the geometry is for something else."""
        return shifts_of(type(self.noise), self.sensitivity, self.geometry)

    @property
    def releases(self) -> Releases:
        """The draws of noise that the statement is about; raises like `shifts`."""
        return self.one_release.times(self.compositions)

    @property
    def one_release(self) -> Releases:
        """The draws of noise that one person reaches in one release; raises like `shifts`."""
        return self.one_release_at(self.sampling_rate)

    def one_release_at(self, sampling_rate: Exact) -> Releases:
        """Return the draws of noise of one release of such a sample; raises like `shifts`."""
        rate = sampling_rate_of(sampling_rate)
        one = one_release(self.noise, self.sensitivity, self.geometry, rate)
        return replace(one, neighbours=common_neighbours((one.neighbours, self.neighbours)))

    @classmethod
    def prove(
        cls,
        *,
        budget: Budget,
        noise: Noise,
        sensitivity: Sensitivity,
        geometry: Geometry | None = None,
        compositions: int = 1,
        sampling_rate: Fraction = Fraction(1),
    ) -> Self:
        """Return the certificate; raises NotCertified (with an enclosure of δ) if it is not proved.

        Raises NotApplicable if the sensitivity isn't known in the noise's norm, isn't one that the
        geometry is for, or is one for which subsampling isn't proved.
        """
        check_subject(budget, noise, sensitivity, geometry)
        count = _validate.whole(compositions, name="compositions")
        one = one_release(noise, sensitivity, geometry, sampling_rate_of(sampling_rate))
        releases = one.times(count)
        check_work(releases, budget.epsilon)
        proved = prove_composed((releases,), budget.epsilon)
        interval = proved.interval
        if not proved.certainly_at_most(budget.delta):
            raise NotCertified(
                interval=interval,
                why=f"Not proved: {noise.name} noise of this scale has delta in "
                f"[{interval.lower!r}, {interval.upper!r}] at epsilon="
                f"{decimal_text(budget.epsilon)}, asked was {decimal_text(budget.delta)}.",
            )
        claim = cls(
            budget=budget,
            noise=noise,
            sensitivity=sensitivity,
            delta=_stated(interval, budget.delta),
            geometry=geometry,
            compositions=compositions,
            sampling_rate=sampling_rate,
        )
        _note_proof(claim)
        return claim

    def __getstate__(self) -> dict[str, Any]:
        """Pickle all but the note of the proof: what was stored has to verify again."""
        return self.__dict__ | {"_proved": False}

    def on_grid(self, grid: Exact) -> Self:
        """Return the same statement for the sum rounded to `grid`, which costs no privacy."""
        rounded = replace(self, grid=exact(grid, name="grid"))
        if self.proved:
            _note_proof(rounded)
        return rounded

    def about(self, neighbours: Neighbours) -> Self:
        """Return the same statement, which says who the neighbours are; the shifts stay the same.

        Raises InvalidArgument where it is about others.
        """
        if self.neighbours is not None:
            stated_beside(self.neighbours, neighbours)  # raises for another relation
        stated = replace(self, stated_neighbours=neighbours)
        if self.proved:
            _note_proof(stated)
        return stated

    def verify(self) -> Interval:
        """Prove the statement again from its fields; return a fresh enclosure of δ.

        Raises CertificateRejected, with the reason, if any part of it is false or not proved.
        """
        self._check_grid()
        try:
            releases = self.releases
            check_work(releases, self.budget.epsilon)
            proved = prove_composed((releases,), self.budget.epsilon)
        except (NotApplicable, InvalidArgument) as error:  # more draws than are accounted for
            raise CertificateRejected(str(error)) from error
        fresh = proved.interval
        if not proved.certainly_at_most(self.budget.delta):
            raise CertificateRejected(
                f"The noise has delta in [{fresh.lower!r}, {fresh.upper!r}] at epsilon="
                f"{decimal_text(self.budget.epsilon)}; the certificate claims "
                f"{decimal_text(self.budget.delta)}."
            )
        if not _reproduced(fresh, self.delta, self.budget.delta):
            raise CertificateRejected(
                f"delta_interval is narrower than what is proved: delta is in [{fresh.lower!r}, "
                f"{fresh.upper!r}], the certificate says [{self.delta.lower!r}, "
                f"{self.delta.upper!r}]."
            )
        _note_proof(self)
        return fresh

    def _check_grid(self) -> None:
        if self.grid is None:
            return
        numerator, denominator = self.grid.numerator, self.grid.denominator
        if numerator <= 0 or numerator & (numerator - 1) or denominator & (denominator - 1):
            raise CertificateRejected("grid is not a power of two.")

    def to_json(self) -> str:
        """Return the certificate as JSON text; every number is exact (a decimal or a hex float)."""
        return json.dumps(self.to_record(), indent=2)

    def to_record(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        stated = self.stated_neighbours
        return ({} if stated is None else {_NEIGHBOURS: stated}) | {
            "kind": "certificate",
            "version": self.version,
            "epsilon": decimal_text(self.budget.epsilon),
            "delta": decimal_text(self.budget.delta),
            "noise": write_record(self.noise),
            "dimension": self.dimension,
            "sensitivity": write_record(self.sensitivity),
            "geometry": None if self.geometry is None else write_record(self.geometry),
            "compositions": self.compositions,
            "sampling_rate": decimal_text(self.sampling_rate),
            "delta_interval": [float(self.delta.lower).hex(), float(self.delta.upper).hex()],
            "grid": None if self.grid is None else number_text(self.grid),
            "assumptions": list(self.assumptions),
        }

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read what `to_json` wrote. It is well-formed then, but not yet verified.

        Raises CertificateRejected for unknown, missing or duplicate fields, wrong types, values
        outside their range and unknown versions; InvalidInput if it isn't JSON.
        """
        return cls.from_record(parse_object(text))

    @classmethod
    def from_record(cls, record: object) -> Certificate:
        """Read what `to_record` gave; see `from_json`."""
        stated = isinstance(record, dict) and record.get(_NEIGHBOURS) is not None
        known = (*_FIELDS, _NEIGHBOURS) if stated else _FIELDS
        fields = exact_fields(record, known, where="certificate")
        check_header(fields, kind="certificate")
        typed(fields["compositions"], int, where="compositions")
        rate = number(fields["sampling_rate"], where="sampling_rate")
        if not LEAST_SAMPLING_RATE <= rate <= 1:
            raise CertificateRejected("sampling_rate must be above 0 and at most 1.")
        if fields["assumptions"] != list(assumptions_at(rate)):
            raise CertificateRejected("The assumptions are not those under which this is proved.")
        try:
            geometry = _geometry_of(fields)
            dimension = typed(fields["dimension"], int, where="dimension")
            own = geometry.noise_dimension if geometry else dimension
            return cls(
                budget=read_budget(fields),
                noise=read_noise(fields["noise"], dimension=own),
                sensitivity=read_record(fields["sensitivity"], Sensitivity, where="sensitivity"),
                geometry=geometry,
                delta=_interval_of(fields["delta_interval"]),
                compositions=fields["compositions"],
                sampling_rate=number(fields["sampling_rate"], where="sampling_rate"),
                grid=None if fields["grid"] is None else number(fields["grid"], where="grid"),
                stated_neighbours=fields.get(_NEIGHBOURS),
            )
        except ValueError as error:  # every InvalidArgument is one
            raise CertificateRejected(str(error)) from error


def _note_proof(claim: Certificate) -> None:
    """Note that this very object was proved just now: a mechanism may release with it."""
    object.__setattr__(claim, "_proved", True)


def _stated(found: Interval, most: Fraction) -> Interval:
    """Return the interval of δ that a certificate states, for one proved to be in `found`.

    Proofs that sum in floats end elsewhere by some units in the last place on another machine. Both
    enclosures contain δ: if they are about as wide, either lies in the other with its own width
    added at each end.
    """
    room = found.width
    lower = max(0.0, math.nextafter(found.lower - room, -math.inf)) if room else found.lower
    upper = min(1.0, math.nextafter(found.upper + room, math.inf)) if room else found.upper
    return Interval(lower, max(found.upper, min(upper, float_at_most(most))))


def _reproduced(fresh: Interval, stated: Interval, most: Fraction) -> bool:
    """Whether δ, now known to be in `fresh` and at most `most`, is surely in `stated`."""
    below = min(Fraction(fresh.upper), most) <= Fraction(stated.upper)
    return stated.lower <= fresh.lower and below


def assumptions_at(sampling_rate: Fraction) -> tuple[str, ...]:
    """Return the assumptions of a statement about that sampling rate."""
    return ASSUMPTIONS if sampling_rate == 1 else (*ASSUMPTIONS, SAMPLING)


def _geometry_of(fields: dict[str, Any]) -> Geometry | None:
    if fields["geometry"] is None:
        return None
    geometry = read_record(fields["geometry"], Geometry, where="geometry")
    if fields["dimension"] != geometry.dimension:
        raise CertificateRejected(f"The geometry has {geometry.dimension} coordinates.")
    return geometry


def _interval_of(value: object) -> Interval:
    ends = typed(value, list, where="delta_interval")
    if len(ends) != 2:
        raise CertificateRejected("delta_interval must have two ends.")
    lower, upper = (float(number(end, where="delta_interval")) for end in ends)
    return Interval(lower, upper)
