"""A release of a series with running totals: its state file, and the order of writes.

The ledger and the state file change in one transaction, after the draw and before anything is
visible. So no period is ever published with two values, even if the process fails at any point
(theory/series.md, §3.5). A release whose folder is missing is finished from the state, without
another draw.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, final

from leastnoise.errors import CertificateRejected, InvalidInput, Refused, SourceError
from leastnoise.ledger.state import State, StateFile
from leastnoise.tables.answers.over_time import OverTime
from leastnoise.tables.layout.periods import OpenTotals, RunningSums
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan_as_certified
from leastnoise.tables.publish import output, prepare
from leastnoise.tables.publish.draws import draw_tables
from leastnoise.tables.publish.seal import RECORD, Link, Seal
from leastnoise.tables.publish.write_tables import write_tables
from leastnoise.tables.results.table import join_parts, select_groups

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from leastnoise.certificate.plan import PlanCertificate
    from leastnoise.ledger.series import ChargedSeries
    from leastnoise.tables.layout.layout import SpecLayout
    from leastnoise.tables.plan.plan import Plan
    from leastnoise.tables.publish.prepare import Standing
    from leastnoise.tables.publish.seal import SigningKey
    from leastnoise.tables.results.table import Table
    from leastnoise.tables.rows.source import Source
    from leastnoise.tables.spec.model import Spec

    _Drawn = tuple[dict[str, Table], State, int, str]
    """The tables by query, the state after the draw, the ledger entry, and the previous digest."""

_NOTHING = "Nothing was read, charged or drawn."
_RESTART = (
    "Put back the newest copy of it. Without a copy, restart the running totals: leastnoise "
    "series restart SPEC. That costs no epsilon, but the totals begin anew."
)
_PUT_BACK = (
    "The ledger is older than {what}: was an earlier copy put back? Put back the newest copy of "
    f"the ledger. {_NOTHING}"
)


@final
@dataclass(frozen=True, kw_only=True)
class Step:
    """The next step of a series: draw a release, or only write the folder of a drawn release.

    `finish` is True if the release was drawn before. `number` is its number, and `first` the number
    of the first release on its tree. `state` is the content of the state file; None before the
    series began.
    """

    number: int
    first: int = 1
    state: State | None = None
    finish: bool = False


def state_file(spec: Spec, folder: Path) -> StateFile:
    """The state file of a spec in `folder`; by default, .state is appended to the output's path."""
    if spec.series is None or spec.output is None:
        raise TypeError("the checks of the spec come first")
    # "weekly/" gives "weekly.state", which is not in that folder
    beside = f"{PurePath(spec.output.path)}.state"
    return StateFile(path=folder / (spec.series.state or beside))


def plan_digest(spec: Spec, certificate: PlanCertificate) -> str:
    """The SHA-256 of everything that must stay the same during a series.

    That is the certificate, and the spec without its output, report, ledger and state file. Of the
    section [data], it has only the filter and the column `on` of each join.
    """
    raw = spec_file.to_dict(spec)
    joined = {name: join.on for name, join in spec.data.join.items()}
    data = {"filter": raw["data"].get("filter"), "join": joined}
    kept = {name: value for name, value in raw.items() if name not in {"output", "report"}}
    kept |= {"data": data, "privacy": {**raw["privacy"], "ledger": None}}
    kept |= {"series": {**raw["series"], "state": None}, "certificate": certificate.to_json()}
    text = json.dumps(kept, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def find_step(spec: Spec, folder: Path, standing: Standing) -> Step:
    """The next step of a series.

    Raises Refused if all releases were published, or if the state file is missing, unreadable or
    older than the ledger. Also raises it if ledger, state and folders contradict each other in
    another point, and for a series that was charged without running totals.
    """
    file, begun, path = state_file(spec, folder), standing.begun, _output(spec, folder)
    newest = _newest_folder(path)
    if begun is None:
        if newest:
            raise Refused(_PUT_BACK.format(what=f"the folder {newest} in {path}"))
        if file.exists and file.read().position:
            raise Refused(_PUT_BACK.format(what=f"the state file {file.path}"))
        return Step(number=1)
    _check_has_totals(begun, standing)
    if not file.exists:
        standing.check_left()
        raise Refused(f"The state file {file.path} is missing. {_RESTART} {_NOTHING}")
    try:
        state = file.read()
    except InvalidInput as error:
        raise Refused(f"{error} {_RESTART} {_NOTHING}") from None
    if not _is_newest(spec, state, begun, file):
        raise Refused(f"The state file {file.path} is older than the ledger. {_RESTART} {_NOTHING}")
    last = standing.folder_of(path, state.position)
    if not state.published and not os.path.lexists(last):
        return Step(number=state.position, first=state.first, state=state, finish=True)
    if not state.published and not _is_of(last, state):
        raise Refused(
            f"{last} has the name of the folder of release {state.position:,}, but isn't this "
            f"folder. Move {last} away. {_NOTHING}"
        )
    standing.check_left()
    if newest > state.position:
        raise Refused(_PUT_BACK.format(what=f"the folder {newest} in {path}"))
    return Step(number=state.position + 1, first=state.first, state=state)


def is_complete(spec: Spec, folder: Path, standing: Standing) -> bool:
    """True if all releases of a series were published, and no folder is still to be written.

    False, too, if the state file is unreadable, of another plan, or doesn't fit the ledger.
    """
    begun, file = standing.begun, state_file(spec, folder)
    if begun is None or begun.tag is None or begun.published < standing.releases:
        return False
    if not file.exists:  # the last release deletes the state file
        return True
    try:
        state = file.read()
        if not _is_newest(spec, state, begun, file):
            return False
    except (InvalidInput, Refused):
        return False
    last = standing.folder_of(_output(spec, folder), state.position)
    return state.published or _is_of(last, state)


def _check_has_totals(begun: ChargedSeries, standing: Standing) -> None:
    """Raise Refused for a series that was charged without running totals."""
    if begun.tag is None:
        raise Refused(
            f"The series {standing.series.name!r} began without totals = true. Leave out totals, "
            f"or begin a series with another name in [series]. {_NOTHING}"
        )


def _is_of(folder: Path, state: State) -> bool:
    """True if the seal in `folder` has the digest of the last release that the state records."""
    try:
        link = Seal.read(folder).link
    except (CertificateRejected, SourceError):
        return False
    return link is not None and link.digest == state.digest


def _is_newest(spec: Spec, state: State, begun: ChargedSeries, file: StateFile) -> bool:
    """True if the state belongs to the ledger's last entry of the series.

    Raises Refused for a state of another plan, and if the ledger is older than the state.
    """
    if state.plan != plan_digest(spec, begun.certificate):
        raise Refused(
            f"The state file {file.path} belongs to another plan. Within a series, the spec must "
            "stay the same, except [output], [report], the source and its format, the ledger and "
            f"the state file: undo every other change. {_NOTHING}"
        )
    if state.position > begun.published:
        raise Refused(_PUT_BACK.format(what=f"the state file {file.path}"))
    return state.tag == begun.tag and state.position == begun.published


def plan_step(spec_layout: SpecLayout, certificate: PlanCertificate, step: Step) -> Plan:
    """The plan of the release that `step` draws or finishes, with the series' proved noise."""
    return plan_as_certified(spec_layout.at_release(step.number, first=step.first), certificate)


@final
@dataclass(frozen=True, kw_only=True)
class SeriesRelease:
    """A release of a series with running totals: to be drawn, or drawn but without a folder.

    `plan` is the plan of this release, from `plan_step`.
    """

    spec_layout: SpecLayout
    plan: Plan
    folder: Path
    standing: Standing
    label: str
    key: SigningKey | None
    tell: Callable[[str], object]

    def publish(self, step: Step, rows: Source | None) -> output.ReleasedTables:
        """Draw the release of a step, or finish it without `rows`, and write its folder.

        Raises the errors of the ledger, Refused if another process published the release, and
        InvalidInput if the folder can't be written.
        """
        plan, standing, file = self.plan, self.standing, self._file
        path = standing.folder_of(_output(plan.spec, self.folder), step.number)
        with output.new_directory(path, ledger=standing.series.path) as working:
            self.tell("Writing the plan and its certificate")
            with output.report_write_errors(path):
                prepare.write_texts(
                    working, spec=plan.spec, plan=plan, certificate=plan.certificate
                )
                prepare.try_tables(working, spec=plan.spec, plan=plan, key=self.key)
            if rows is None:
                self.tell("Finishing the release that was drawn")
                tables, after, entry, before = self._restore(step)
            else:
                tables, after, entry, before = self._draw(step, rows)
            self.tell("Writing the tables")
            with output.report_write_errors(path):
                prepare.make_room(working)
                write_tables(working, plan, tables.values())
                link = Link(first=step.first, before=before, digest=after.digest)
                sealed = Seal.of(working, entry=entry, release_number=step.number, link=link)
                sealed.write(working, self.key)
        if after.position == standing.releases:
            file.delete()
        else:
            file.mark_published(after)
        return output.ReleasedTables(
            tables=tables,
            certificate=plan.certificate,
            plan=plan,
            path=path,
            entry=entry,
            release_number=step.number,
        )

    def _draw(self, step: Step, rows: Source) -> _Drawn:
        """Sum the rows, draw the noise, and record the release.

        Before the first release, the whole series is charged. The ledger and the state file both
        get the record of the release, or neither does.
        """
        plan = self.plan
        self.tell("Trying the queries without rows")
        prepare.try_queries(rows, spec=plan.spec, plan=plan)
        start = step.state or self._begin()
        memory = OpenTotals(before=_sums_of(plan, start))
        _, tables = draw_tables(self.spec_layout, plan, rows, self.tell, memory=memory)
        after = _after(start, memory, last=start.position + 1 == self.standing.releases)
        self.tell("Entering the release in the ledger")
        series = self.standing.series
        entry = series.commit(self._file, before=start, after=after, label=self.label)
        return tables, after, entry, start.digest

    def _restore(self, step: Step) -> _Drawn:
        """Restore the tables and the state of a release that was already drawn and recorded."""
        state, begun = step.state, self.standing.begun
        if state is None or begun is None:
            raise TypeError("a release that is finished was drawn")
        return _restored(self.plan, state), state, begun.entry, begun.before

    def _begin(self) -> State:
        """Write the state file for the first release, then charge the ledger for the whole series.

        Returns the state.
        """
        self.tell("Charging the ledger")
        plan, standing = self.plan, self.standing
        state = State.begin(
            plan=plan_digest(plan.spec, plan.certificate),
            first=1,
            digest="",
            sums=_records({answered.labels[0]: answered.start() for answered in _over_time(plan)}),
        )
        self._file.create(state)
        standing.series.begin(
            plan.certificate,
            releases=standing.releases,
            report=standing.report,
            state=state,
            label=self.label,
        )
        return state

    @property
    def _file(self) -> StateFile:
        return state_file(self.plan.spec, self.folder)


def restart(spec_layout: SpecLayout, folder: Path, standing: Standing, *, label: str) -> int:
    """Begin a new tree; return the number of its first release.

    Raises Refused if the state is still valid, if it belongs to another plan, if the file isn't a
    state, and if the ledger is older than the state or a folder. Also raises it if the series
    hasn't begun, is complete, or was charged without running totals.
    """
    spec, begun = spec_layout.spec, standing.begun
    if begun is None:
        raise Refused(
            f"The series {standing.series.name!r} hasn't begun, so the series can't be restarted. "
            "Publish its first release."
        )
    _check_has_totals(begun, standing)
    standing.check_left()
    file, path = state_file(spec, folder), _output(spec, folder)
    if file.exists:
        try:
            state = file.read()
        except InvalidInput as error:  # the file may be of any kind, such as a ledger
            raise Refused(
                f"{error} Move that file away, and restart again. A restart overwrites only a "
                "state "
                "file."
            ) from None
        if _is_newest(spec, state, begun, file):
            raise Refused(
                f"The state file {file.path} is good. Continue with leastnoise release SPEC."
            )
    newest = _newest_folder(path)
    if newest > begun.published:
        raise Refused(_PUT_BACK.format(what=f"the folder {newest} in {path}"))
    first = begun.published + 1
    plan = plan_step(spec_layout, begun.certificate, Step(number=first, first=first))
    state = State.begin(
        plan=plan_digest(spec, begun.certificate),
        first=first,
        digest=begun.digest,
        sums=_records({answered.labels[0]: answered.start() for answered in _over_time(plan)}),
    )
    file.create(state)
    standing.series.restart(state, expected=begun.tag, label=label)
    return first


def check_link(plan: Plan, seal: Seal, folder: Path) -> None:
    """Raise CertificateRejected unless the digest in a folder's seal fits the folder's counts."""
    link, number = seal.link, seal.release_number
    if link is None or number is None or number < link.first:
        raise CertificateRejected(f"{RECORD} doesn't record the running totals of this release.")
    counts = {label: counts for label, (counts, _) in numbers_of(plan, folder).items()}
    plan_hash = plan_digest(plan.spec, plan.certificate)
    if link.follows(plan=plan_hash, release=number, counts=counts) != link.digest:
        raise CertificateRejected(
            f"The checksum (digest) of the running totals in {RECORD} doesn't fit the counts of "
            "the release."
        )


def numbers_of(plan: Plan, folder: Path) -> dict[str, tuple[list[int], list[int]]]:
    """The counts and the running totals of a folder, by the label of the query."""
    kind = plan.spec.table_kind
    return {
        answered.labels[0]: answered.read_numbers(folder, kind) for answered in _over_time(plan)
    }


def _output(spec: Spec, folder: Path) -> Path:
    if spec.output is None:
        raise TypeError("the checks of the spec come first")
    return folder / spec.output.path


def _newest_folder(path: Path) -> int:
    """The largest number of a release that has a folder; 0 without folders."""
    names = os.listdir(path) if path.is_dir() else []
    return max((int(name) for name in names if name.isascii() and name.isdigit()), default=0)


def _over_time(plan: Plan) -> Sequence[OverTime]:
    return [answered for answered in plan.answered if isinstance(answered, OverTime)]


def _sums_of(plan: Plan, state: State) -> dict[str, RunningSums]:
    try:
        return {
            answered.labels[0]: RunningSums.from_record(
                state.sums.get(answered.labels[0]), like=answered.start()
            )
            for answered in _over_time(plan)
        }
    except CertificateRejected as error:
        raise InvalidInput(f"{error} Delete the state file. {_RESTART} {_NOTHING}") from None


def _records(sums: Mapping[str, RunningSums]) -> dict[str, Any]:
    return {label: running.to_record() for label, running in sums.items()}


def _after(before: State, memory: OpenTotals, *, last: bool) -> State:
    """The state after a release, with the new sums; after the `last` release, without noise."""
    sums = _records(memory.after)
    if last:
        for record in sums.values():
            record["noise"] = [[0] * len(numbers) for numbers in record["noise"]]
    counts = {label: running.counts for label, running in memory.after.items()}
    return before.after(counts=counts, sums=sums)


def _restored(plan: Plan, state: State) -> dict[str, Table]:
    """Restore the tables, by query, of the last release that was drawn, from the state."""
    sums = _sums_of(plan, state)
    drawn: dict[str, Table] = {}
    for answered in _over_time(plan):
        tables = answered.publish(sums[answered.labels[0]])
        drawn |= zip((part.label for part in answered.parts), tables, strict=True)
    return {
        query.name: select_groups(
            query.layouts[0],
            join_parts(query.layouts, [drawn[part.label] for part in query.parts]),
        )
        for query in plan.by_query
    }
