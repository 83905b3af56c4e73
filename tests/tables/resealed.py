"""A release that somebody edits who also writes the new SHA-256 of what was edited."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

from leastnoise.tables.publish.seal import RECORD, Seal, sha256_of
from leastnoise.tables.publish.verify import VerifiedRelease, verify_directory


def verify_resealed(folder: Path) -> VerifiedRelease:
    """Verify what is in `folder` but for the sums of its files, which are made to fit."""
    if (folder / RECORD).exists():
        old = Seal.read(folder)
        results = [name for name in old.files if _is_plain(folder / name)]
        files = old.files | {name: sha256_of(folder / name) for name in results}
        replace(old, files=files).write(folder, None)
    return verify_directory(folder)


def _is_plain(path: Path) -> bool:
    """Say whether it can be read to its end in a moment."""
    return path.is_file() and not path.is_symlink() and path.stat().st_size < 2**30


def change_csv(folder: Path, name: str, row: int, **by: float) -> None:
    """Add to some numbers of one row of a published table."""
    path = folder / f"{name}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for column, moved in by.items():
        rows[row][column] = str(float(rows[row][column]) + moved)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
