"""A release: from a spec to published tables, in one direction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, final, overload

from leastnoise import _validate, _words
from leastnoise.errors import InvalidArgument, NotCertified, Refused, SpecError
from leastnoise.tables.layout.layout import MAX_ROWS
from leastnoise.tables.parse import added_queries, spec_file
from leastnoise.tables.spec.source import IN_MEMORY
from leastnoise.tables.spec.values import LEAST

if TYPE_CHECKING:
    from leastnoise.guarantees.budget import Budget
    from leastnoise.tables.layout.layout import LaidOut
    from leastnoise.tables.plan.plan import Plan
    from leastnoise.tables.publish.output import ReleasedTables
    from leastnoise.tables.publish.prepare import Standing
    from leastnoise.tables.publish.seal import SigningKey
    from leastnoise.tables.rows.frames import Frame
    from leastnoise.tables.rows.spark.engine import SparkRows
    from leastnoise.tables.spec.model import Spec

# What finds noise, charges a ledger, reads rows and writes tables takes half a second to import: it
# is done where it is used, so that a spec that can't serve is refused without it, and before a
# ledger is charged.
# ruff: noqa: PLC0415

Progress = Callable[[str], object]
_NAMES = (str, list, tuple, dict, int, float)  # a source that is no frame; the spec says if wrong


@final
class Release:
    """One release of a table's statistics, as a spec describes it.

    `Release("spec.toml")` is that of a TOML file, as `from_toml` reads it. Else the keywords are
    the sections of the TOML spec, with the same keys and values. Relative paths start at `folder`:
    the current directory, or the folder of the spec file. Files of keys are read here, once. The
    `source`, or `data` itself, may be a frame: of pandas, Polars, PyArrow or Spark, a DuckDB
    relation, an Ibis table, or a record batch reader. Its rows are read by `run` alone.
    Raises SpecError listing every problem at once, InvalidArgument for a path beside sections.
    """

    @overload
    def __init__(self, path: str | Path) -> None: ...

    @overload
    def __init__(
        self,
        *,
        data: object,
        privacy: Mapping[str, Any],
        query: Sequence[Mapping[str, Any]],
        series: Mapping[str, Any] | None = None,
        derive: Mapping[str, str] | None = None,
        contribution: Mapping[str, Any] | None = None,
        columns: Mapping[str, Mapping[str, Any]] | None = None,
        output: Mapping[str, Any] | None = None,
        report: Mapping[str, Any] | None = None,
        version: int = 1,
        folder: str | Path = "",
    ) -> None: ...

    def __init__(  # noqa: PLR0913  # the sections of a spec
        self,
        path: str | Path | None = None,
        *,
        data: object = None,
        privacy: Mapping[str, Any] | None = None,
        query: Sequence[Mapping[str, Any]] | None = None,
        series: Mapping[str, Any] | None = None,
        derive: Mapping[str, str] | None = None,
        contribution: Mapping[str, Any] | None = None,
        columns: Mapping[str, Mapping[str, Any]] | None = None,
        output: Mapping[str, Any] | None = None,
        report: Mapping[str, Any] | None = None,
        version: int = 1,
        folder: str | Path = "",
    ) -> None:
        if path is not None:
            given = (data, privacy, query, series, derive, contribution, columns, output, report)
            if any(section is not None for section in given) or folder != "":
                expected = "a path alone: the file has its own sections"
                raise InvalidArgument(name="path", value=path, expected=expected)
            path = _validate.path(path, name="path")
            self._begin(spec_file.read(path), path.parent, None)
            return
        raw = {
            "version": version,
            "data": data,
            "privacy": privacy,
            "series": series,
            "derive": {} if derive is None else derive,
            "contribution": contribution,
            "columns": {} if columns is None else columns,
            "query": query,
            "output": output,
            "report": report,
        }
        raw["data"], frame = _apart(data)
        place = _validate.path(folder, name="folder")
        self._begin(spec_file.lay_out(raw, folder=place), place, frame)

    def __repr__(self) -> str:
        # the source isn't named: an address may hold a secret, and a frame would show its rows
        names, privacy = [query.name for query in self._spec.query], self._spec.privacy
        if privacy.epsilon == LEAST:
            said = "the least ε"
        else:
            said = _words.format_guarantee(self._spec.budget.epsilon, privacy.delta)
        queries = _words.count_noun(len(names), "query", "queries")
        if self._spec.series is not None:
            queries += f", {self._spec.releases:,} releases together"
        said = f"{queries}, {said} for each {privacy.person}: {_words.list_names(names)}"
        return _words.line("Release", said)

    @classmethod
    def from_toml(
        cls,
        path: str | Path,
        *,
        assume: int | None = None,
        engine: str | None = None,
        sql: str | None = None,
    ) -> Self:
        """Return the release in the TOML file `path`; raises SourceError, or SpecError.

        With `assume` all means, and what else depends on it, are of groups of so many rows: `assume
        = { n = … }` in their blocks.
        An `engine` reads the rows in place of the spec's own: "duckdb", "spark" or the address of a
        Spark Connect server. Of a spec without queries `sql` is the one: its table is called
        "result".
        """
        path = _validate.path(path, name="path")
        if assume is not None:
            assume = _validate.whole(assume, name="assume", most=MAX_ROWS)
        made = object.__new__(cls)
        laid = spec_file.read(path, assume=assume, engine=engine, sql=sql)
        made._begin(laid, path.parent, None)
        return made

    def _begin(self, laid: LaidOut, folder: Path, frame: Frame | SparkRows | None) -> None:
        if written := [*added_queries.check_open(laid.spec)]:
            raise SpecError(written)
        self._laid, self._spec, self._folder, self._frame = laid, laid.spec, folder, frame
        self._planned: tuple[LaidOut, Plan] | None = None

    @property
    def spec(self) -> Spec:
        """The spec, normalised and exact."""
        return self._spec

    def to_toml(self) -> str:
        """Return TOML that reads back as an equal spec."""
        return spec_file.dumps(self._spec)

    def plan(self, *, progress: Progress | None = None) -> Plan:
        """Return what `run` would do, and how well, without reading a row.

        The source's header or metadata is read, to check the columns. Raises SourceError or
        SpecError if it doesn't fit the spec, Refused if no noise can serve a block. Of a series
        that has begun it is the plan that was charged.
        """
        from leastnoise.tables.publish.prepare import Standing
        from leastnoise.tables.rows import source

        listener = _validate.listener(progress)
        source.find_source(self._spec, self._folder, self._frame)
        standing = Standing.find_before_planning(self._spec, self._folder)
        return self._settled(listener, standing)[1]

    def needed_epsilon(self) -> Fraction | None:
        """Return the ε with which every block has its `accuracy`, at the weights of the spec.

        None if the plan at the spec's own ε has them all. With 0.2 % less some block hasn't; plans
        are made to find it, each with proved noise, and the source isn't looked at. Raises Refused
        if there is none up to 100, or if no noise can serve a block.
        """
        from leastnoise.tables.plan import least_epsilon
        from leastnoise.tables.publish.prepare import Standing

        standing = Standing.find_before_planning(self._spec, self._folder)
        return least_epsilon.find_needed_epsilon(*self._settled(None, standing))

    def _settled(
        self, progress: Progress | None, standing: Standing | None = None
    ) -> tuple[LaidOut, Plan]:
        """Return the spec with its ε, and the plan, found once: the spec decides them alone.

        Of a series that has begun it is the plan that was charged, but where the spec says no ε.
        """
        if self._planned is None:
            from leastnoise.tables.plan import least_epsilon

            if unused := [*added_queries.check_used(self._spec)]:
                raise SpecError(unused)
            known = self._spec.privacy.epsilon != LEAST
            charged = standing.plan(self._laid) if standing and known else None
            found = (self._laid, charged) if charged else None
            laid, plan = found or least_epsilon.find_plan(self._laid, progress)
            if plan.finds_bounds:
                from leastnoise.tables.publish.draws import try_bounds

                try_bounds(laid, plan)
            self._planned = laid, plan
        return self._planned

    def _scaled(self, factor: float) -> Self:
        """Return this release at `factor` times its ε."""
        from leastnoise.tables.plan.least_epsilon import scale_epsilon

        made = object.__new__(type(self))
        made._begin(scale_epsilon(self._laid, factor), self._folder, self._frame)
        return made

    def standing(self) -> Standing | None:
        """Return where the series in the ledger stands; None for a spec without one.

        Raises what the ledger would: see `Ledger.charge`.
        """
        from leastnoise.tables.publish.prepare import Standing

        return Standing.find(self._spec, self._folder)

    def target(self) -> Path | None:
        """Return the directory that `run` would make now; None for a spec without an output.

        Of a series it is that of its next release. Raises what `standing` does.
        """
        if self._spec.output is None:
            return None
        standing, path = self.standing(), self._folder / self._spec.output.path
        return path if standing is None else standing.folder(path)

    def afford(self, plan: Plan) -> str | None:
        """Return the filter by which the ledger would admit `plan` now; None without a ledger.

        Nothing is charged. None, too, for what is charged already: a release of a plan, or of a
        series that has begun. Raises what the ledger would: see `Ledger.charge`.
        """
        from leastnoise.tables.publish import prepare

        return prepare.afford(self._spec, self._folder, plan, self.standing())

    def run(
        self,
        *,
        progress: Progress | None = None,
        sign: str | Path | None = None,
        label: str | None = None,
    ) -> ReleasedTables:
        """Read the source, add the noise, and write the output directory if the spec has one.

        With `sign`, a PEM file of an Ed25519 private key, the directory is signed with it. The
        ledger's entry has the `label`, or the title of the spec's [report], or its queries' names.

        `progress` is told the stages, never a number of rows. Every call draws fresh noise: it is
        another release, which spends the whole budget again. A ledger in the spec is charged before
        a row is read, for good, whatever happens then. Of a series it is charged for all releases
        with the first, and counts this one, which is in a directory of its own in the output.
        Raises what `plan` does, InvalidInput if the output exists, Refused if all of a series were
        published, and what `Ledger.charge` does; then nothing was read, drawn or charged.
        """
        from leastnoise.tables.publish import output, prepare, seal

        tell = _validate.listener(progress) or (lambda _: None)
        wanted, label = self._spec.output, prepare.label_of(self._spec, label)
        key = None if sign is None else seal.private_key(_validate.path(sign, name="sign"))
        standing = self.standing()
        if standing is not None:
            if wanted is not None:  # a killed release counts as published: none takes its name
                output.sweep(self._folder / wanted.path, name=r"\d+")
            standing.check_left()
        if wanted is None:
            if key is not None:
                raise InvalidArgument(name="sign", value=sign, expected="a spec with an [output]")
            return self._release(tell, standing, path=None, folder=None, label=label)
        path = self._folder / wanted.path
        path = path if standing is None else standing.folder(path)
        account = self._spec.privacy.ledger
        ledger = None if account is None else self._folder / account.path
        with output.new_directory(path, ledger=ledger) as folder:
            released = self._release(tell, standing, path=path, folder=folder, key=key, label=label)
            tell("Writing the tables")
            from leastnoise.tables.results.table_files import write_table

            with output.writing(path):
                prepare.make_room(folder)
                plan = released.plan
                if plan.finds_bounds:
                    prepare.put_texts(
                        folder, spec=plan.spec, plan=plan, certificate=plan.certificate
                    )
                for table in released.tables.values():
                    write_table(table, folder, wanted.format)
                sealed = seal.Seal.of(folder, entry=released.entry, place=released.place)
                sealed.write(folder, key)
        return released

    def _release(
        self,
        tell: Progress,
        standing: Standing | None,
        *,
        path: Path | None,
        folder: Path | None,
        label: str,
        key: SigningKey | None = None,
    ) -> ReleasedTables:
        from leastnoise.tables.publish import output, prepare
        from leastnoise.tables.rows import source

        tell("Checking the source")
        found = source.find_source(self._spec, self._folder, self._frame)
        prepare.check_account(self._spec, self._folder, standing)
        laid, plan = self._settled(tell, standing)
        spec, certificate = laid.spec, plan.certificate

        from leastnoise.tables.publish.draws import draw_tables

        if path is not None and folder is not None:
            tell("Writing the plan and its certificate")
            with output.writing(path):
                prepare.write_texts(folder, spec=spec, plan=plan, certificate=certificate)
                prepare.try_tables(folder, spec=spec, plan=plan, key=key)
        if self._spec.privacy.ledger is not None:  # else nothing is lost where a query fails
            tell("Trying the queries without rows")
            prepare.try_queries(found, spec=spec, plan=plan)
        entry = prepare.charge(
            self._spec, self._folder, certificate, standing=standing, tell=tell, label=label
        )
        plan, tables = draw_tables(laid, plan, found, tell)
        return output.ReleasedTables(
            tables=tables,
            certificate=certificate,
            plan=plan,
            path=path,
            entry=entry,
            place=None if standing is None else standing.place,
        )


def fit_plans(
    releases: Sequence[tuple[Release, int]], budget: Budget, *, progress: Progress | None = None
) -> list[Plan]:
    """Return the plans with which `releases` meet `budget` together, at as much ε as that allows.

    Each is made as often as its count says, and every ε is multiplied by one factor. Where less ε
    is proved wherever more is, it is within .5 % of the largest that is proved. δ of each stays.
    Raises Refused if no factor is, InvalidArgument for a spec without a number above 0 for ε, and
    what `plan` does.
    """
    from leastnoise.guarantees.exact import decimal_text
    from leastnoise.ledger.preregistered import Preregistered
    from leastnoise.numerics.bisection import Bisection

    for one, _ in releases:
        if (given := one.spec.privacy.epsilon) == LEAST or not given:
            expected = "specs with a number above 0 for epsilon, whose proportions are kept"
            raise InvalidArgument(name="specs", value=given, expected=expected)
    counts = [count for _, count in releases]
    of_sums = sum((one.spec.budget.epsilon * count for one, count in releases), Fraction(0))
    of_deltas = sum((one.spec.budget.delta * count for one, count in releases), Fraction(0))
    first = float(budget.epsilon / of_sums)
    met: dict[int, list[Plan]] = {}
    step, most = 1.005, 2000  # from one ε to the next, and so many at most from what fits by sums

    def exceeds(steps: int) -> bool:
        factor = first * step**steps
        plans = [one._scaled(factor).plan() for one, _ in releases]  # noqa: SLF001 (the same class)
        certificates = [plan.certificate for plan in plans]
        whole = Preregistered(budget=budget, releases=zip(certificates, counts, strict=True))
        if whole.composes_by_sums and of_deltas > budget.delta:  # whatever ε is
            raise Refused(
                f"The deltas of these releases add up to {decimal_text(of_deltas)}, which is more "
                f"than {decimal_text(budget.delta)}, and groups that nobody listed, or quantiles, "
                "are charged by sums. Give the specs less delta."
            )
        try:
            whole.prove()
        except NotCertified:
            return True
        met[steps] = plans
        if progress is not None:
            progress(f"Proved with {factor:.4g} times the epsilon")
        return False

    Bisection().around(exceeds, 0, fails=-most, most=most)
    if not met:
        raise Refused("These releases meet the budget at no epsilon. Give the specs less delta.")
    return met[max(met)]


def _apart(data: object) -> tuple[object, Frame | SparkRows | None]:
    """The section for the spec, and the frame if the source is one."""
    from leastnoise.tables.rows import source

    section = data if isinstance(data, Mapping) else {"source": data}
    source.refuse_columns(data, section.get("source"))
    if section.get("source") is None or isinstance(section["source"], _NAMES):
        return data, None
    from leastnoise.tables.rows.frames import frame_of

    frame = frame_of(section["source"])
    return ({**section, "source": IN_MEMORY}, frame) if frame else (data, None)
