"""A release in calls, a table after another: `release(rows, unit="row", epsilon=1).count()`.

What it builds is the sections of a spec, which `Release` reads as it does any other: see there for
what each key means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from leastnoise import _validate, _words
from leastnoise.errors import InvalidArgument, show_value
from leastnoise.guarantees.exact import decimal_text, exact
from leastnoise.tables.publish.release import Release
from leastnoise.tables.spec.values import LEAST, as_table_name

if TYPE_CHECKING:
    from leastnoise.guarantees.exact import Exact
    from leastnoise.guarantees.sensitivity import Neighbours
    from leastnoise.tables.plan.plan import Plan
    from leastnoise.tables.publish.output import ReleasedTables
    from leastnoise.tables.publish.release import Progress
    from leastnoise.tables.spec.column import Column
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query

By = str | Sequence[str]
Keys = Mapping[str, Any]
Bounds = Sequence["Exact"] | Mapping[str, Any]
"""Two numbers, or how they are found: `{"find": True, "share": "0.02", "candidates": …}`."""
_EXAMPLES = {"bounds": "(0, 100)", "candidates": '{"from": 0, "to": 100, "step": 1}'}
_KNOWN = {"keys", "edges"}


def release(  # noqa: PLR0913  # the sections of a spec
    data: object,
    *,
    unit: str,
    epsilon: Exact,
    delta: Exact = 0,
    neighbours: Neighbours = "add-remove",
    max_rows: int | None = None,
    max_groups: int | None = None,
    max_rows_per_group: int | None = None,
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    derive: Mapping[str, str] | None = None,
    ledger: str | Path | Mapping[str, Any] | None = None,
    output: str | Path | Mapping[str, Any] | None = None,
    report: Mapping[str, Any] | None = None,
    folder: str | Path = "",
) -> ReleaseBuilder:
    """Return a release without a table yet, of a frame, a file's path, or a spec's `data`.

    `unit` is the column that identifies a person, or "row" if each row is one. A person is counted
    with at most `max_rows` rows, in at most `max_groups` groups of a table, with at most
    `max_rows_per_group` in each; one of them has to be given where the unit is a column. A `ledger`
    and an `output` may be paths. The other keywords are the sections and keys of a spec. Raises
    SpecError listing every problem of them; no row is read.

    >>> rows = [{"who": i, "region": "ns"[i % 2], "income": 100.0 * i} for i in range(1000)]
    >>> import pandas as pd
    >>> import leastnoise as ln
    >>> made = (
    ...     ln.release(pd.DataFrame(rows), unit="who", epsilon=1, max_rows=1)
    ...     .count(by="region", keys={"region": ["n", "s"]})
    ...     .mean("income", by="region", bounds=(0, 150_000))
    ... )
    >>> made
    <ReleaseBuilder: 1 query, 1-DP for each who: by_region>
    >>> list(made.run().tables["by_region"].columns)[:2]
    ['region', 'count']
    """
    limits = {
        "max_rows": max_rows,
        "max_groups": max_groups,
        "max_rows_per_group": max_rows_per_group,
    }
    contribution = {name: limit for name, limit in limits.items() if limit is not None}
    privacy = {"unit": unit, "epsilon": epsilon, "delta": delta, "neighbours": neighbours}
    begun = ReleaseBuilder(
        sections={
            "data": {"source": str(data)} if isinstance(data, str | Path) else data,
            "privacy": privacy if ledger is None else privacy | {"ledger": _at(ledger)},
            "contribution": contribution or None,
            "derive": derive,
            "output": None if output is None else _at(output),
            "report": report,
            "folder": folder,
        },
        columns={
            name: _validate.table(one, name="columns")
            for name, one in _validate.table(columns, name="columns").items()
        },
        private={},
        asked={},
    )
    if not (isinstance(epsilon, str) and epsilon == LEAST):  # that needs queries of an accuracy
        # refuses now what no release can have; max_groups alone bounds no count of rows
        ask = begun.count_units if set(contribution) == {"max_groups"} else begun.count
        ask()
    return begun


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReleaseBuilder:
    """Tables about people that are asked for one after another. Make one with `release`.

    Each call returns another builder, and leaves this one as it is. What is asked for `by` the same
    columns is one table, called "all", "by_region" or "by_region_sex", with one draw of noise. The
    `keys` of columns are given once, and are public: a list, `{"edges": [0, 18, 65]}` for bands of
    a number, `{"file": "codes.csv"}`, or "private" for groups that nobody listed. So are `bounds`,
    which values are limited to, and `candidates`, among which quantiles are. Bounds may be found:
    `{"find": True, "share": "0.02", "candidates": {"from": 0, "to": 1_000_000, "step": 1_000}}`.
    What can't be released is refused by the call that asks for it, with a SpecError, or an
    InvalidArgument.
    """

    sections: Mapping[str, Any]
    columns: Mapping[str, dict[str, Any]]
    private: Mapping[str, Any]
    asked: Mapping[tuple[str, ...] | int, Any]
    made: Release | None = None

    def __repr__(self) -> str:
        said = "no table yet" if self.made is None else repr(self.made).partition(": ")[2][:-1]
        return _words.line("ReleaseBuilder", said)

    def count(
        self, column: str | None = None, *, by: By = (), keys: Keys | None = None
    ) -> ReleaseBuilder:
        """Return this with the number of rows; of a `column` with that of rows with a value."""
        if column is None:
            return self._with("count", by, keys)
        return self._with(f"count({_validate.text(column, name='column')})", by, keys)

    def count_units(self, *, by: By = (), keys: Keys | None = None) -> ReleaseBuilder:
        """Return this with the number of persons, or of whatever the unit is."""
        return self._with("count_units", by, keys)

    def groups(self, *, by: By, keys: Keys | None = None) -> ReleaseBuilder:
        """Return this with the groups that there are, of private `keys`, and no number of them.

        Without a number smaller groups are published: see `statistics = []` of a spec.
        """
        return self._with(None, by, keys)

    def sum(
        self,
        column: str,
        *,
        by: By = (),
        keys: Keys | None = None,
        bounds: Bounds | None = None,
        missing: Exact | None = None,
    ) -> ReleaseBuilder:
        """Return this with the sum of a column; a `missing` value is left out, or this number."""
        return self._of("sum", column, by, keys, bounds=bounds, missing=missing)

    def mean(
        self,
        column: str,
        *,
        by: By = (),
        keys: Keys | None = None,
        bounds: Bounds | None = None,
        missing: Exact | None = None,
    ) -> ReleaseBuilder:
        """Return this with the mean of a column; see `sum`."""
        return self._of("mean", column, by, keys, bounds=bounds, missing=missing)

    def var(
        self,
        column: str,
        *,
        by: By = (),
        keys: Keys | None = None,
        bounds: Bounds | None = None,
        missing: Exact | None = None,
    ) -> ReleaseBuilder:
        """Return this with the population variance of a column; see `sum`."""
        return self._of("var", column, by, keys, bounds=bounds, missing=missing)

    def std(
        self,
        column: str,
        *,
        by: By = (),
        keys: Keys | None = None,
        bounds: Bounds | None = None,
        missing: Exact | None = None,
    ) -> ReleaseBuilder:
        """Return this with the population standard deviation of a column; see `sum`."""
        return self._of("std", column, by, keys, bounds=bounds, missing=missing)

    def median(
        self, column: str, *, by: By = (), keys: Keys | None = None, candidates: Any = None
    ) -> ReleaseBuilder:
        """Return this with the median of a column.

        It is one of the `candidates`: `{"from": 0, "to": 150_000, "step": 100}`, or a list.
        """
        return self._of("median", column, by, keys, candidates=candidates)

    def quantile(
        self,
        column: str,
        level: Exact,
        *,
        by: By = (),
        keys: Keys | None = None,
        candidates: Any = None,
    ) -> ReleaseBuilder:
        """Return this with a quantile of a column, one of the `candidates`: see `median`."""
        text = decimal_text(exact(level, name="level"))
        return self._of("quantile", column, by, keys, more=f", {text}", candidates=candidates)

    def query(self, name: str, **section: Any) -> ReleaseBuilder:
        """Return this with a query of a spec, which is a table of its own: any of its keys."""
        asked = {**self.asked, len(self.asked): {"name": name, **section}}
        return self._checked(asked, {}, self.private)

    def build(self) -> Release:
        """Return the release; raises InvalidArgument before there is a table."""
        if self.made is None:
            expected = "a release with a table: call count(), mean(…) or query(…) first"
            raise InvalidArgument(name="queries", value="none", expected=expected)
        return self.made

    @property
    def spec(self) -> Spec:
        """The spec, normalised and exact."""
        return self.build().spec

    def to_toml(self) -> str:
        """Return the spec as TOML: see `Release.to_toml`."""
        return self.build().to_toml()

    def plan(self, *, progress: Progress | None = None) -> Plan:
        """Return what `run` would do, and how well, without reading a row: see `Release.plan`."""
        return self.build().plan(progress=progress)

    def run(
        self,
        *,
        progress: Progress | None = None,
        sign: str | Path | None = None,
        label: str | None = None,
    ) -> ReleasedTables:
        """Read the rows and return the tables: see `Release.run`. Each call spends ε again."""
        return self.build().run(progress=progress, sign=sign, label=label)

    def _of(
        self, kind: str, column: str, by: By, keys: Keys | None, *, more: str = "", **facts: Any
    ) -> ReleaseBuilder:
        """Return this with a statistic of a column, of which these `facts` are public."""
        name = _validate.text(column, name="column")
        told = {key: value for key, value in facts.items() if value is not None}
        needed = "bounds" if "bounds" in facts else "candidates"
        known = {**self.columns.get(name, {}), **told}
        found = known.get("bounds")
        if needed not in known and not (isinstance(found, Mapping) and needed in found):
            expected = f"the public {needed} of {name!r}, such as {needed}={_EXAMPLES[needed]}"
            raise InvalidArgument(name=needed, value=None, expected=expected)
        return self._with(f"{kind}({name}{more})", by, keys, {name: told} if told else {})

    def _with(
        self,
        statistic: str | None,
        by: By,
        keys: Keys | None,
        facts: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> ReleaseBuilder:
        like = '"region" or ["region", "sex"]'
        listed = (by,) if isinstance(by, str) else _validate.items(by, name="by", like=like)
        names = tuple(_validate.text(one, name="by") for one in listed)
        told = {name: dict(one) for name, one in (facts or {}).items()}
        private = dict(self.private)
        for name, groups in _validate.table(keys, name="keys").items():
            if _is_private(groups):
                private[name] = groups if isinstance(groups, Mapping) else {"keys": "private"}
            else:
                told.setdefault(name, {}).update(_of_column(groups))
        public = {name for name, one in [*self.columns.items(), *told.items()] if _KNOWN & {*one}}
        for name in (*names, *private):
            if name in private and name in public:
                expected = "groups that are public or private, and not both"
                raise InvalidArgument(name="keys", value=name, expected=expected)
            if name not in private and name not in public:
                raise InvalidArgument(
                    name="by",
                    value=name,
                    expected=f"a column of known groups: give keys={{{name!r}: [...]}}, which are "
                    'public and never read off the data, or "private" in place of the list for '
                    "groups that nobody listed",
                )
        added = () if statistic is None else (statistic,)
        statistics = dict.fromkeys([*self.asked.get(names, ()), *added])
        return self._checked({**self.asked, names: tuple(statistics)}, told, private)

    def _checked(
        self,
        asked: Mapping[tuple[str, ...] | int, Any],
        told: Mapping[str, Mapping[str, Any]],
        private: Mapping[str, Any],
    ) -> ReleaseBuilder:
        """Return this with what is asked, and its release.

        Raises InvalidArgument where what is told of a column was another thing before.
        """
        columns = {**self.columns}
        for name, facts in told.items():
            columns[name] = {**columns.get(name, {}), **facts}
        changed = replace(self, columns=columns, private=private, asked=asked)
        made = _release_of(changed)
        again = [(name, key) for name in told for key in told[name]]
        again = [(name, key) for name, key in again if key in self.columns.get(name, {})]
        if again:  # compared as a spec reads them
            first = {name: {**one, **self.columns.get(name, {})} for name, one in columns.items()}
            was = _release_of(replace(changed, columns=first)).spec
            for name, key in again:
                if _told_of(was, name) != _told_of(made.spec, name):
                    expected = f"what was told before of the column {name!r}"
                    value = show_value(told[name][key])
                    raise InvalidArgument(name=key, value=value, expected=expected)
        return replace(changed, made=made)


def _told_of(spec: Spec, name: str) -> tuple[Column, list[Query]]:
    """Return what a spec says of a column, and the query that finds its bounds, if one does."""
    column = spec.columns[name]
    finds = column.finds
    return column, [one for one in spec.query if finds is not None and one.name == finds.query]


def _release_of(builder: ReleaseBuilder) -> Release:
    queries = [
        {**one} if isinstance(names, int) else _query_of(builder, names, one)
        for names, one in builder.asked.items()
    ]
    return Release(**builder.sections, columns=builder.columns, query=queries)


def _query_of(
    builder: ReleaseBuilder, names: tuple[str, ...], statistics: Sequence[str]
) -> dict[str, Any]:
    """Return the query of what is asked by the columns of these names."""
    if not names:
        return {"name": "all", "statistics": statistics}
    table = as_table_name("_".join(["by", *names]))
    grouped: Any = names
    if any(name in builder.private for name in names):
        grouped = {
            name: builder.private.get(name) or _groups_of(builder.columns.get(name, {}))
            for name in names
        }
    return {"name": table, "statistics": statistics, "group_by": grouped}


def _groups_of(column: Mapping[str, Any]) -> Any:
    return {"edges": column["edges"]} if "edges" in column else column["keys"]


def _at(path: object) -> object:
    """Return the section of a path; what is a section is itself."""
    return {"path": str(path)} if isinstance(path, str | Path) else path


def _is_private(groups: object) -> bool:
    if isinstance(groups, Mapping):
        return "keys" in groups
    return isinstance(groups, str) and groups == "private"


def _of_column(groups: object) -> dict[str, Any]:
    """Return what the column of public groups says: its keys, or its edges."""
    if isinstance(groups, Mapping) and "edges" in groups:
        return {str(key): one for key, one in groups.items()}
    return {"keys": groups}
