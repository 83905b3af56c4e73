"""The limits on one person's contribution, to a whole release or to one query."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, final

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, PlainValidator, Tag

from leastnoise.tables.spec.section import Section, key, require_key
from leastnoise.tables.spec.values import Positive, RowLimit, Share, as_tuple

MOST_CANDIDATES = 12


def _read_find(value: object) -> bool:
    """Check the key `find`, whose only value is `true`; raise ValueError for any other value."""
    if value is not True:
        raise ValueError("Expected find = true. Write a known limit as a number.")
    return True


def _check_candidates(values: tuple[int, ...]) -> tuple[int, ...]:
    """Return the candidates; raise ValueError unless they increase."""
    if any(low >= high for low, high in pairwise(values)):
        raise ValueError("Expected numbers in increasing order, without equal numbers.")
    return values


_Candidates = Annotated[
    tuple[RowLimit, ...],
    BeforeValidator(as_tuple),
    Field(min_length=2, max_length=MOST_CANDIDATES),
    AfterValidator(_check_candidates),
]


_FORMS = (
    'a whole number such as 5, or { find = true, share = "0.1", candidates = [1, 2, 5, 10] } to '
    "let the release find it"
)


@final
class FindLimit(Section):
    """A limit that a release finds: a public candidate, chosen by chance.

    A candidate with a small total error is likely. The total error of a limit is the noise of the
    release with that limit, plus the rows or groups that the limit cuts off. Finding it spends
    `share` of the whole budget. `found` is the limit that a release found.
    """

    find: Annotated[bool, PlainValidator(_read_find, json_schema_input_type=Literal[True])] = key(
        "the flag that lets the release find the limit", "max_rows = { find = true }"
    )
    share: Share = key("the part of the whole budget for finding the limit", 'share = "0.1"')
    candidates: _Candidates = key("the public candidates", "candidates = [1, 2, 5, 10, 20, 50]")
    found: RowLimit | None = key(
        "the limit that a release found; it adds this key itself", "found = 5", default=None
    )

    @classmethod
    def complete(cls, value: dict[str, Any]) -> dict[str, Any]:
        """Return the section unchanged; raise ValueError if it lacks the key `find`.

        A misspelt `find` raises no error here; pydantic reports it.
        """
        return require_key(value, "find", forms=_FORMS)

    @property
    def limit(self) -> int:
        """The limit that a release found; before that, the largest candidate."""
        return self.candidates[-1] if self.found is None else self.found


def _tag(value: object) -> str:
    """The pydantic tag of a limit: a number, or a table that finds it."""
    return "find[]" if isinstance(value, dict | FindLimit) else "value[]"


LimitOrFind = Annotated[
    Annotated[FindLimit, Tag("find[]")] | Annotated[RowLimit, Tag("value[]")], Discriminator(_tag)
]


@final
@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits that hold for one person, as numbers."""

    max_rows: int | None = None
    max_groups: int | None = None
    max_rows_per_group: int | None = None
    l1: Fraction | None = None
    l2: Fraction | None = None

    @property
    def given(self) -> dict[str, int | Fraction]:
        """The limits that are given, by name."""
        known = {declared.name: getattr(self, declared.name) for declared in fields(self)}
        return {name: most for name, most in known.items() if most is not None}

    @property
    def counted(self) -> dict[str, int]:
        """The limits on numbers of rows and groups, by name; limits on norms are left out."""
        names = ("max_rows", "max_groups", "max_rows_per_group")
        return {name: most for name in names if (most := getattr(self, name)) is not None}


@final
class Contribution(Section):
    """The limits on the contribution of one person; every given limit applies.

    The first three limit a person's rows, the person's groups in one query, and the person's rows
    in each group. `l1` and `l2` limit the norm of all that the person adds to a query's numbers.
    The release can find `max_rows`, and `max_groups` of a query.
    """

    forms: ClassVar[dict[str, str]] = {"max_rows": _FORMS, "max_groups": _FORMS}

    max_rows: LimitOrFind | None = key("the most rows of one person", "max_rows = 5", default=None)
    max_groups: LimitOrFind | None = key(
        "the most groups of a query in which one person counts", "max_groups = 2", default=None
    )
    max_rows_per_group: RowLimit | None = key(
        "the most rows of one person in one group", "max_rows_per_group = 1", default=None
    )
    l1: Positive | None = key(
        "the largest l1 norm of one person's contribution to a query", "l1 = 3", default=None
    )
    l2: Positive | None = key(
        "the largest l2 norm of one person's contribution to a query", "l2 = 3", default=None
    )

    @property
    def finds(self) -> dict[str, FindLimit]:
        """The limits that a release finds, by name."""
        known = {"max_rows": self.max_rows, "max_groups": self.max_groups}
        return {name: limit for name, limit in known.items() if isinstance(limit, FindLimit)}

    @property
    def limits(self) -> Limits:
        """The limits as numbers; a limit that isn't found yet is its largest candidate."""
        numbers: dict[str, Any] = dict(self)
        numbers.update({name: finds.limit for name, finds in self.finds.items()})
        return Limits(**numbers)
