"""Build a release by method calls, one statistic each: `release(rows, unit="row").count()`.

The calls collect the sections of a spec, which `Release` then checks like any other spec.
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
from leastnoise.tables.publish.sections import (
    column_facts,
    column_section,
    is_private,
    path_section,
    query_section,
)
from leastnoise.tables.spec.values import LEAST

if TYPE_CHECKING:
    from leastnoise.guarantees.exact import Exact
    from leastnoise.guarantees.sensitivity import Neighbours
    from leastnoise.tables.plan.plan import Plan
    from leastnoise.tables.publish.output import ReleasedTables
    from leastnoise.tables.publish.release import Progress
    from leastnoise.tables.spec.model import Spec

By = str | Sequence[str]
Keys = Mapping[str, Any]
Bounds = Sequence["Exact"] | Mapping[str, Any]
"""Two numbers, or `{"find": True, "share": …, "candidates": …}` to have the bounds found."""
_EXAMPLES = {"bounds": "(0, 100)", "candidates": '{"from": 0, "to": 100, "step": 1}'}
_KNOWN = {"keys", "edges"}


def release(  # noqa: PLR0913  # the sections of a spec
    data: object,
    *,
    unit: str,
    epsilon: Exact | None = None,
    delta: Exact = 0,
    rho: Exact | None = None,
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
    """Begin a release of tables about people; methods of the returned builder add statistics.

    No row is read before `run`. Each keyword is a section or a key of a spec.

    Args:
        data: The rows: a frame, the path of a file, or the `data` section of a spec.
        unit: The column that identifies a person, or "row" if each row is a person.
        epsilon: Privacy budget ε, or "least" for the smallest ε that meets all accuracies.
        delta: Privacy budget δ.
        rho: Privacy budget ρ of zCDP, in place of `epsilon`; the report states the ε at `delta`.
        neighbours: "add-remove" if a person is added or removed, or "replace-one".
        max_rows: Most rows of a person that count. A column as `unit` needs one of three limits.
        max_groups: Most groups of a table in which a person counts.
        max_rows_per_group: Most rows of a person that count in one group.
        columns: Public facts about columns, such as keys and bounds, by column.
        derive: Expressions that compute further columns, by name.
        ledger: Path of the ledger that the release is charged to, or the section of a spec.
        output: Path of the directory that is written, or the section of a spec.
        report: The `report` section of a spec.
        folder: Folder to which paths are relative; the current directory by default.

    Returns:
        A builder without a table yet.

    Raises:
        SpecError: Sections are invalid; lists every problem.
        InvalidArgument: `columns` is not a table of tables, or `folder` is not a path.

    >>> rows = [{"who": i, "region": "ns"[i % 2], "income": 100.0 * i} for i in range(1000)]
    >>> import pandas as pd
    >>> import leastnoise as ln
    >>> builder = (
    ...     ln.release(pd.DataFrame(rows), unit="who", epsilon=1, max_rows=1)
    ...     .count(by="region", keys={"region": ["n", "s"]})
    ...     .mean("income", by="region", bounds=(0, 150_000))
    ... )
    >>> builder
    <ReleaseBuilder: 1 query, 1-DP for each who: by_region>
    >>> list(builder.run().tables["by_region"].columns)[:2]
    ['region', 'count']
    """
    limits = {
        "max_rows": max_rows,
        "max_groups": max_groups,
        "max_rows_per_group": max_rows_per_group,
    }
    contribution = {name: limit for name, limit in limits.items() if limit is not None}
    privacy = {"unit": unit, "epsilon": epsilon, "delta": delta, "rho": rho}
    privacy["neighbours"] = neighbours
    builder = ReleaseBuilder(
        sections={
            "data": {"source": str(data)} if isinstance(data, str | Path) else data,
            "privacy": privacy if ledger is None else privacy | {"ledger": path_section(ledger)},
            "contribution": contribution or None,
            "derive": derive,
            "output": None if output is None else path_section(output),
            "report": report,
            "folder": folder,
        },
        columns={
            name: _validate.table(section, name="columns")
            for name, section in _validate.table(columns, name="columns").items()
        },
        private={},
        queries={},
    )
    if not (isinstance(epsilon, str) and epsilon == LEAST):  # "least" needs queries with accuracies
        # Refuse impossible sections now; max_groups alone doesn't bound a count of rows.
        add_count = builder.count_units if set(contribution) == {"max_groups"} else builder.count
        add_count()
    return builder


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReleaseBuilder:
    """A release of tables about people, built by one call per statistic; begin with `release`.

    Builders are immutable: each call returns a new one. Statistics `by` the same columns form one
    table, named "all", "by_region" or "by_region_sex". By default tables share the budget equally.

    Facts about a column are public and need to be given only once:

    - `keys`: a list; `{"edges": [0, 18, 65]}` for bands of a number; `{"file": "codes.csv"}`; or
      "private" for groups that nobody listed.
    - `bounds`: values outside them are clamped. To have the release find bounds, give
      `{"find": True, "share": "0.02", "candidates": {"from": 0, "to": 1_000_000, "step": 1_000}}`.
    - `candidates`: the values among which quantiles are chosen.

    A call that makes the spec invalid raises SpecError or InvalidArgument. If no noise can serve a
    query, only `plan` and `run` find that out.
    """

    sections: Mapping[str, Any]
    columns: Mapping[str, dict[str, Any]]
    private: Mapping[str, Any]
    queries: Mapping[tuple[str, ...] | int, Any]
    release: Release | None = None

    def __repr__(self) -> str:
        release = self.release
        summary = "no table yet" if release is None else repr(release).partition(": ")[2][:-1]
        return _words.line("ReleaseBuilder", summary)

    def count(
        self, column: str | None = None, *, by: By = (), keys: Keys | None = None
    ) -> ReleaseBuilder:
        """Add the number of rows.

        Args:
            column: If given, only rows with a value in this column count.
            by: The column or columns by which rows are grouped; by default all rows are one group.
            keys: The groups of each column, by column: see `ReleaseBuilder`.

        Returns:
            A new builder with the statistic.
        """
        if column is None:
            return self._with("count", by, keys)
        return self._with(f"count({_validate.text(column, name='column')})", by, keys)

    def count_units(self, *, by: By = (), keys: Keys | None = None) -> ReleaseBuilder:
        """Add the number of persons, or of other units.

        Args:
            by: The column or columns by which rows are grouped; by default all rows are one group.
            keys: The groups of each column, by column: see `ReleaseBuilder`.

        Returns:
            A new builder with the statistic.
        """
        return self._with("count_units", by, keys)

    def groups(self, *, by: By, keys: Keys | None = None) -> ReleaseBuilder:
        """Add the list of groups with private `keys`, without any number about them.

        Without a number, smaller groups can be published: see `statistics = []` in a spec.

        Args:
            by: The column or columns by which rows are grouped.
            keys: The groups of each column, by column: see `ReleaseBuilder`.

        Returns:
            A new builder with the list.
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
        """Add the sum of a column.

        Args:
            column: The column of numbers.
            by: The column or columns by which rows are grouped; by default all rows are one group.
            keys: The groups of each column, by column: see `ReleaseBuilder`.
            bounds: The public bounds to which values are clamped.
            missing: The number as which missing values count; by default they are left out.

        Returns:
            A new builder with the statistic.
        """
        return self._with_statistic("sum", column, by, keys, bounds=bounds, missing=missing)

    def mean(
        self,
        column: str,
        *,
        by: By = (),
        keys: Keys | None = None,
        bounds: Bounds | None = None,
        missing: Exact | None = None,
    ) -> ReleaseBuilder:
        """Add the mean of a column.

        Args:
            column: The column of numbers.
            by: The column or columns by which rows are grouped; by default all rows are one group.
            keys: The groups of each column, by column: see `ReleaseBuilder`.
            bounds: The public bounds to which values are clamped.
            missing: The number as which missing values count; by default they are left out.

        Returns:
            A new builder with the statistic.
        """
        return self._with_statistic("mean", column, by, keys, bounds=bounds, missing=missing)

    def var(
        self,
        column: str,
        *,
        by: By = (),
        keys: Keys | None = None,
        bounds: Bounds | None = None,
        missing: Exact | None = None,
    ) -> ReleaseBuilder:
        """Add the population variance of a column.

        Args:
            column: The column of numbers.
            by: The column or columns by which rows are grouped; by default all rows are one group.
            keys: The groups of each column, by column: see `ReleaseBuilder`.
            bounds: The public bounds to which values are clamped.
            missing: The number as which missing values count; by default they are left out.

        Returns:
            A new builder with the statistic.
        """
        return self._with_statistic("var", column, by, keys, bounds=bounds, missing=missing)

    def std(
        self,
        column: str,
        *,
        by: By = (),
        keys: Keys | None = None,
        bounds: Bounds | None = None,
        missing: Exact | None = None,
    ) -> ReleaseBuilder:
        """Add the population standard deviation of a column.

        Args:
            column: The column of numbers.
            by: The column or columns by which rows are grouped; by default all rows are one group.
            keys: The groups of each column, by column: see `ReleaseBuilder`.
            bounds: The public bounds to which values are clamped.
            missing: The number as which missing values count; by default they are left out.

        Returns:
            A new builder with the statistic.
        """
        return self._with_statistic("std", column, by, keys, bounds=bounds, missing=missing)

    def median(
        self, column: str, *, by: By = (), keys: Keys | None = None, candidates: Any = None
    ) -> ReleaseBuilder:
        """Add the median of a column.

        Args:
            column: The column of numbers.
            by: The column or columns by which rows are grouped; by default all rows are one group.
            keys: The groups of each column, by column: see `ReleaseBuilder`.
            candidates: The public values among which the result is chosen: a list, or a table
                such as `{"from": 0, "to": 150_000, "step": 100}`.

        Returns:
            A new builder with the statistic.
        """
        return self._with_statistic("median", column, by, keys, candidates=candidates)

    def quantile(
        self,
        column: str,
        level: Exact,
        *,
        by: By = (),
        keys: Keys | None = None,
        candidates: Any = None,
    ) -> ReleaseBuilder:
        """Add a quantile of a column.

        Args:
            column: The column of numbers.
            level: The level of the quantile, between 0 and 1, such as 0.9.
            by: The column or columns by which rows are grouped; by default all rows are one group.
            keys: The groups of each column, by column: see `ReleaseBuilder`.
            candidates: The public values among which the result is chosen: a list, or a table
                such as `{"from": 0, "to": 150_000, "step": 100}`.

        Returns:
            A new builder with the statistic.
        """
        text = decimal_text(exact(level, name="level"))
        return self._with_statistic(
            "quantile", column, by, keys, more=f", {text}", candidates=candidates
        )

    def query(self, name: str, **section: Any) -> ReleaseBuilder:
        """Add a table from a `[[query]]` section of a spec.

        Args:
            name: The name of the table.
            **section: The other keys of the section.

        Returns:
            A new builder with the table.
        """
        queries = {**self.queries, len(self.queries): {"name": name, **section}}
        return self._with_queries(queries, {}, self.private)

    def build(self) -> Release:
        """The release with all tables that were added.

        Returns:
            The release; no row is read yet.

        Raises:
            InvalidArgument: No table was added.
        """
        if self.release is None:
            expected = "a release with a table: call count(), mean(…) or query(…) first"
            raise InvalidArgument(name="queries", value="none", expected=expected)
        return self.release

    @property
    def spec(self) -> Spec:
        """The spec, normalised and exact."""
        return self.build().spec

    def to_toml(self) -> str:
        """The spec as TOML.

        Returns:
            A text that `Release.from_toml` reads from a file.
        """
        return self.build().to_toml()

    def plan(self, *, progress: Progress | None = None) -> Plan:
        """Plan the release without reading a row: see `Release.plan`.

        Args:
            progress: Called with each stage in words.

        Returns:
            The plan that `run` would follow, with its expected errors.
        """
        return self.build().plan(progress=progress)

    def run(
        self,
        *,
        progress: Progress | None = None,
        sign: str | Path | None = None,
        label: str | None = None,
    ) -> ReleasedTables:
        """Read the rows and publish the tables: see `Release.run`. Each call spends ε again.

        Args:
            progress: Called with each stage in words, never with a number of rows.
            sign: PEM file of an Ed25519 private key that signs the directory.
            label: Label of the ledger's entry.

        Returns:
            The tables, with their certificate and plan.
        """
        return self.build().run(progress=progress, sign=sign, label=label)

    def _with_statistic(
        self, kind: str, column: str, by: By, keys: Keys | None, *, more: str = "", **facts: Any
    ) -> ReleaseBuilder:
        """Add the statistic `kind` of a column, with public `facts` about this column.

        `more` has further arguments. Raises InvalidArgument for missing bounds or candidates.
        """
        name = _validate.text(column, name="column")
        given = {key: value for key, value in facts.items() if value is not None}
        needed = "bounds" if "bounds" in facts else "candidates"
        known = {**self.columns.get(name, {}), **given}
        bounds = known.get("bounds")
        if needed not in known and not (isinstance(bounds, Mapping) and needed in bounds):
            expected = f"the public {needed} of {name!r}, such as {needed}={_EXAMPLES[needed]}"
            raise InvalidArgument(name=needed, value=None, expected=expected)
        return self._with(f"{kind}({name}{more})", by, keys, {name: given} if given else {})

    def _with(
        self,
        statistic: str | None,
        by: By,
        keys: Keys | None,
        facts: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> ReleaseBuilder:
        like = '"region" or ["region", "sex"]'
        listed = (by,) if isinstance(by, str) else _validate.items(by, name="by", like=like)
        names = tuple(_validate.text(column, name="by") for column in listed)
        given = {name: dict(known) for name, known in (facts or {}).items()}
        private = dict(self.private)
        for name, groups in _validate.table(keys, name="keys").items():
            if is_private(groups):
                private[name] = groups if isinstance(groups, Mapping) else {"keys": "private"}
            else:
                given.setdefault(name, {}).update(column_section(groups))
        sections = [*self.columns.items(), *given.items()]
        public = {name for name, section in sections if _KNOWN & {*section}}
        for name in (*names, *private):
            if name in private and name in public:
                expected = "groups that are either public or private"
                raise InvalidArgument(name="keys", value=name, expected=expected)
            if name not in private and name not in public:
                raise InvalidArgument(
                    name="by",
                    value=name,
                    expected="a column whose groups are known",
                    hint=f"Give keys={{{name!r}: [...]}}: a list that is public knowledge, not "
                    'from the data. Or give "private" for groups that nobody listed.',
                )
        added = () if statistic is None else (statistic,)
        statistics = dict.fromkeys([*self.queries.get(names, ()), *added])
        return self._with_queries({**self.queries, names: tuple(statistics)}, given, private)

    def _with_queries(
        self,
        queries: Mapping[tuple[str, ...] | int, Any],
        given: Mapping[str, Mapping[str, Any]],
        private: Mapping[str, Any],
    ) -> ReleaseBuilder:
        """A builder with these queries, and with the `given` facts about columns added.

        Raises InvalidArgument if a fact contradicts an earlier fact, and the errors of `Release`.
        """
        columns = {**self.columns}
        for name, facts in given.items():
            columns[name] = {**columns.get(name, {}), **facts}
        changed = replace(self, columns=columns, private=private, queries=queries)
        release = _release_of(changed)
        repeated = [(name, key) for name in given for key in given[name]]
        repeated = [(name, key) for name, key in repeated if key in self.columns.get(name, {})]
        if repeated:  # parsed specs are compared, since a fact can be written in several ways
            first = {name: {**new, **self.columns.get(name, {})} for name, new in columns.items()}
            earlier = _release_of(replace(changed, columns=first)).spec
            for name, key in repeated:
                if column_facts(earlier, name) != column_facts(release.spec, name):
                    expected = f"the value given before for the column {name!r}"
                    value = show_value(given[name][key])
                    raise InvalidArgument(name=key, value=value, expected=expected)
        return replace(changed, release=release)


def _release_of(builder: ReleaseBuilder) -> Release:
    queries = [
        {**query}
        if isinstance(names, int)
        else query_section(names, query, builder.columns, private=builder.private)
        for names, query in builder.queries.items()
    ]
    return Release(**builder.sections, columns=builder.columns, query=queries)
