"""Certificates: the statement that a noise law meets a budget, and how to prove it again."""

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
    read_interval,
    read_noise,
    read_record,
    require_type,
    write_record,
)
from leastnoise.certificate.subject import (
    additional_neighbours,
    check_subject,
    line_of,
    neighbours_of,
    one_release,
    shifts_of,
)
from leastnoise.errors import (
    CertificateRejected,
    InvalidArgument,
    NotApplicable,
    NotCertified,
    show_value,
)
from leastnoise.guarantees.budget import (
    A_SAMPLING_RATE,
    LEAST_SAMPLING_RATE,
    Budget,
    sampling_rate_of,
)
from leastnoise.guarantees.exact import (
    Exact,
    Interval,
    decimal_text,
    exact,
    float_at_most,
    is_power_of_two,
)
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
_NEIGHBOURS = "neighbours"  # a field only of certificates whose sensitivity doesn't state them


def _check_neighbours(
    stated: Neighbours | None, *, name: str, record: Certificate
) -> Neighbours | None:
    del name
    check_subject(record.budget, record.noise, record.sensitivity, record.geometry)
    return additional_neighbours(neighbours_of(record.sensitivity, record.sampling_rate), stated)


@final
@record()
class Certificate:
    """The statement that a query's answer plus noise is (ε, δ)-private.

    It holds for every shift of the answer in `sensitivity`. With a `geometry` that has a matrix W,
    W⁻¹(W v + noise) is released for the answer v. With a `CellGeometry`, each cell gets independent
    noise. With several `compositions` the statement is about that many releases together, each with
    independent noise of the same law and with the same sensitivity. A query may depend on the
    outputs of earlier releases. With `sampling_rate` < 1 every release uses a Poisson sample, and
    neighbours differ by one added or removed record.

    The certificate says nothing about a query whose sensitivity is larger than declared; see
    `assumptions`.

    Attributes:
        budget: The guarantee, ε and δ.
        noise: The noise law, with its scale.
        sensitivity: The declared bound on the change by one unit.
        delta: An interval around the smallest δ at ε, widened for proofs on other machines.
        geometry: The linear map of the noise; None for the identity.
        grid: The grid to which the sum is rounded, a power of two; None if it isn't set. Rounding
            is post-processing and costs no privacy (theory/release.md §1).
        compositions: Number of releases.
        sampling_rate: Probability of a record to be in a sample.
        stated_neighbours: The neighbours, if the sensitivity doesn't imply them.
        version: Version of the record's format.

    Examples:
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
        converter=takes(_check_neighbours, of_record=True), default=None
    )
    version: int = derived(lambda _: VERSION)
    _proved: bool = derived(lambda _: False, compare=False, repr=False)

    @property
    def proved(self) -> bool:
        """True if `prove` returned this very object, or it passed `verify`.

        Copies are unproved, except those that `on_grid` and `about` of a proved certificate return.
        """
        return self._proved

    def __repr__(self) -> str:
        return line_of(self)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumptions on which the statement rests beside its proof."""
        return assumptions_at(self.sampling_rate)

    @property
    def dimension(self) -> int:
        """Number of coordinates that are released together."""
        return self.geometry.dimension if self.geometry else self.noise.dimension

    @property
    def neighbours(self) -> Neighbours | None:
        """The neighbours that the statement is about: "add-remove" or "replace-one".

        None if neither the sensitivity nor the certificate states them; then they are the
        neighbours for which the sensitivity was derived. Statements about samples are always about
        added or removed records.
        """
        return neighbours_of(self.sensitivity, self.sampling_rate) or self.stated_neighbours

    @property
    def shifts(self) -> ShiftBounds:
        """Bounds on the shifts that the noise must hide.

        Raises NotApplicable if the geometry doesn't fit the sensitivity.
        """
        return shifts_of(type(self.noise), self.sensitivity, self.geometry)

    @property
    def releases(self) -> Releases:
        """The draws of noise that the statement is about.

        Raises NotApplicable, as `one_release_at` does.
        """
        return self.one_release.times(self.compositions)

    @property
    def one_release(self) -> Releases:
        """One release, for a proof: its draws of noise, and the shifts that the noise must hide."""
        return self.one_release_at(self.sampling_rate)

    def one_release_at(self, sampling_rate: Exact) -> Releases:
        """The draws of noise in one release, for a sample at another rate.

        Args:
            sampling_rate: Probability of a record to be in the sample, above 0 and at most 1.

        Returns:
            The draws.

        Raises:
            InvalidArgument: The rate is malformed or out of its range.
            NotApplicable: Subsampling isn't proved for this sensitivity, geometry or neighbours, or
                the geometry doesn't fit the sensitivity.

        """
        rate = sampling_rate_of(sampling_rate)
        release = one_release(self.noise, self.sensitivity, self.geometry, rate)
        neighbours = common_neighbours((release.neighbours, self.neighbours))
        return replace(release, neighbours=neighbours)

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
        """Prove that the noise meets the budget.

        Args:
            budget: The guarantee, ε and δ.
            noise: The noise law, with its scale.
            sensitivity: The declared bound on the change by one unit.
            geometry: The linear map of the noise; None for the identity.
            compositions: Number of releases.
            sampling_rate: Probability of a record to be in a sample.

        Returns:
            The certificate.

        Raises:
            NotCertified: There is no proof; `interval` encloses δ.
            NotApplicable: No proof is known for this noise, sensitivity and geometry, or for
                samples or several releases of them; or the proof takes too much time or memory.
            InvalidArgument: An argument is malformed or out of its range.

        """
        check_subject(budget, noise, sensitivity, geometry)
        count = _validate.whole(compositions, name="compositions")
        release = one_release(noise, sensitivity, geometry, sampling_rate_of(sampling_rate))
        releases = release.times(count)
        check_work(releases, budget.epsilon)
        proved = prove_composed((releases,), budget.epsilon)
        interval = proved.interval
        if not proved.certainly_at_most(budget.delta):
            raise NotCertified(
                interval=interval,
                why=(
                    f"Not proved: {noise.name} noise of this scale has delta in "
                    f"[{interval.lower!r}, {interval.upper!r}] at "
                    f"epsilon={decimal_text(budget.epsilon)}. The budget allows a delta of "
                    f"{decimal_text(budget.delta)}."
                ),
            )
        claim = cls(
            budget=budget,
            noise=noise,
            sensitivity=sensitivity,
            delta=_widen(interval, budget.delta),
            geometry=geometry,
            compositions=compositions,
            sampling_rate=sampling_rate,
        )
        _note_proof(claim)
        return claim

    def __getstate__(self) -> dict[str, Any]:
        """Pickle all fields but not the mark `proved`: a copy has to be proved again."""
        return self.__dict__ | {"_proved": False}

    def on_grid(self, grid: Exact) -> Self:
        """This statement for values plus noise, rounded to a grid. Rounding costs no privacy.

        Args:
            grid: The grid's step, a power of two.

        Returns:
            The certificate, which is proved if this one is.

        Raises:
            InvalidArgument: The step is no power of two.

        """
        step = exact(grid, name="grid")
        if not is_power_of_two(step):
            expected = "grid to be a power of two, like 1/1024 or 4"
            raise InvalidArgument(name="grid", value=decimal_text(step)[:40], expected=expected)
        rounded = replace(self, grid=step)
        if self.proved:
            _note_proof(rounded)
        return rounded

    def about(self, neighbours: Neighbours) -> Self:
        """This statement about the given neighbours; the shifts stay the same.

        Args:
            neighbours: "add-remove" or "replace-one".

        Returns:
            The certificate, which is proved if this one is.

        Raises:
            InvalidArgument: `neighbours` is malformed, or the statement is about other neighbours.

        """
        if self.neighbours is not None:
            additional_neighbours(self.neighbours, neighbours)  # raises for another relation
        stated = replace(self, stated_neighbours=neighbours)
        if self.proved:
            _note_proof(stated)
        return stated

    def verify(self) -> Interval:
        """Prove the statement again from its fields.

        Returns:
            A new interval around δ. Its part up to the budget's δ lies within `delta`.

        Raises:
            CertificateRejected: Some part is false or not proved; the message has the reason.

        """
        self._check_grid()
        try:
            releases = self.releases
            check_work(releases, self.budget.epsilon)
            proved = prove_composed((releases,), self.budget.epsilon)
        except (NotApplicable, InvalidArgument) as error:  # such as too many draws
            raise CertificateRejected(str(error)) from error
        fresh = proved.interval
        if not proved.certainly_at_most(self.budget.delta):
            raise CertificateRejected(
                f"At epsilon={decimal_text(self.budget.epsilon)}, delta of the noise is in "
                f"[{fresh.lower!r}, {fresh.upper!r}], but the certificate claims "
                f"{decimal_text(self.budget.delta)}."
            )
        if not _is_reproduced(fresh, self.delta, self.budget.delta):
            raise CertificateRejected(
                f"The certificate's delta_interval, [{self.delta.lower!r}, {self.delta.upper!r}], "
                f"doesn't contain the proved interval, [{fresh.lower!r}, {fresh.upper!r}]."
            )
        _note_proof(self)
        return fresh

    def _check_grid(self) -> None:
        if self.grid is not None and not is_power_of_two(self.grid):
            raise CertificateRejected("The certificate's grid must be a power of two.")

    def to_json(self) -> str:
        """The certificate as JSON text.

        Returns:
            A JSON object, in which every number is exact: a decimal or a hex float.

        """
        return json.dumps(self.to_record(), indent=2)

    def to_record(self) -> dict[str, Any]:
        """The fields as JSON values.

        Returns:
            A dict that `json.dumps` writes.

        """
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
        """Read the output of `to_json`. The result is well-formed, but not verified.

        Args:
            text: JSON text.

        Returns:
            The certificate, with `proved` False.

        Raises:
            InvalidInput: The text isn't JSON, or is too long.
            CertificateRejected: Fields are unknown, missing or duplicate, have wrong types or
                values, or the version is unknown.

        """
        return cls.from_record(parse_object(text))

    @classmethod
    def from_record(cls, record: object) -> Certificate:
        """Read the output of `to_record`; see `from_json`.

        Args:
            record: A parsed JSON object.

        Returns:
            The certificate, with `proved` False.

        Raises:
            CertificateRejected: Fields are unknown or missing, have wrong types or values, or the
                version is unknown.

        """
        stated = isinstance(record, dict) and record.get(_NEIGHBOURS) is not None
        known = (*_FIELDS, _NEIGHBOURS) if stated else _FIELDS
        fields = exact_fields(record, known, where="certificate")
        check_header(fields, kind="certificate")
        require_type(fields["compositions"], int, where="compositions")
        rate = number(fields["sampling_rate"], where="sampling_rate")
        if not LEAST_SAMPLING_RATE <= rate <= 1:
            raise CertificateRejected(
                "The certificate's sampling_rate must be at least 1e-30 and at most 1."
            )
        if fields["assumptions"] != list(assumptions_at(rate)):
            raise CertificateRejected(
                "The certificate states other assumptions than its proof needs."
            )
        try:
            geometry = _geometry_of(fields)
            dimension = require_type(fields["dimension"], int, where="dimension")
            noise_dimension = geometry.noise_dimension if geometry else dimension
            return cls(
                budget=read_budget(fields),
                noise=read_noise(fields["noise"], dimension=noise_dimension),
                sensitivity=read_record(fields["sensitivity"], Sensitivity, where="sensitivity"),
                geometry=geometry,
                delta=read_interval(fields["delta_interval"], where="delta_interval"),
                compositions=fields["compositions"],
                sampling_rate=number(fields["sampling_rate"], where="sampling_rate"),
                grid=None if fields["grid"] is None else number(fields["grid"], where="grid"),
                stated_neighbours=fields.get(_NEIGHBOURS),
            )
        except ValueError as error:  # every InvalidArgument is one
            raise CertificateRejected(str(error)) from error


def _note_proof(claim: Certificate) -> None:
    """Mark this very object as proved, so that a mechanism may release with it."""
    object.__setattr__(claim, "_proved", True)


def _widen(proved: Interval, most: Fraction) -> Interval:
    """The interval that a certificate states, for a δ that is proved to be in `proved`.

    `most` is the δ of the budget, which limits the widening. On another machine, proofs with float
    sums differ by some units in the last place. Both enclosures contain δ. If they are about
    equally wide, widening one by its own width at both ends makes it contain the other.
    """
    room = proved.width
    lower = max(0.0, math.nextafter(proved.lower - room, -math.inf)) if room else proved.lower
    upper = min(1.0, math.nextafter(proved.upper + room, math.inf)) if room else proved.upper
    return Interval(lower, max(proved.upper, min(upper, float_at_most(most))))


def _is_reproduced(fresh: Interval, stated: Interval, most: Fraction) -> bool:
    """True if δ, which lies in `fresh` and is at most `most`, certainly lies in `stated`."""
    below = min(Fraction(fresh.upper), most) <= Fraction(stated.upper)
    return stated.lower <= fresh.lower and below


def assumptions_at(sampling_rate: Fraction) -> tuple[str, ...]:
    """The assumptions of a statement at that sampling rate."""
    return ASSUMPTIONS if sampling_rate == 1 else (*ASSUMPTIONS, SAMPLING)


def _geometry_of(fields: dict[str, Any]) -> Geometry | None:
    if fields["geometry"] is None:
        return None
    geometry = read_record(fields["geometry"], Geometry, where="geometry")
    if fields["dimension"] != geometry.dimension:
        raise CertificateRejected(
            f"The certificate states dimension {show_value(fields['dimension'])}, but its entry "
            f"geometry has dimension {geometry.dimension}."
        )
    return geometry
