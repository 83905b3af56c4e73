"""What certificates of tables have in common: of groups that nobody listed, of chosen quantiles.

Each states that a step of a release meets a budget, and is about whole tables. As JSON it is its
kind, its budget and its fields, each as its type says, and the assumption that it rests on.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar, Self

from leastnoise._record import field, instance_of, list_arguments, one_of, record
from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.records import (
    VERSION,
    check_header,
    exact_fields,
    parse_object,
    read_budget,
    read_value,
    write_value,
)
from leastnoise.errors import CertificateRejected, NotCertified
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import Interval, decimal_text, float_at_least
from leastnoise.guarantees.sensitivity import NEIGHBOURS, Neighbours

_SHARED = ("kind", "version", "epsilon", "delta", "neighbours", "assumptions")


@record()
class TableCertificate(ABC):
    """The statement that a step of a release meets `budget` between `neighbours`."""

    kind: ClassVar[str]
    """What JSON calls it."""
    assumption: ClassVar[str]

    budget: Budget = field(converter=instance_of(Budget, like="a Budget"))
    neighbours: Neighbours = field(converter=one_of(NEIGHBOURS), default="add-remove")

    @property
    def sampling_rate(self) -> Fraction:
        """What is stated is about whole tables, where it is 1."""
        return Fraction(1)

    @property
    def proved(self) -> bool:
        """No such object notes that it was proved: it is proved again wherever that matters."""
        return False

    @abstractmethod
    def _delta(self) -> tuple[float, str]:
        """Return an upper bound of δ, and why the statement isn't proved; "" if it is."""

    def prove(self) -> Self:
        """Return this certificate; raises NotCertified where it isn't proved."""
        _, why = self._delta()
        if why:
            raise NotCertified(interval=None, why=why)
        return self

    def verify(self) -> Interval:
        """Prove the statement again; return what δ is known to be within.

        Raises CertificateRejected, with the reason, if any part of it is false or not proved.
        """
        worst, why = self._delta()
        if why:
            raise CertificateRejected(why)
        # both are true: what was found, and the budget that it was proved to be within
        return Interval(0.0, min(worst, float_at_least(self.budget.delta)))

    def to_json(self) -> str:
        """Return the certificate as JSON text; every number is exact."""
        return json.dumps(self.to_record(), indent=2)

    def to_record(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        record: dict[str, Any] = {
            "kind": self.kind,
            "version": VERSION,
            "epsilon": decimal_text(self.budget.epsilon),
            "delta": decimal_text(self.budget.delta),
            "neighbours": self.neighbours,
        }
        for name in _list_own(type(self)):
            value = getattr(self, name)
            nested = isinstance(value, Certificate)
            record[name] = value.to_record() if nested else write_value(value)
        return record | {"assumptions": [self.assumption]}

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote; raises like `Certificate.from_json`."""
        return cls.from_record(parse_object(text))

    @classmethod
    def from_record(cls, record: object) -> Self:
        """Read what `to_record` gave."""
        own = _list_own(cls)
        fields = exact_fields(record, (*_SHARED, *own), where="certificate")
        check_header(fields, kind=cls.kind)
        if fields["assumptions"] != [cls.assumption]:
            raise CertificateRejected("The assumptions are not those under which this is proved.")
        try:
            values = {
                name: Certificate.from_record(fields[name])
                if kind is Certificate
                else read_value(fields[name], kind, where=name)
                for name, kind in own.items()
            }
            budget, neighbours = read_budget(fields), fields["neighbours"]
            return cls(budget=budget, neighbours=neighbours, **values)
        except ValueError as error:
            raise CertificateRejected(str(error)) from error


def _list_own(kind: type[TableCertificate]) -> dict[str, Any]:
    """Return the fields that a kind of certificate has beside those of all, each with its type."""
    shared = list_arguments(TableCertificate)
    return {name: one for name, one in list_arguments(kind).items() if name not in shared}
