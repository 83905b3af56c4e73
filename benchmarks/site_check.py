"""Check that the documentation site can be read on a phone, a tablet and a desktop.

    make docs && python -m benchmarks.site_check

opens every page of build/site in headless Chromium. It prints elements that are wider than their
window, elements that are cut off and can't be scrolled to, and words that break in the middle,
except addresses. On a desktop it also prints lines of examples for newcomers that end outside of
their box, except commands. The exit code is 1 if it prints any. It needs Debian's chromium, or
CHROMIUM names another.
"""

from __future__ import annotations

import html
import json
import sys
import tempfile
from pathlib import Path

from benchmarks.report_pictures import chromium
from tests import readability

SITE = Path(__file__).parents[1] / "build" / "site"
WIDTHS = (390, 768, 1280)
CHECK = Path(__file__).with_suffix(".js")
_PAGE = """<!DOCTYPE html><style>body{{margin:0}}iframe{{border:0;display:block}}</style>
<pre id="found"></pre><script>const PAGES = {pages}, WIDTHS = {widths};
{check}</script>"""


def main() -> int:
    """Print everything that can't be read; return 1 if there is anything."""
    pages = sorted(page for page in SITE.rglob("*.html") if page.name != "404.html")
    if not pages:
        sys.exit("There is no site yet: make docs")
    newcomers = {
        page.relative_to(readability.ROOT / "docs").with_suffix(".html").as_posix()
        for page in readability.pages()
        if page.name != "README.md"
    }
    listed = [
        [page.as_uri(), name := page.relative_to(SITE).as_posix(), name in newcomers]
        for page in pages
    ]
    with tempfile.TemporaryDirectory() as folder:
        frame = Path(folder) / "frame.html"
        text = _PAGE.format(
            pages=json.dumps(listed), widths=json.dumps(WIDTHS), check=CHECK.read_text()
        )
        frame.write_text(text)
        shown = chromium(Path(folder), frame, "--virtual-time-budget=10000000", "--dump-dom")
    record = json.loads(html.unescape(shown.split('<pre id="found">')[1].split("</pre>")[0]))
    print(*record, sep="\n")
    print(
        f"{len(pages)} pages looked at, {', '.join(map(str, WIDTHS))} px wide: {len(record)} found"
    )
    return bool(record)


if __name__ == "__main__":
    sys.exit(main())
