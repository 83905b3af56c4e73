"""A certificate for groups that nobody listed: a group's noisy row is published from a count on.

The keys are data. A group that nobody is in can't be named; one that a single unit is in may be
published, with a small probability that counts as δ (theory/tables.md §"Unknown groups").
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any, Self, final

from flint import arb

from leastnoise._record import field, instance_of, record, takes, whole
from leastnoise.accounting.proof.composed import prove_composed
from leastnoise.balls.core import ball, precision
from leastnoise.certificate.certificate import VERSION, Certificate, check_header, read_budget
from leastnoise.certificate.strict_json import exact_fields, number, parse_object, typed
from leastnoise.errors import CertificateRejected, NotApplicable, NotCertified
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import decimal_text, exact
from leastnoise.guarantees.interval import Interval
from leastnoise.guarantees.sensitivity import Neighbours
from leastnoise.noise.registry import part_of, registered

KIND = "threshold-certificate"
ASSUMPTION = (
    "a group's row is published only if its noisy count, as it is published, reaches the "
    "threshold; nothing is said of other groups, not even how many there are"
)
_FIELDS = (
    *("kind", "version", "epsilon", "delta", "noise", "threshold", "reach", "coordinate"),
    "assumptions",
)
_BITS = 128


@final
@record()
class ThresholdCertificate:
    """The statement: publishing the rows of groups that nobody listed meets `budget`.

    A group's row is its numbers plus the `noise`, drawn anew for each group. It is published if the
    number at `coordinate`, rounded to the noise's grid, is at least `threshold`. `noise` is a
    certificate about as many draws as a unit may be in groups (its `compositions`), each for what a
    unit adds to one row; to the count it adds at most `reach`.

    notation: k groups, p₁ the chance that the row of a group with this unit alone is published,
    p_j = 1 − (1 − p₁)^j, δ_m(ε) of m draws. Where j of a unit's groups have nobody else, the other
    k − j are noise that is post-processed: δ = max_j p_j + (1 − p_j)·δ_(k−j)(ε), with add-remove
    neighbours. With replace-one ones it is shown at ε/2 and δ/(1 + e^(ε/2)), through the table
    without either unit.
    """

    budget: Budget = field(converter=instance_of(Budget, like="a Budget"))
    noise: Certificate = field(converter=instance_of(Certificate, like="a Certificate"))
    threshold: Fraction = field(converter=takes(exact))
    reach: Fraction = field(converter=takes(exact), default=Fraction(1))
    coordinate: int = field(converter=whole(least=0), default=0)

    @property
    def groups(self) -> int:
        """In how many groups a unit may be."""
        return self.noise.compositions

    @property
    def neighbours(self) -> Neighbours | None:
        """The neighbours that the statement is about."""
        return self.noise.neighbours

    @classmethod
    def prove(
        cls,
        *,
        budget: Budget,
        noise: Certificate,
        threshold: Fraction,
        reach: Fraction = Fraction(1),
        coordinate: int = 0,
    ) -> Self:
        """Return the certificate; raises NotCertified where it isn't proved."""
        made = cls(
            budget=budget, noise=noise, threshold=threshold, reach=reach, coordinate=coordinate
        )
        if why := made._why_not():
            raise NotCertified(interval=None, why=why)
        return made

    def verify(self) -> Interval:
        """Prove the statement again; return what δ is known to be within.

        Raises CertificateRejected, with the reason, if any part of it is false or not proved.
        """
        self.noise.verify()
        if why := self._why_not():
            raise CertificateRejected(why)
        return Interval(0.0, float(self.budget.delta))

    def chance_alone(self) -> arb:
        """Enclose p₁: reach + X, rounded to the grid, is at least the threshold."""
        noise, grid = self.noise.noise, self.noise.grid
        if registered(type(noise)).beyond is None:
            why = "the chance of a large error isn't proved for it"
            raise NotApplicable(family=noise.name, why=why)
        if grid is None:
            raise NotApplicable(family=noise.name, why="its grid has to be known")
        t = self.threshold - self.reach - grid / 2
        if t < 0:
            return arb(1)
        return part_of(type(noise), "beyond")(noise, t, self.coordinate)

    def _why_not(self) -> str:
        """Return why the statement isn't proved; "" if it is."""
        noise = self.noise
        if noise.sampling_rate != 1 or noise.geometry is not None:
            return "Groups that nobody listed are for whole tables, and noise without a geometry."
        if not self.coordinate < noise.dimension:
            return "There is no such coordinate."
        if self.reach <= 0:
            return "A unit adds something to the count of its groups: expected reach > 0."
        if noise.neighbours not in {"add-remove", "replace-one"}:
            return "The certificate of the noise has to say who neighbours are."
        with precision(_BITS):
            epsilon, delta = self.budget.epsilon, ball(self.budget.delta)
            if noise.neighbours == "replace-one":
                epsilon = epsilon / 2
                delta = delta / (1 + ball(epsilon).exp())
            alone = self.chance_alone()
            for new in range(self.groups + 1):
                published = 1 - (1 - alone) ** new
                rest = self._of_draws(self.groups - new, epsilon)
                if not published + (1 - published) * rest <= delta:
                    return (
                        f"Not proved: with {new} of {self.groups} groups that no other unit is in, "
                        "delta may be larger than the budget's."
                    )
        return ""

    def _of_draws(self, draws: int, epsilon: Fraction) -> arb:
        """Return a number that δ(ε) of so many draws is at most."""
        if draws == 0:
            return arb(0)
        one = self.noise.one_release
        return prove_composed((one.times(draws),), epsilon).upper

    def to_json(self) -> str:
        """Return the certificate as JSON text; every number is exact."""
        return json.dumps(self.to_record(), indent=2)

    def to_record(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {
            "kind": KIND,
            "version": VERSION,
            "epsilon": decimal_text(self.budget.epsilon),
            "delta": decimal_text(self.budget.delta),
            "noise": self.noise.to_record(),
            "threshold": decimal_text(self.threshold),
            "reach": decimal_text(self.reach),
            "coordinate": self.coordinate,
            "assumptions": [ASSUMPTION],
        }

    @classmethod
    def from_json(cls, text: str) -> ThresholdCertificate:
        """Read what `to_json` wrote; raises like `Certificate.from_json`."""
        return cls.from_record(parse_object(text))

    @classmethod
    def from_record(cls, record: object) -> ThresholdCertificate:
        """Read what `to_record` gave."""
        fields = exact_fields(record, _FIELDS, where="certificate")
        check_header(fields, kind=KIND)
        if fields["assumptions"] != [ASSUMPTION]:
            raise CertificateRejected("The assumptions are not those under which this is proved.")
        try:
            return cls(
                budget=read_budget(fields),
                noise=Certificate.from_record(fields["noise"]),
                threshold=number(fields["threshold"], where="threshold"),
                reach=number(fields["reach"], where="reach"),
                coordinate=typed(fields["coordinate"], int, where="coordinate"),
            )
        except ValueError as error:
            raise CertificateRejected(str(error)) from error
