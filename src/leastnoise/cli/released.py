"""`leastnoise verify` and `leastnoise report`: what was released, proved again or as a page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leastnoise import _files
from leastnoise.cli import options, records
from leastnoise.cli.commands import Command, Kind, argument, option
from leastnoise.cli.options import FILE, FOLDER, OUTPUT

if TYPE_CHECKING:
    from leastnoise.guarantees.interval import Interval

_MORE = "More checks of a release"


@click.command(cls=Command)
@argument(
    "path", Kind("FILE|FOLDER", Path, files=True), "A certificate, or the folder of a release."
)
@option(_MORE, "--ledger", FILE, "Check that this ledger was charged for the release.")
@option(_MORE, "--key", FILE, "Check the signature by this public key (Ed25519, PEM).")
@options.as_json
def verify(*, path: Path, ledger: Path | None, key: Path | None, as_json: bool) -> None:
    """Prove a certificate or a release again.

    From nothing but its own fields. Exit code 1 if any part of it is false.
    """
    from leastnoise.errors import CertificateRejected, LedgerRejected

    interval, sentences, reason = None, list[str](), ""
    try:
        with records.stages(f"Proving {path.name} again", silent=as_json):
            interval, sentences = _verify(path, ledger, key)
    except (CertificateRejected, LedgerRejected) as error:
        reason = str(error)
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
        records.print_sentences(sentences)
    else:
        records.say(f"leastnoise: not verified: {reason}", err=True)
    if interval is None:
        raise click.exceptions.Exit(1)


def _verify(path: Path, ledger: Path | None, key: Path | None) -> tuple[Interval, list[str]]:
    """Return the proved interval of delta, and what was checked, in sentences."""
    from leastnoise.certificate.plan import read_certificate
    from leastnoise.errors import InvalidArgument
    from leastnoise.report import words

    if path.is_dir():
        from leastnoise.tables.publish.verify import verify_directory

        found = verify_directory(path, ledger=ledger, key=key)
        return found.delta, words.verified_release(found, path)
    for name, value in (("ledger", ledger), ("key", key)):
        if value is not None:
            raise InvalidArgument(name=name, value=value, expected="the directory of a release")
    certificate = read_certificate(_files.read_certificate(path))
    delta = certificate.verify()
    return delta, [f"Verified {path}.", *words.verified_certificate(certificate, delta)]


@click.command(cls=Command)
@argument("path", FOLDER, "The folder of a release.")
@option(OUTPUT, "--output", FILE, "Where the page goes: FOLDER-report.html if left out.")
@option(OUTPUT, "--ledger", FILE, "Say what is left in this ledger, which is checked.")
def report(*, path: Path, output: Path | None, ledger: Path | None) -> None:
    """Write a page that anyone can read about a release.

    It is verified first. The page is one HTML file that loads nothing from anywhere.
    """
    target = path_of_page(path) if output is None else _new(output)
    write_page(path, target, ledger=ledger)
    records.say(f"Written to {target}.")


def path_of_page(folder: Path) -> Path:
    """Return where the page about `folder` goes; raises InvalidInput if it can't go there."""
    folder = folder.absolute()
    return _new(folder.with_name(f"{folder.name}-report.html"))


def write_page(
    folder: Path, target: Path, *, ledger: Path | None = None, silent: bool = False
) -> None:
    """Write the page about a release, whole or not at all."""
    from leastnoise._files import write_file
    from leastnoise.report import page

    with records.stages("Verifying the release", silent=silent):
        text = page.report(folder, ledger=ledger)
    write_file(target, text)


def _new(target: Path) -> Path:
    from leastnoise._files import try_file
    from leastnoise.errors import InvalidInput

    if os.path.lexists(target):  # a Path raises for a name that is too long
        raise InvalidInput(f"{target} exists: move it away, or name another with --output.")
    try_file(target)
    return target
