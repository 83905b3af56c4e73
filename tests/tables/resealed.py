"""Edits of a release by somebody who also writes the new SHA-256 of edited files."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

from leastnoise.tables.publish.seal import RECORD, Seal, sha256_of
from leastnoise.tables.publish.verify import VerifiedRelease, verify_directory


def verify_resealed(folder: Path) -> VerifiedRelease:
    """Verify the release in `folder` after its seal gets the current SHA-256 of all files."""
    if (folder / RECORD).exists():
        old = Seal.read(folder)
        results = [name for name in old.files if _is_plain(folder / name)]
        files = old.files | {name: sha256_of(folder / name) for name in results}
        replace(old, files=files).write(folder, None)
    return verify_directory(folder)


def _is_plain(path: Path) -> bool:
    """True if `path` is a regular file that is small enough to be read."""
    return path.is_file() and not path.is_symlink() and path.stat().st_size < 2**30


def change_csv(folder: Path, name: str, row: int, **by: float) -> None:
    """Add `by` to numbers in one row of a published table."""
    path = folder / f"{name}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for column, moved in by.items():
        rows[row][column] = str(float(rows[row][column]) + moved)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
