"""`leastnoise verify`: prove a certificate, or a whole release, again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leastnoise import _files
from leastnoise.cli import options, records

if TYPE_CHECKING:
    from leastnoise.guarantees.interval import Interval

_MORE = "More checks of a release"


def command(
    *,
    path: Annotated[
        Path,
        typer.Argument(metavar="FILE|FOLDER", help="A certificate, or the folder of a release."),
    ],
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar=options.FILE,
            help="Check that this ledger was charged for the release.",
            rich_help_panel=_MORE,
        ),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(
            metavar=options.FILE,
            help="Check the signature by this public key (Ed25519, PEM).",
            rich_help_panel=_MORE,
        ),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
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
        raise typer.Exit(code=1)


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
