"""`Release`: read a spec, plan its noise, read the rows, and publish the tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, final, overload

from leastnoise import _validate, _words
from leastnoise.errors import InvalidArgument, Refused, SpecError
from leastnoise.tables.layout.layout import MAX_ROWS
from leastnoise.tables.parse import added_queries, spec_file
from leastnoise.tables.spec.source import IN_MEMORY
from leastnoise.tables.spec.values import LEAST

if TYPE_CHECKING:
    from leastnoise.tables.layout.layout import SpecLayout
    from leastnoise.tables.plan.plan import Plan
    from leastnoise.tables.publish.output import ReleasedTables
    from leastnoise.tables.publish.prepare import Standing
    from leastnoise.tables.publish.seal import SigningKey
    from leastnoise.tables.rows.frames import Frame
    from leastnoise.tables.rows.spark.engine import SparkRows
    from leastnoise.tables.spec.model import Spec

# The planner, the ledger and the readers and writers of tables take half a second to import. They
# are imported where they are used, so that a wrong spec is refused without them, and before a
# ledger is charged.
# ruff: noqa: PLC0415

Progress = Callable[[str], object]
_NAMES = (str, list, tuple, dict, int, float)  # types of a source that is no frame


@final
class Release:
    """One release of a table's statistics, as a spec describes it.

    `Release("spec.toml")` reads a TOML file, as `from_toml` does. Otherwise the keywords are the
    sections of the TOML spec, with the same keys and values. Files of keys are read at once; rows
    are read only by `run`.

    Args:
        path: The spec file. No section may be given with it.
        data: The source of the rows, or the `data` section. A source may be a frame: of pandas,
            Polars, PyArrow or Spark, a DuckDB relation, an Ibis table, or a record batch reader.
        privacy: The section `[privacy]`: unit, ε, δ and neighbours.
        query: The sections `[[query]]`, one per table.
        series: The section `[series]`, for releases over time.
        derive: Expressions of computed columns, by name.
        contribution: The section `[contribution]`: limits on the rows of a person.
        columns: Public facts about columns, by name.
        output: The section `[output]`: the directory and the format.
        report: The section `[report]`.
        version: Version of the spec's format.
        folder: Folder to which paths are relative; the folder of the spec file, if there is one,
            else the current directory.

    Raises:
        SourceError: The spec file can't be read.
        SpecError: The spec is invalid; lists every problem.
        InvalidArgument: A path was given together with sections.
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
                expected = "a path without sections, which the file has itself"
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
        raw["data"], frame = _separate_frame(data)
        base = _validate.path(folder, name="folder")
        self._begin(spec_file.lay_out(raw, folder=base), base, frame)

    def __repr__(self) -> str:
        # never shows the source: an address may hold a secret, and a frame would show its rows
        names, privacy = [query.name for query in self._spec.query], self._spec.privacy
        if privacy.epsilon == LEAST:
            guarantee = "the least ε"
        else:
            epsilon = self._spec.budget.epsilon
            guarantee = _words.format_guarantee(epsilon, privacy.delta, privacy.rho)
        queries = _words.count_noun(len(names), "query", "queries")
        if self._spec.series is not None:
            queries += f", {self._spec.series.releases:,} releases together"
        summary = (
            f"{queries}, {guarantee} for each {self._spec.protected}: {_words.list_names(names)}"
        )
        return _words.line("Release", summary)

    @classmethod
    def from_toml(
        cls,
        path: str | Path,
        *,
        assume: int | None = None,
        engine: str | None = None,
        sql: str | None = None,
    ) -> Self:
        """Read the release in the TOML file `path`.

        Args:
            path: The spec file.
            assume: Rows per group for which the plan states errors that depend on the group's size,
                such as of means. Replaces `assume = { n = … }` in every query.
            engine: Engine that reads the rows, in place of the spec's: "duckdb", "spark" or the
                address of a Spark Connect server.
            sql: The query, for a spec without queries; its table is called "result".

        Returns:
            The release; no row of the source was read.

        Raises:
            SourceError: The file can't be read.
            SpecError: The spec is invalid; lists every problem.
            InvalidArgument: `assume` is out of range, or no error depends on it.
        """
        path = _validate.path(path, name="path")
        if assume is not None:
            assume = _validate.whole(assume, name="assume", most=MAX_ROWS)
        release = object.__new__(cls)
        spec_layout = spec_file.read(path, assume=assume, engine=engine, sql=sql)
        release._begin(spec_layout, path.parent, None)
        return release

    def _begin(
        self, spec_layout: SpecLayout, folder: Path, frame: Frame | SparkRows | None
    ) -> None:
        if problems := [*added_queries.check_open(spec_layout.spec)]:
            raise SpecError(problems)
        self._layout, self._spec, self._folder = spec_layout, spec_layout.spec, folder
        self._frame = frame
        self._planned: tuple[SpecLayout, Plan] | None = None

    @property
    def spec(self) -> Spec:
        """The spec, normalised and exact."""
        return self._spec

    def to_toml(self) -> str:
        """The spec as TOML, which reads back as an equal spec.

        Returns:
            The text of a spec file.
        """
        return spec_file.dumps(self._spec)

    def plan(self, *, progress: Progress | None = None) -> Plan:
        """Plan the release without reading a row: its noise, proofs and expected errors.

        Only the source's header or metadata is read, to check the columns. For a series that has
        begun, this is the plan that was charged, unless the spec asks for the least ε.

        Args:
            progress: Called with each stage in words.

        Returns:
            The plan that `run` would follow.

        Raises:
            SourceError: The source can't be read.
            SpecError: The source doesn't fit the spec.
            Refused: No noise can serve a query, or the series was charged for another spec.
            LedgerRejected: The ledger of a series was edited; for other errors see `Ledger.charge`.
        """
        from leastnoise.tables.publish.prepare import Standing
        from leastnoise.tables.rows import source

        listener = _validate.listener(progress)
        source.find_source(self._spec, self._folder, self._frame)
        standing = Standing.find_before_planning(self._spec, self._folder)
        return self._find_plan(listener, standing)[1]

    def needed_epsilon(self) -> Fraction | None:
        """The ε with which every query meets its `accuracy`, at the importances of the spec.

        The search plans at several ε, each with proved noise. At 0.2 % less ε some query misses its
        accuracy. The source isn't opened.

        Returns:
            The ε; None if the spec's own ε is enough, or if the budget is in ρ.

        Raises:
            Refused: No ε up to 100 is enough, no noise can serve a query, or as in `plan`.
        """
        from leastnoise.tables.plan import least_epsilon
        from leastnoise.tables.publish.prepare import Standing

        standing = Standing.find_before_planning(self._spec, self._folder)
        return least_epsilon.find_needed_epsilon(*self._find_plan(None, standing))

    def _find_plan(
        self, progress: Progress | None, standing: Standing | None = None
    ) -> tuple[SpecLayout, Plan]:
        """The spec with its ε, and the plan as in `plan`; computed once, since no row matters.

        Raises SpecError if a column's bounds are found but not used.
        """
        if self._planned is None:
            from leastnoise.tables.plan import least_epsilon

            if unused := [*added_queries.check_used(self._spec)]:
                raise SpecError(unused)
            known = self._spec.privacy.epsilon != LEAST
            charged = standing.plan(self._layout) if standing and known else None
            spec_layout, plan = (
                (self._layout, charged)
                if charged
                else least_epsilon.find_plan(self._layout, progress)
            )
            if plan.finds_bounds:
                from leastnoise.tables.publish.draws import try_bounds

                try_bounds(spec_layout, plan)
            self._planned = spec_layout, plan
        return self._planned

    def _scale(self, factor: float) -> Self:
        """A release with the same spec and source, and its ε multiplied by `factor`."""
        from leastnoise.tables.plan.least_epsilon import scale_epsilon

        release = object.__new__(type(self))
        release._begin(scale_epsilon(self._layout, factor), self._folder, self._frame)
        return release

    def standing(self) -> Standing | None:
        """Read the state of the series from its ledger.

        Returns:
            The state; None for a spec without a series.

        Raises:
            LedgerRejected: The ledger was edited; for other errors see `Ledger.charge`.
        """
        from leastnoise.tables.publish.prepare import Standing

        return Standing.find(self._spec, self._folder)

    def target(self) -> Path | None:
        """The directory that `run` would create now.

        Returns:
            The directory (in a series, of the next release); None for a spec without an output. If
            a release with running totals was drawn and lacks its directory, `run` creates it first.

        Raises:
            LedgerRejected: The ledger of a series was edited; for other errors see `Ledger.charge`.
        """
        if self._spec.output is None:
            return None
        standing, path = self.standing(), self._folder / self._spec.output.path
        return path if standing is None else standing.folder(path)

    def afford(self, plan: Plan) -> str | None:
        """Check that the ledger would admit `plan` now. Nothing is charged.

        Args:
            plan: The plan of this release.

        Returns:
            The filter by which the ledger would admit it. None if no charge is due: without a
            ledger, for a preregistered plan, and for a series that has begun.

        Raises:
            Refused: The ledger does not admit the plan; for other errors see `Ledger.charge`.
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

        Without a series, every call is another release: it draws fresh noise and spends the whole
        budget again. A ledger is charged before a row is read, and stays charged if the release
        then fails. The first release of a series is charged for all its releases.

        Args:
            progress: Called with each stage in words, never with a number of rows.
            sign: PEM file of an Ed25519 private key that signs the directory.
            label: Label of the ledger's entry; by default the report's title or the queries' names.

        Returns:
            The tables, with their certificate and plan.

        Raises:
            SourceError: The source can't be read.
            SpecError: The source doesn't fit the spec.
            InvalidArgument: `sign` is given without an output, or `label` without a ledger.
            InvalidInput: The output or `sign` can't be used, or the rehearsal fails.
            Refused: No noise can serve a query, the ledger doesn't admit the charge, or all
                releases of the series were published.
        """
        from leastnoise.tables.publish import output, prepare, seal

        tell = _validate.listener(progress) or (lambda _: None)
        wanted, label = self._spec.output, prepare.choose_label(self._spec, label)
        key = None if sign is None else seal.private_key(_validate.path(sign, name="sign"))
        standing = self.standing()
        if standing is not None:
            if wanted is not None:  # a killed release counts as published: its number isn't reused
                output.sweep(self._folder / wanted.path, name=r"\d+")
            if self._keeps_totals:
                return self._release_totals(tell, standing, label=label, key=key)
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
            from leastnoise.tables.publish.write_tables import write_tables

            with output.report_write_errors(path):
                prepare.make_room(folder)
                plan = released.plan
                if plan.finds_bounds or plan.finds_limit:
                    prepare.put_texts(
                        folder, spec=plan.spec, plan=plan, certificate=plan.certificate
                    )
                write_tables(folder, plan, released.tables.values())
                sealed = seal.Seal.of(
                    folder, entry=released.entry, release_number=released.release_number
                )
                sealed.write(folder, key)
        return released

    @property
    def _keeps_totals(self) -> bool:
        return self._spec.series is not None and self._spec.series.totals

    def _release_totals(
        self, tell: Progress, standing: Standing, *, label: str, key: SigningKey | None
    ) -> ReleasedTables:
        """The next release of a series with running totals: see `publish.running_totals`."""
        from leastnoise.tables.publish import prepare, running_totals
        from leastnoise.tables.rows import source

        step = running_totals.find_step(self._spec, self._folder, standing)
        tell("Checking the source")
        rows = None
        if not step.finish:
            rows = source.find_source(self._spec, self._folder, self._frame, release=step.number)
        prepare.check_account(self._spec, self._folder, standing)
        spec_layout, plan = self._find_plan(tell, standing)
        draft = running_totals.SeriesRelease(
            spec_layout=spec_layout,
            plan=running_totals.plan_step(spec_layout, plan.certificate, step),
            folder=self._folder,
            standing=standing,
            label=label,
            key=key,
            tell=tell,
        )
        return draft.publish(step, rows)

    def restart(self, *, label: str | None = None) -> int:
        """Begin a new tree of noise for running totals whose state file is lost or outdated.

        It costs no ε: no row is counted in two releases. Running totals begin anew.

        Args:
            label: Label of the ledger's entry; the same default as in `run`.

        Returns:
            The number of the next release, the first of the new tree.

        Raises:
            Refused: The state is good, of another plan or unreadable, or the ledger is older than
                the state or a folder, or the series hasn't begun, is complete or has no totals.
        """
        from leastnoise.tables.publish import prepare, running_totals

        standing = self.standing()
        if standing is None or not self._keeps_totals:
            raise Refused(
                "The spec has no series with running totals, so there is nothing to restart."
            )
        label = prepare.choose_label(self._spec, label)
        return running_totals.restart(self._layout, self._folder, standing, label=label)

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
        number = 1 if standing is None else standing.release_number
        rows = source.find_source(self._spec, self._folder, self._frame, release=number)
        prepare.check_account(self._spec, self._folder, standing)
        spec_layout, plan = self._find_plan(tell, standing)
        spec, certificate = spec_layout.spec, plan.certificate

        from leastnoise.tables.publish.draws import draw_tables

        if path is not None and folder is not None:
            tell("Writing the plan and its certificate")
            with output.report_write_errors(path):
                prepare.write_texts(folder, spec=spec, plan=plan, certificate=certificate)
                prepare.try_tables(folder, spec=spec, plan=plan, key=key)
        # checked before the charge, so that a query that fails costs nothing
        if self._spec.privacy.ledger is not None:
            tell("Trying the queries without rows")
            prepare.try_queries(rows, spec=spec, plan=plan)
        entry = prepare.charge(
            self._spec, self._folder, certificate, standing=standing, tell=tell, label=label
        )
        plan, tables = draw_tables(spec_layout, plan, rows, tell)
        return output.ReleasedTables(
            tables=tables,
            certificate=certificate,
            plan=plan,
            path=path,
            entry=entry,
            release_number=None if standing is None else standing.release_number,
        )


def _separate_frame(data: object) -> tuple[object, Frame | SparkRows | None]:
    """Split `data` into the section for the spec, and the frame; None without a frame."""
    from leastnoise.tables.rows import source

    section = data if isinstance(data, Mapping) else {"source": data}
    source.refuse_columns(data, section.get("source"))
    if section.get("source") is None or isinstance(section["source"], _NAMES):
        return data, None
    from leastnoise.tables.rows.frames import frame_of

    frame = frame_of(section["source"])
    return ({**section, "source": IN_MEMORY}, frame) if frame else (data, None)
