"""The charts of a series with running totals: each release beside the releases before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastnoise._words import html
from leastnoise.errors import CertificateRejected, LeastnoiseError
from leastnoise.report.dot_chart import Dot, dot_chart
from leastnoise.report.table_section import TableSection
from leastnoise.report.words import as_list
from leastnoise.tables.publish.verify_series import numbered_folders, verify_folders
from leastnoise.tables.results.table_files import read_table

if TYPE_CHECKING:
    from pathlib import Path

    from leastnoise.tables.publish.verify import VerifiedRelease

MOST_CELLS, MOST_RELEASES = 4, 60
"""Limits on the charts of a table: its first cells, and the newest releases."""
_ALONE = (
    "Charts over time need the folders of the releases before this one, which are not beside it "
    "or don't verify with it."
)
_FIRST = "The charts show the first {most} rows of each table. All rows are in the files."


def charts_over_time(release: VerifiedRelease, folder: Path) -> str:
    """The section of a page about earlier releases; "" for the first, and without running totals.

    The folders of earlier releases are verified before anything of them is shown. If they don't
    verify together, the section has a note in place of charts.
    """
    number = release.release_number
    if release.link is None or number is None or number == 1:
        return ""
    try:
        known = numbered_folders(folder.parent)
        before = [path for path in known if int(path.name) <= number]
        if not before or not before[-1].samefile(folder):
            raise CertificateRejected("the folder isn't among its series")
        releases = verify_folders(before)
    except (LeastnoiseError, OSError):  # the page's own release is already verified
        return f"<section><h2>Over time</h2>{as_list([_ALONE])}</section>"
    sections = [_sections(release, path) for release, path in zip(releases, before, strict=True)][
        -MOST_RELEASES:
    ]
    numbers = [release.release_number or 0 for release in releases][-MOST_RELEASES:]
    charts = [
        _chart([every[table] for every in sections], numbers, cell)
        for table, of_table in enumerate(sections[-1])
        for cell in range(min(len(of_table.keys), MOST_CELLS))
    ]
    cut = any(len(section.keys) > MOST_CELLS for section in sections[-1])
    text = as_list([_FIRST.format(most=MOST_CELLS)]) if cut else ""
    return f"<section><h2>Over time</h2>{text}{''.join(charts)}</section>"


def _sections(release: VerifiedRelease, folder: Path) -> list[TableSection]:
    kind = release.spec.table_kind
    return [
        TableSection.of(
            release.spec,
            query,
            read_table(folder / f"{query.name}.{kind}", query.layouts),
            link="",
        )
        for query in release.plan.by_query
    ]


def _chart(sections: list[TableSection], numbers: list[int], cell: int) -> str:
    """A chart of one cell: the table's first statistic in each release, with its interval."""
    section = sections[-1]
    title = " · ".join([section.name, *section.keys[cell]])
    dots = [
        Dot(label=f"release {number:,}", value=value, low=low, high=high)
        for number, of_release in zip(numbers, sections, strict=True)
        for value, low, high in [of_release.statistics[0][2][cell]]
    ]
    chart = dot_chart(title, dots, unit=section.statistics[0][0], from_zero=True)
    return f"<figure><figcaption>{html(title)}</figcaption>{chart}</figure>"
