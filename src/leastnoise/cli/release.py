"""`leastnoise release`, `verify`, `report` and `difference`.

They publish a table's statistics by a spec, prove a release again, write a page about it, and
subtract two releases.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leastnoise import _files, _words
from leastnoise.cli import options, records, terminal
from leastnoise.cli import spec as specs
from leastnoise.cli.command import Command, OptionType, argument, option
from leastnoise.cli.options import FILE, FOLDER, NAME, OUTPUT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leastnoise.guarantees.exact import Interval
    from leastnoise.tables.plan.plan import Plan
    from leastnoise.tables.publish.difference import ReleaseDifference
    from leastnoise.tables.publish.output import ReleasedTables
    from leastnoise.tables.publish.release import Release

_PLAN = "Plan"
_LABEL = (
    "Description of the ledger's entry; if left out, the title of [report] or the names of the "
    "queries."
)
_YES = "Don't ask for confirmation if ε is above 10, or δ above 1/(population in the spec)."
_NO_LEDGER = (
    "No budget ledger: nothing adds up the budgets of all releases of these data. The command "
    "leastnoise ledger init FILE --dataset NAME --unit COLUMN --epsilon NUMBER --delta NUMBER "
    'opens one. Then write ledger.path = "FILE" in [privacy].'
)
_READ = (
    "The engine that reads the rows: duckdb, spark (with Spark's own settings), or "
    "sc://host:port for a Spark Connect server. The engine in the spec is ignored."
)


def _engines() -> tuple[str, ...]:
    from leastnoise.tables.spec.source import ENGINES

    return ENGINES


@click.command("release", cls=Command)
@argument("spec", OptionType("SPEC", Path, files=True), "The spec of the release, a TOML file.")
@option(_PLAN, "--plan", None, "Show the planned statistics and their errors; read no row.")
@option(
    _PLAN,
    "--assume",
    OptionType("n=ROWS"),
    "Show errors for groups of this size, such as n=4000.",
)
@option(_PLAN, "--verbose", None, "Show a table for each query, and every note.")
@option("Data", "--engine", OptionType("NAME", complete=_engines), _READ)
@option(
    "Data",
    "--sql",
    OptionType("QUERY"),
    "The query in SQL, if the spec has no query; the published table is named result.",
)
@option(OUTPUT, "--sign", FILE, "Sign the folder with this private key (Ed25519, PEM).")
@option(OUTPUT, "--report", None, "Also write a page for readers of the tables, beside the folder.")
@option(OUTPUT, "--label", NAME, _LABEL)
@option(OUTPUT, "--yes", None, _YES)
@options.as_json
def command(
    *,
    spec: Path,
    plan: bool,
    assume: str | None,
    verbose: bool,
    engine: str | None,
    sql: str | None,
    sign: Path | None,
    report: bool,
    label: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Publish a table's statistics, as a spec says.

    The output folder has the tables, plan, certificate and spec. It appears whole or not at all.
    """
    from leastnoise.tables.publish.release import Release

    rows = None if assume is None else _rows(assume)
    # Keys that options set have no line in the file.
    by_option = {"data.engine": engine, "query[0]": sql}
    elsewhere = [key for key, value in by_option.items() if value is not None]
    with specs.locate_problems(spec, elsewhere=elsewhere, publishes=not plan):
        release = Release.from_toml(spec, assume=rows, engine=engine, sql=sql)
        if plan:
            _plan(release, verbose=verbose, as_json=as_json)
        else:
            if not yes:
                _confirm(release, silent=as_json)
            run = partial(release.run, sign=sign, label=label)
            _publish(release, run, spec.parent, report=report, as_json=as_json)


def _plan(release: Release, *, verbose: bool, as_json: bool) -> None:
    with terminal.stages("Planning", silent=as_json) as tell:
        planned = release.plan(progress=tell)
        needed = release.needed_epsilon()
    if not as_json:
        least = release.spec.privacy.epsilon == "least"
        records.print_plan(planned, least=least, needed=needed, verbose=verbose)
        if not verbose:
            terminal.say("More details: --plan --verbose, or --plan --json.")
    state = describe_ledger(release, planned)
    if as_json:
        more = {} if needed is None else {"needed_epsilon": float(needed)}
        records.print_json(planned.to_record() | more)
    elif state:
        terminal.print_sentences([state])


def describe_ledger(release: Release, planned: Plan) -> str:
    """A sentence about the plan's ledger, its series or the lack of a ledger; "" if none applies.

    Raises Refused if the ledger doesn't admit the plan.
    """
    rule = release.afford(planned)
    if rule is not None:
        return f"The ledger would accept this release. It adds up charges by the rule {rule}."
    if (standing := release.standing()) is not None:
        return standing.in_words()
    return _NO_LEDGER if release.spec.privacy.ledger is None else ""


def _confirm(release: Release, *, silent: bool) -> None:
    """Ask at a terminal to confirm a weak guarantee. Raises Refused unless the user agrees.

    Without a terminal, or with --json (`silent`), nobody is asked, and a weak guarantee is refused.
    """
    from leastnoise.errors import Refused
    from leastnoise.tables.plan import summary
    from leastnoise.tables.spec.values import LEAST

    epsilon = release.spec.privacy.epsilon
    if epsilon == LEAST:
        with terminal.stages("Planning", silent=silent) as tell:
            epsilon = release.plan(progress=tell).budget.epsilon
    weak = " ".join(summary.weak_promises(epsilon, release.spec.privacy))
    if not weak:
        return
    if silent or not terminal.can_ask():
        raise Refused(f"{weak} Nothing was released or spent. To release anyway, add --yes.")
    if not click.confirm(_words.plain(f"{weak} Release it?"), err=True):
        raise Refused("Nothing was released or spent.")


def _publish(
    release: Release,
    run: Callable[..., ReleasedTables],
    folder: Path,
    *,
    report: bool,
    as_json: bool,
) -> None:
    """Publish the release by `run`, write its page if asked to, and print its tables.

    `folder` is the folder of the spec: the ledger's path is relative to it.
    """
    from leastnoise.errors import SpecError

    if release.spec.output is None:
        raise SpecError([specs.NO_OUTPUT])
    output, target = release.spec.output, release.target()
    page = path_of_page(target) if target and (report or output.report) else None
    with terminal.stages("Planning", silent=as_json) as tell:
        released = run(progress=tell)
    if page is not None and released.path is not None:
        account = release.spec.privacy.ledger
        with _report_published(released, "its page"):
            ledger = account and folder / account.path
            # other releases of a series may have been published meanwhile
            page = path_of_page(released.path)
            write_page(released.path, page, ledger=ledger, silent=as_json)
    with _report_published(released, "standard output"):
        _show(released, as_json=as_json, page=page)


@contextmanager
def _report_published(released: ReleasedTables, what: str) -> Iterator[None]:
    """If the block fails to write `what`, raise an InvalidInput that reports the publication."""
    from leastnoise.errors import InvalidInput

    try:
        yield
    # rich exits the process if the reader of a pipe is gone
    except (OSError, SystemExit, InvalidInput):
        raise InvalidInput(
            f"The release is published in {released.path}, but {what} can't be written."
        ) from None


def _rows(assume: str) -> int:
    from leastnoise.errors import InvalidArgument

    name, _, rows = assume.partition("=")
    if name.strip() != "n" or not rows.strip().isascii() or not rows.strip().isdigit():
        raise InvalidArgument(name="assume", value=assume, expected="a group's rows, like n=4000")
    return int(rows)


def _show(released: ReleasedTables, *, as_json: bool, page: Path | None) -> None:
    from leastnoise.tables.plan import summary

    if as_json:
        record: dict[str, Any] = {"path": str(released.path), "tables": list(released.tables)}
        record |= {} if page is None else {"report": str(page)}
        record |= {} if released.release_number is None else {"release": released.release_number}
        records.print_json(record | {"plan": released.plan.to_record()})
        return
    for table in released.tables.values():
        records.print_released(table)
    plan = released.plan
    if plan.finds_bounds or plan.finds_limit:
        layouts = [layout for query in plan.by_query for layout in query.layouts]
        terminal.print_sentences(summary.limits_of_values(plan.spec, layouts))
    if released.entry is None:
        terminal.print_sentences([_NO_LEDGER])
    number, releases = released.release_number, plan.planned_releases
    which = "" if number is None else f", {_words.name_release(number, releases)}"
    check = f"Check it with: leastnoise verify {released.path}"
    sentences = [f"Written to {released.path}{which}. {check}"]
    terminal.print_sentences(sentences if page is None else [*sentences, f"Its page is {page}."])


_MORE = "More checks of a release"
_ORIGINALS = (
    "Ask the publisher for the original files. If these are the originals, verify them with the "
    "version of leastnoise that wrote them."
)
_LEDGER = (
    "Check that this is the ledger that was charged for the release, and a good copy that has all "
    "charges."
)


@click.command(cls=Command)
@argument(
    "path",
    OptionType("FILE|FOLDER", Path, files=True),
    "A certificate, the folder of a release, or the folder with all releases of a series.",
)
@option(_MORE, "--ledger", FILE, "Check that this ledger was charged for the release.")
@option(_MORE, "--key", FILE, "Check the signature with this public key (Ed25519, PEM).")
@options.as_json
def verify(*, path: Path, ledger: Path | None, key: Path | None, as_json: bool) -> None:
    """Check a certificate or a release: prove its statements again, from its files alone.

    Exit code 1 if any part of the certificate or release is false.
    """
    from leastnoise.errors import CertificateRejected, LedgerRejected

    interval, sentences, reason, advice = None, list[str](), "", ""
    try:
        with terminal.stages(f"Proving {path.name} again", silent=as_json):
            interval, sentences = _verify(path, ledger, key)
    except CertificateRejected as error:
        reason, advice = str(error), _ORIGINALS
    except LedgerRejected as error:
        reason, advice = str(error), _LEDGER
    if as_json:
        records.print_json(
            {
                "verified": interval is not None,
                "delta_interval": None if interval is None else [interval.lower, interval.upper],
                "reason": reason or None,
                "statements": sentences,
            }
        )
    elif interval is not None:
        terminal.print_sentences(sentences)
    else:
        terminal.say(f"leastnoise: not verified: {reason}", err=True)
        terminal.say(advice, err=True)
    if interval is None:
        raise click.exceptions.Exit(1)


def _verify(path: Path, ledger: Path | None, key: Path | None) -> tuple[Interval, list[str]]:
    """Verify a certificate, release or series.

    Return the proved interval of δ (of a series, for its last release), and sentences on all
    checks.
    """
    from leastnoise.certificate.plan import read_certificate
    from leastnoise.errors import InvalidArgument, SourceError
    from leastnoise.report import words

    if path.is_dir():
        from leastnoise.tables.publish.verify import verify_directory
        from leastnoise.tables.publish.verify_series import numbered_folders, verify_series

        if not (path / "spec.toml").exists() and numbered_folders(path):
            every = verify_series(path, ledger=ledger, key=key)
            return every[-1].delta, words.verified_series(every, path)
        verified = verify_directory(path, ledger=ledger, key=key)
        return verified.delta, words.verified_release(verified, path)
    if not path.exists():
        raise SourceError(f"Expected a folder or a certificate, found none at {path}.")
    for name, value in (("ledger", ledger), ("key", key)):
        if value is not None:
            raise InvalidArgument(name=name, value=value, expected="the directory of a release")
    certificate = read_certificate(_files.read_certificate(path))
    delta = certificate.verify()
    return delta, [f"Verified {path}.", *words.verified_certificate(certificate, delta)]


@click.command(cls=Command)
@argument("path", FOLDER, "The folder of a release.")
@option(OUTPUT, "--output", FILE, "The page's file; FOLDER-report.html if left out.")
@option(OUTPUT, "--ledger", FILE, "Check this ledger, and state the rest of its budget.")
def report(*, path: Path, output: Path | None, ledger: Path | None) -> None:
    """Write a page that explains a release to any reader.

    The release is verified first. The page is one HTML file that loads nothing from elsewhere.
    """
    target = path_of_page(path) if output is None else _check_new(output)
    write_page(path, target, ledger=ledger)
    terminal.say(f"Written to {target}.")


def path_of_page(folder: Path) -> Path:
    """The path of the page about `folder`.

    Raises InvalidInput if a file exists at that path, or no file can be written there.
    """
    folder = folder.absolute()
    return _check_new(folder.with_name(f"{folder.name}-report.html"))


def write_page(
    folder: Path, target: Path, *, ledger: Path | None = None, silent: bool = False
) -> None:
    """Verify a release, and write the page about it atomically."""
    from leastnoise._files import write_file
    from leastnoise.report import page

    with terminal.stages("Verifying the release", silent=silent):
        text = page.report(folder, ledger=ledger, target=target)
    write_file(target, text)


def _check_new(target: Path) -> Path:
    from leastnoise._files import try_file
    from leastnoise.errors import InvalidInput

    if os.path.lexists(target):  # Path.exists raises an error for a name that is too long
        raise InvalidInput(
            f"{target} exists already. Move that file away, or choose another file with --output."
        )
    try_file(target)
    return target


_INDEPENDENT = (
    "Both draws of noise are independent, so their variances add up. An interval is about a single "
    "number, and about its noise only."
)
_COST = (
    "For the same persons, the budgets of both releases add up. The difference costs nothing more."
)


@click.command("difference", cls=Command)
@argument("before", FOLDER, "The folder of the earlier release.")
@argument("after", FOLDER, "The folder of the later release.")
@options.as_json
def difference(*, before: Path, after: Path, as_json: bool) -> None:
    """Subtract the earlier of two releases from the later one.

    Both releases are verified first, and must have the same queries and keys.
    """
    from leastnoise.tables.publish.difference import subtract_releases

    with terminal.stages("Verifying both releases", silent=as_json):
        result = subtract_releases(before, after)
    if as_json:
        records.print_json(_record(result))
        return
    for table in result.tables.values():
        records.print_released(table)
    terminal.print_sentences(_sentences(result))


def _record(result: ReleaseDifference) -> dict[str, Any]:
    """The difference as JSON values; null stands for a missing or infinite number."""
    tables = [
        {
            "name": name,
            "confidence": table.confidence,
            "rows": [
                dict(zip(table.columns, map(records.finite, row), strict=True))
                for row in table.rows
            ],
        }
        for name, table in result.tables.items()
    ]
    return {"tables": tables, "notes": list(result.notes)}


def _sentences(result: ReleaseDifference) -> list[str]:
    from leastnoise.tables.publish.difference import UNION

    sentences = [_INDEPENDENT, _COST]
    if any(UNION in table.confidence.values() for table in result.tables.values()):
        sentences.insert(1, "A 90 % interval holds if both 95 % intervals hold.")
    return [*sentences, *result.notes]
