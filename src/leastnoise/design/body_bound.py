"""A lower bound on the loss of purely private noise, from volumes (theory/bodies.md §8)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, final

from flint import arb

from leastnoise._record import A_DIMENSION, field, record, takes, whole
from leastnoise.balls.core import AMPLE_BITS, float_below, precision
from leastnoise.balls.staircases import StaircaseMoment
from leastnoise.certificate.records import (
    exact_fields,
    number,
    number_text,
    read_record,
    typed,
    write_record,
)
from leastnoise.errors import CertificateRejected
from leastnoise.guarantees.exact import exact
from leastnoise.guarantees.projections import Projections, projections_of
from leastnoise.guarantees.sensitivity import A_SENSITIVITY, Sensitivity

_TIMES = (1, 2, 3, 4, 6, 8, 12, 16, 32, 64)
_FIELDS = ("sensitivity", "dimension", "coordinates", "times", "gamma")


@final
@record()
class BodyWitness:
    """Which volume the bound rests on: that of n = `times` times all shifts of j = `coordinates`.

    notation: S the shifts of `sensitivity` in R^`dimension`, S_j those of j of its numbers, ρ the
    radius of the ball of R^j with the volume of n·S_j = S_j + … + S_j. Noise that is ε-DP for S is
    nε-DP for n·S, and so is that of j of its numbers. So these have E‖X‖^p >= ρ^p·m_j(nε), the
    least moment of a staircase (theory/bodies.md §8), and the mean over all sets of j numbers
    has E‖X‖² of all of them. `gamma` is about where the staircase's moment is least: a hint, on
    which nothing depends but whether the proof succeeds.

    For L2 sensitivity, with j = d, the bound is attained by the staircase in ‖x‖₂.
    """

    sensitivity: Sensitivity = field(converter=A_SENSITIVITY)
    dimension: int = field(converter=A_DIMENSION)
    coordinates: int = field(converter=whole())
    times: int = field(converter=whole())
    gamma: Fraction = field(converter=takes(exact))

    def bound(self, *, epsilon: Fraction, power: int) -> Fraction:
        """Return a lower bound of E Σ|X_i|^power, rounded down to a float.

        Raises CertificateRejected where nothing is proved: for power 1 and j > 1 too, since E‖X‖₁
        is not E‖X‖₂.
        """
        room = self._room(epsilon, power)
        with precision(AMPLE_BITS):
            moment = StaircaseMoment.of(
                epsilon=self.times * epsilon, dimension=self.coordinates, power=power
            )
            least = moment.least(self.gamma)
            if least is None:
                raise CertificateRejected("gamma is not near the staircase of the least moment.")
            found = float_below(
                _factor(room, coordinates=self.coordinates, times=self.times, power=power) * least
            )
        if not math.isfinite(found):
            raise CertificateRejected("The bound is beyond the range of floats.")
        return Fraction(found)

    def _room(self, epsilon: Fraction, power: int) -> Projections:
        """Return the projections that it is about; raises CertificateRejected."""
        room = projections_of(self.sensitivity, dimension=self.dimension)
        if room is None:
            raise CertificateRejected("No volume of these shifts is known.")
        if not (
            fits(room, epsilon, coordinates=self.coordinates, times=self.times, power=power)
            and 0 < self.gamma <= 1
        ):
            raise CertificateRejected("The witness of a lower bound is malformed.")
        return room

    def record(self) -> dict[str, object]:
        """Return the witness as JSON values, exactly."""
        return {
            "sensitivity": write_record(self.sensitivity),
            "dimension": self.dimension,
            "coordinates": self.coordinates,
            "times": self.times,
            "gamma": number_text(self.gamma),
        }

    @classmethod
    def from_record(cls, record: object) -> BodyWitness:
        """Read what `record` gave; raises CertificateRejected or InvalidArgument for others."""
        fields: dict[str, Any] = exact_fields(record, _FIELDS, where="witness")
        return cls(
            sensitivity=read_record(fields["sensitivity"], Sensitivity, where="sensitivity"),
            dimension=typed(fields["dimension"], int, where="dimension"),
            coordinates=typed(fields["coordinates"], int, where="coordinates"),
            times=typed(fields["times"], int, where="times"),
            gamma=number(fields["gamma"], where="gamma"),
        )


def propose(
    sensitivity: Sensitivity, *, dimension: int, epsilon: Fraction, power: int
) -> BodyWitness | None:
    """Return the witness with the largest bound of some that are tried; None if there is none.

    Tried are one number at a time and as many as possible, and more times while that helps.
    """
    room = projections_of(sensitivity, dimension=dimension)
    if room is None:
        return None
    with precision(AMPLE_BITS):
        tried = [one for j in _coordinates(room, power) for one in _rising(room, epsilon, j, power)]
        if not tried:
            return None
        _, times, moment = max(tried, key=lambda one: one[0])
        return BodyWitness(
            sensitivity=sensitivity,
            dimension=dimension,
            coordinates=moment.dimension,
            times=times,
            gamma=moment.best(),
        )


def _rising(
    room: Projections, epsilon: Fraction, coordinates: int, power: int
) -> list[tuple[float, int, StaircaseMoment]]:
    """Return (ln of about the bound, n, the moment) for n = 1, 2, … as long as it rises."""
    found: list[tuple[float, int, StaircaseMoment]] = []
    for n in _TIMES if room.grows else _TIMES[:1]:
        if not fits(room, epsilon, coordinates=coordinates, times=n, power=power):
            break
        moment = StaircaseMoment.of(epsilon=n * epsilon, dimension=coordinates, power=power)
        factor = _factor(room, coordinates=coordinates, times=n, power=power)
        value = float((factor * moment.roughly()).log())
        if found and value <= found[-1][0]:
            break
        found.append((value, n, moment))
    return found


def _coordinates(room: Projections, power: int) -> set[int]:
    if power == 1:
        return {1}
    # the bound of a ball is attained with all of its coordinates
    most_tried = 256  # coordinates of what isn't a ball, where more gain little
    return {room.largest} if room.attained else {1, min(room.largest, most_tried)}


def fits(room: Projections, epsilon: Fraction, *, coordinates: int, times: int, power: int) -> bool:
    """Return whether a bound from so many coordinates and times is known and little work."""
    least_epsilon, most_epsilon = Fraction(1, 10**100), 500  # of all times together
    most_work = 20_000  # coordinates · ε: a second
    return (
        1 <= coordinates <= min(room.largest, 1_000)
        and 1 <= times <= _TIMES[-1]
        and epsilon >= least_epsilon
        and times * epsilon <= most_epsilon
        and coordinates * times * epsilon <= most_work
        and (power == 2 or coordinates == 1)
    )


def _factor(room: Projections, *, coordinates: int, times: int, power: int) -> arb:
    """Return ρ^power·(numbers/j): each number lies in j of so many sets of j."""
    return room.radius(coordinates, times=times) ** power * room.numbers / coordinates
