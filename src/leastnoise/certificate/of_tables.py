"""The common base of certificates about tables, such as those for unlisted groups and quantiles.

Each certificate states that a step of a release of whole tables meets a budget. Its JSON object has
the kind, the budget, the other fields, and the assumption of the statement.
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
    """Name of the kind in JSON."""
    assumption: ClassVar[str]

    budget: Budget = field(converter=instance_of(Budget, like="a Budget"))
    neighbours: Neighbours = field(converter=one_of(NEIGHBOURS), default="add-remove")

    @property
    def sampling_rate(self) -> Fraction:
        """1, as the statement is about whole tables."""
        return Fraction(1)

    @property
    def proved(self) -> bool:
        """Always False: these certificates are proved again whenever a proof is needed."""
        return False

    @abstractmethod
    def _delta(self) -> tuple[float, str]:
        """An upper bound on δ, and the reason if the statement isn't proved, otherwise ""."""

    def prove(self) -> Self:
        """Return this certificate. Raises NotCertified if it isn't proved."""
        _, why = self._delta()
        if why:
            raise NotCertified(interval=None, why=why)
        return self

    def verify(self) -> Interval:
        """Prove the statement again, and return an interval that contains δ.

        Raises CertificateRejected, with the reason, if any part is false or not proved.
        """
        worst, why = self._delta()
        if why:
            raise CertificateRejected(why)
        # both bounds hold: the computed one, and the budget
        return Interval(0.0, min(worst, float_at_least(self.budget.delta)))

    def to_json(self) -> str:
        """The certificate as JSON text; every number is exact."""
        return json.dumps(self.to_record(), indent=2)

    def to_record(self) -> dict[str, Any]:
        """The fields as JSON values."""
        record: dict[str, Any] = {
            "kind": self.kind,
            "version": VERSION,
            "epsilon": decimal_text(self.budget.epsilon),
            "delta": decimal_text(self.budget.delta),
            "neighbours": self.neighbours,
        }
        for name in _list_specific(type(self)):
            record[name] = self.write_field(getattr(self, name))
        return record | {"assumptions": [self.assumption]}

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the output of `to_json`. Raises like `Certificate.from_json`."""
        return cls.from_record(parse_object(text))

    @classmethod
    def from_record(cls, record: object) -> Self:
        """Read the output of `to_record`. Raises CertificateRejected for anything else."""
        specific = _list_specific(cls)
        fields = exact_fields(record, (*_SHARED, *specific), where="certificate")
        check_header(fields, kind=cls.kind)
        if fields["assumptions"] != [cls.assumption]:
            raise CertificateRejected(
                "The certificate states other assumptions than its proof needs."
            )
        try:
            values = {
                name: cls.read_field(fields[name], kind, where=name)
                for name, kind in specific.items()
            }
            budget, neighbours = read_budget(fields), fields["neighbours"]
            return cls(budget=budget, neighbours=neighbours, **values)
        except ValueError as error:
            raise CertificateRejected(str(error)) from error

    @staticmethod
    def write_field(value: Any) -> Any:
        """The JSON value of a field."""
        return value.to_record() if isinstance(value, Certificate) else write_value(value)

    @staticmethod
    def read_field(value: object, kind: Any, *, where: str) -> Any:
        """Read the output of `write_field` for a field of this `kind`."""
        if kind is Certificate:
            return Certificate.from_record(value)
        return read_value(value, kind, where=where)


def _list_specific(kind: type[TableCertificate]) -> dict[str, Any]:
    """The fields of a kind of certificate beside the shared ones, each with its type."""
    shared = list_arguments(TableCertificate)
    return {name: type_ for name, type_ in list_arguments(kind).items() if name not in shared}
