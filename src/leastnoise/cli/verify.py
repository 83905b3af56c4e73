"""`leastnoise verify`: prove a certificate, or a whole release, again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leastnoise import _files
from leastnoise.cli import options, records

if TYPE_CHECKING:
    from leastnoise.guarantees.interval import Interval


def command(
    *,
    path: Annotated[Path, typer.Argument(help="A certificate, or the directory of a release.")],
    as_json: options.AsJson = False,
) -> None:
    """Prove a certificate or a release again.

    From nothing but its own fields. Exit code 1 if any part of it is false.
    """
    from leastnoise.errors import CertificateRejected

    try:
        interval, reason = _verify(path), ""
    except CertificateRejected as error:
        interval, reason = None, str(error)
    if as_json:
        records.print_json(
            {
                "verified": interval is not None,
                "delta_interval": None if interval is None else [interval.lower, interval.upper],
                "reason": reason or None,
            }
        )
    elif interval is not None:
        typer.echo(f"Verified {path}: delta is in [{interval.lower!r}, {interval.upper!r}]")
    else:
        typer.echo(f"leastnoise: not verified: {reason}", err=True)
    if interval is None:
        raise typer.Exit(code=1)


def _verify(path: Path) -> Interval:
    from leastnoise.certificate.plan import read_certificate

    if path.is_dir():
        from leastnoise.tables.verify import verify_directory

        return verify_directory(path).delta
    return read_certificate(_files.read_text(path, most=_files.LARGEST_CERTIFICATE)).verify()
