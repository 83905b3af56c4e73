"""Verify all releases of a series with running totals together: the chain of their folders."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from leastnoise import _validate
from leastnoise.errors import (
    CertificateRejected,
    InvalidArgument,
    NotApplicable,
    Refused,
    SourceError,
)
from leastnoise.tables.answers.over_time import OverTime
from leastnoise.tables.publish.running_totals import numbers_of, plan_digest
from leastnoise.tables.publish.verify import VerifiedRelease, verify_directory

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from leastnoise.tables.results.table import Table

    Numbers = dict[str, tuple[list[int], list[int]]]


def numbered_folders(path: Path) -> list[Path]:
    """The folders of releases in the output folder of a series, in order of their numbers."""
    folders = sorted(path.iterdir()) if path.is_dir() else []
    named = (name for name in folders if name.name.isascii() and name.name.isdigit())
    return sorted((name for name in named if name.is_dir()), key=lambda name: int(name.name))


def verify_series(
    path: str | Path, *, ledger: str | Path | None = None, key: str | Path | None = None
) -> list[VerifiedRelease]:
    """Verify every release in the output folder of a series, and check that releases fit together.

    These are checked:

    - All releases have the same certificate, and specs with the same `plan_digest`.
    - Each running total since a restart is exactly the previous total plus the count.
    - Each release records the digest of the release before it, if that has a folder.
    - No folder is missing, except directly before a restart.

    Missing folders after the last one are not noticed.

    Args:
        path: The folder with the folders of the releases, 01, 02 and so on.
        ledger: A ledger, which is proved again too, and has to contain every release.
        key: PEM file of a public Ed25519 key, by which every release has to be signed.

    Returns:
        The verified releases, in order.

    Raises:
        SourceError: There is no folder of a release.
        CertificateRejected: A release is false, or two of them don't fit.
        LedgerRejected: The ledger was edited, or a release is not in it.
    """
    return verify_folders(_list_folders(path), ledger=ledger, key=key)


def _list_folders(path: str | Path) -> list[Path]:
    """The folders of releases, in order. Raises SourceError without any folder."""
    folder = _validate.path(path, name="path")
    folders = numbered_folders(folder)
    if not folders:
        raise SourceError(f"Expected folders of releases such as 01, found none in {folder}.")
    return folders


def verify_folders(
    folders: Sequence[Path], *, ledger: str | Path | None = None, key: str | Path | None = None
) -> list[VerifiedRelease]:
    """Verify the releases in these folders, in order; raises the errors of `verify_series`."""
    releases: list[VerifiedRelease] = []
    for folder in folders:
        try:
            release = verify_directory(folder, ledger=ledger, key=key)
        except CertificateRejected as error:
            raise CertificateRejected(f"{folder.name}: {error}") from None
        if release.link is None or release.release_number != int(folder.name):
            why = "doesn't hold the release of that number in a series with running totals"
            raise CertificateRejected(f"The folder {folder.name} {why}.")
        releases.append(release)
    numbers = [
        numbers_of(release.plan, folder) for release, folder in zip(releases, folders, strict=True)
    ]
    _check_start(releases[0])
    steps = zip(pairwise(releases), pairwise(numbers), strict=True)
    for (before, after), (numbers_before, numbers_after) in steps:
        _check_step(before, after)
        if after.link is not None and after.link.first != after.release_number:
            _check_totals(after, numbers_before, numbers_after)
    return releases


def sum_releases(path: str | Path, first: int, last: int) -> list[Table]:
    """Sum the published counts of the releases from `first` to `last`, which are verified.

    Args:
        path: The folder with the folders of the releases.
        first: Number of the first release of the sum.
        last: Number of the last release of the sum.

    Returns:
        A table for each query, with the standard deviation and 95 % interval of each sum.

    Raises:
        InvalidArgument: The releases are out of order, or aren't all published in one tree.
        Refused: No interval is known.
        SourceError: There is no folder of a release.
        CertificateRejected: A release is false, or two of them don't fit.
    """
    folders = {int(name.name): name for name in _list_folders(path)}
    asked = f"{first} to {last}"
    if first > last or not all(number in folders for number in range(first, last + 1)):
        published = f"{min(folders)} to {max(folders)}"
        expected = f"the first and the last of consecutive releases, among {published}"
        raise InvalidArgument(name="releases", value=asked, expected=expected)
    releases = {release.release_number or 0: release for release in verify_series(path)}
    plan, link = releases[last].plan, releases[last].link
    if link is not None and link.first > first:
        expected = "releases without a restart between them"
        hint = (
            f"The series was restarted before release {link.first:,}, with other noise: sum the "
            "releases before it and those from it on by themselves."
        )
        raise InvalidArgument(name="releases", value=asked, expected=expected, hint=hint)
    counts = [numbers_of(plan, folders[number]) for number in range(first, last + 1)]
    try:
        return [
            answered.publish_range(first, last, _add(counts, answered.labels[0]))
            for answered in plan.answered
            if isinstance(answered, OverTime)
        ]
    except (NotApplicable, InvalidArgument) as error:
        raise Refused(
            f"The 95 % interval of the sum of these releases can't be computed. {error}"
        ) from None


def _add(numbers: Sequence[Numbers], label: str) -> list[int]:
    """For each cell, the sum of a query's counts over some releases."""
    counts = [of_release[label][0] for of_release in numbers]
    return [sum(of_cell) for of_cell in zip(*counts, strict=True)]


def _check_start(release: VerifiedRelease) -> None:
    link = release.link
    if link is not None and release.release_number != link.first:
        why = f"The first folder is of release {release.release_number}, but its totals begin with"
        raise CertificateRejected(
            f"{why} release {link.first}. So folders of earlier releases are missing."
        )


def _check_step(before: VerifiedRelease, after: VerifiedRelease) -> None:
    """Raise CertificateRejected unless the release `after` can follow `before`.

    Both need the same certificate and plan. `after` must have the next number, unless it begins a
    new tree: then releases may be missing before it. With the next number, `after` must also record
    the digest of `before`.
    """
    first, second = before.release_number or 0, after.release_number or 0
    where = f"Releases {first:,} and {second:,}"
    if before.link is None or after.link is None:
        raise CertificateRejected(f"{where} don't belong to a series with running totals.")
    if before.certificate != after.certificate:
        raise CertificateRejected(f"{where} have different certificates.")
    if _plan_of(before) != _plan_of(after):
        raise CertificateRejected(f"{where} have different plans.")
    restarted = after.link.first == second
    if second == first:
        raise CertificateRejected(f"Two folders contain release {first:,}. Move one of them away.")
    if second != first + 1 and not restarted:
        raise CertificateRejected(
            f"The folders of all releases between release {first:,} and release {second:,} are "
            "missing."
        )
    if not restarted and after.link.first != before.link.first:
        raise CertificateRejected(f"{where} have totals that begin with different releases.")
    if second == first + 1 and after.link.before != before.link.digest:
        raise CertificateRejected(
            f"Release {second:,} doesn't continue release {first:,}: one of the two folders was "
            "replaced, or has another version of the release."
        )


def _check_totals(after: VerifiedRelease, before: Numbers, numbers: Numbers) -> None:
    """Raise CertificateRejected unless each total is the previous total plus the count.

    `before` has the counts and totals of the previous release, and `numbers` has the counts and
    totals of the release `after`.
    """
    for label, (counts, totals) in numbers.items():
        added = [total + count for total, count in zip(before[label][1], counts, strict=True)]
        if added != totals:
            why = (
                f"In release {after.release_number:,}, the totals of {label!r} aren't the previous "
                "totals"
            )
            raise CertificateRejected(f"{why} plus the counts.")


def _plan_of(release: VerifiedRelease) -> str:
    return plan_digest(release.spec, release.certificate)
