"""Tables that are sums of one least-squares estimate of the cells.

Noise is added to some tables of exact sums, the measured tables, which need not be published. Each
measured table has a share of the query's budget.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from leastnoise import _words
from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import CertificateRejected
from leastnoise.guarantees.exact import decimal_text
from leastnoise.tables.answers.sums.answer import FOR_THE_LARGEST, Summed
from leastnoise.tables.spec.query import LARGEST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leastnoise.certificate.plan import Claim
    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.sensitivity import Sensitivity
    from leastnoise.tables.answers.sums.compared import Compared
    from leastnoise.tables.layout.layout import Layout

FINEST, _STEPS = -18, -20
"""Exponents of 2 for the grid of estimates: its step is 2^−18, or about 2^−20 stds if larger.

So sums of 2^34 rows are exact as floats.
"""


@dataclass(frozen=True, kw_only=True)
class MeasuredSums(Summed):
    """The published tables of a query, computed from noisy numbers of the `measured` tables.

    `measured` has the certificate of each measured table, by table number, in increasing order. The
    number is the bit mask of the table's columns, or as in `workloads.nested`.
    """

    measured: dict[int, Certificate]

    key: ClassVar[str] = "margins"
    may_be_composed: ClassVar[bool] = True

    @staticmethod
    def owns(label: str, name: str) -> bool:
        """True if `name` is the label, a point and text without a point, such as `q.1x3`.

        Such names are for certificates of noise in a table by some columns.
        """
        return name.rpartition(".")[0] == label

    @property
    @abstractmethod
    def compared(self) -> dict[str, Compared]:
        """A `Compared` for each statistic that adds up, by the statistic's label."""

    @property
    @abstractmethod
    def agreement(self) -> str:
        """A sentence that says from which numbers all tables are summed."""

    @abstractmethod
    def columns(self, table: int) -> list[str]:
        """The names of the columns by which a table is grouped."""

    def in_columns(self, table: int) -> str:
        """The columns by which a table is grouped, as text such as "sex and age"."""
        columns = self.columns(table)
        return _words.join_names(columns) if columns else "the total"

    @abstractmethod
    def remarks(self) -> list[str]:
        """Further sentences about the noise, such as about a public total."""

    def count_std(self, claim: Certificate) -> float:
        """The std of a measured table's noise in a count, or in a sum if it has no count.

        `claim` is the certificate of the table's noise.
        """
        return math.sqrt(claim.noise.variance)

    def noise_record(self) -> dict[str, Any]:
        """The measured tables and their noise as JSON values."""
        measured = [
            {
                "by": self.columns(table),
                "epsilon": decimal_text(claim.budget.epsilon),
                "delta": decimal_text(claim.budget.delta),
                "noise": claim.noise.name,
                "std": self.count_std(claim),
            }
            for table, claim in self.measured.items()
        ]
        return {"measured": measured}

    def describe_noise(self, unit: str = "") -> str:
        """A sentence about the measured tables; `unit` follows each standard deviation."""
        tables = [
            f"{'each number of the table by ' if self.columns(table) else ''}"
            f"{self.in_columns(table)} ({claim.noise.name} noise, std "
            f"{self.count_std(claim):.4g}{unit})"
            for table, claim in self.measured.items()
        ]
        return f"Noise is drawn for {_words.join_names(tables)}."

    @property
    def largest_std(self) -> float:
        """The largest standard deviation of a published count or sum.

        Only for plans that minimize this number: for other plans, `compared` has geometric means
        instead.
        """
        return max((compared.own for compared in self.compared.values()), default=0.0)

    def to_record(self) -> dict[str, Any]:
        """The noise as JSON values, which follow from spec and certificate."""
        objective = {"objective": LARGEST, "largest_std": self.largest_std}
        return {
            **self.noise_record(),
            **(objective if self.cells.largest else {}),
            "compared": {label: vars(compared) for label, compared in self.compared.items()},
        }

    def in_words(self) -> list[str]:
        """Sentences about the noise, with a comparison with other noise for these tables."""
        largest = self.cells.largest
        several = len(self.compared) > 1
        return [
            f"{self.describe_noise()} {self.agreement}",
            *self.remarks(),
            *([FOR_THE_LARGEST] if largest else []),
            *(
                compared.in_words(label if several else "", largest=largest)
                for label, compared in self.compared.items()
            ),
            *([] if self.whole_counts is None else self.whole_counts.in_words()),
        ]


def largest_claim(measured: Mapping[int, Certificate]) -> Certificate:
    """The certificate with the largest ε, among the certificates of measured tables."""
    return max(measured.values(), key=lambda claim: claim.budget.epsilon)


def check_measured(
    cells: Layout, share: Budget, measured: Mapping[int, Certificate], *, composed: bool
) -> None:
    """Raise CertificateRejected unless the measured tables are in order and keep to the share.

    The ε of their certificates may add up to at most the share's ε, and δ likewise. If all draws of
    the release are `composed`, ε isn't checked here: the ε of all draws together is proved
    elsewhere.
    """
    tables = f"The tables of {cells.name!r}"
    if list(measured) != sorted(measured):
        raise CertificateRejected(f"{tables} are in the wrong order in the certificate.")
    for part in ("delta",) if composed else ("epsilon", "delta"):
        spent = sum((getattr(claim.budget, part) for claim in measured.values()), Fraction(0))
        if spent > getattr(share, part):
            raise CertificateRejected(f"{tables} spend more than their share of {part}.")


def expect_table(
    name: str, claim: Claim, table: int | None, measured: Mapping[int, Certificate]
) -> tuple[int, Certificate]:
    """Check that a claim can be about noise in a table; return the table's number and the claim.

    `table` is the number of the table that `name` names, or None if there is no such table. Raises
    CertificateRejected for an unknown table, a table that is already in `measured`, or another kind
    of claim than a `Certificate`.
    """
    if table in measured:
        raise CertificateRejected(f"The certificate states noise for {name!r} twice.")
    if table is None or not isinstance(claim, Certificate):
        raise CertificateRejected(
            f"The certificate states noise for {name!r}, but no table of the spec has such noise."
        )
    return table, claim


def check_claim(  # noqa: PLR0917 (four calls)
    name: str,
    claim: Certificate,
    cells: Layout,
    dimension: int,
    moves: Sequence[Sensitivity],
    *,
    families: Sequence[str],
) -> None:
    """Raise CertificateRejected unless the claim is about noise in `dimension` numbers of a table.

    The noise must be alike in all cells, and of one of the `families`. The claim's sensitivity must
    be in `moves`, its neighbours must be the layout's, and it must have a grid and no sampling.
    """
    fits = (
        (
            claim.dimension == dimension,
            "the certificate has another number of coordinates than the spec",
        ),
        (claim.sensitivity in moves, "the certificate's sensitivity doesn't follow from the spec"),
        (
            claim.neighbours == cells.neighbours,
            f"expected a certificate for {cells.neighbours} neighbours",
        ),
        (
            claim.sampling_rate == 1,
            "the certificate is for random samples of rows, but the release uses all rows",
        ),
        (
            claim.grid is not None,
            "the certificate must state the grid to which the published numbers are rounded",
        ),
        (
            claim.geometry is None or claim.geometry.kind == "cells",
            "the certificate's noise is not the same in all numbers of the table",
        ),
        (
            claim.noise.name in families,
            "the certificate's noise is of no family for tables with margins",
        ),
    )
    for fit, why in fits:
        if not fit:
            raise CertificateRejected(f"Query {name!r}: {why}.")


def grid_of_variance(finest: int, variance: float) -> Fraction:
    """The step of a grid: 2^finest, or about 2^`_STEPS` standard deviations if that is larger."""
    return Fraction(2) ** max(finest, math.floor(math.log2(math.sqrt(variance))) + _STEPS)
