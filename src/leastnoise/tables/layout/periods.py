"""The releases of a series with running totals, whose noise is drawn from a tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self, final

from leastnoise.errors import CertificateRejected

_LARGEST = 1 << 53  # whole numbers up to this limit are exact as floats


@final
@dataclass(frozen=True, kw_only=True)
class Periods:
    """The releases that share one tree of noise, and the release that is laid out.

    `count` is the number of releases in the series. `branches` are the branches of the tree, or
    None if the search chooses them. `release` is the number of the release, from 1 on. `first` is
    the number of the first release of its tree: 1, or the number of the release after a restart.
    """

    count: int
    branches: tuple[int, ...] | None
    release: int = 1
    first: int = 1

    @property
    def leaf(self) -> int:
        """The index, from 0, of the tree's leaf whose noise this release has."""
        return self.release - self.first


@final
@dataclass(frozen=True, kw_only=True)
class RunningSums:
    """The sums of one query that the next release of its series needs.

    `noise` has, for each cell, partial sums of noise in the tree, which are as secret as the rows
    (see `noise.trees.next_leaf`). `counts` are the published counts of the last release, and
    `totals` the running totals that it published.
    """

    noise: tuple[tuple[int, ...], ...] = field(repr=False)
    totals: tuple[int, ...]
    counts: tuple[int, ...]

    def to_record(self) -> dict[str, Any]:
        """The sums as JSON values."""
        return {
            "noise": [list(sums) for sums in self.noise],
            "totals": list(self.totals),
            "counts": list(self.counts),
        }

    @classmethod
    def from_record(cls, record: object, *, like: Self) -> Self:
        """Read the sums that `to_record` wrote.

        Raises CertificateRejected unless they are whole numbers of at most 2^53 in size, for as
        many cells and nodes as `like` has.
        """
        from leastnoise.certificate.records import (  # noqa: PLC0415 (.2 s)
            exact_fields,
            require_type,
        )

        where = "the sums of a series"
        fields = exact_fields(record, ("noise", "totals", "counts"), where=where)
        lists = {name: require_type(value, list, where=where) for name, value in fields.items()}
        noise = [tuple(require_type(sums, list, where=where)) for sums in lists["noise"]]
        wholes = [*lists["totals"], *lists["counts"], *(n for sums in noise for n in sums)]
        sizes = [*map(len, noise)], len(lists["totals"]), len(lists["counts"])
        known = [*map(len, like.noise)], len(like.totals), len(like.counts)
        if sizes != known or any(type(n) is not int or abs(n) > _LARGEST for n in wholes):
            raise CertificateRejected("The running sums in the state file are damaged.")
        return cls(noise=tuple(noise), totals=tuple(lists["totals"]), counts=tuple(lists["counts"]))


@final
@dataclass(kw_only=True)
class OpenTotals:
    """The running sums of each query, by label: `before` a release, and `after` its draw."""

    before: Mapping[str, RunningSums] = field(repr=False)
    after: dict[str, RunningSums] = field(default_factory=dict, repr=False)
