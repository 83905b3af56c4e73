"""A picture of the page of `leastnoise design`, with the spec of docs/howto/design.md filled in.

    python -m benchmarks.design_picture

writes docs/figures/design.png. It needs Debian's chromium, or CHROMIUM names another.
"""

from __future__ import annotations

import base64
import io
import re
import tempfile
from pathlib import Path

from PIL import Image

from benchmarks.report_pictures import FIGURES
from tests.cli.design_page.browser import browser
from tests.cli.design_page.test_browser import HOW_TO, PLANNED
from tests.cli.design_page.test_planner import ROWS
from tests.cli.design_page.test_server import serve

WIDTH, COLOURS = 1280, 64


def main() -> None:
    with tempfile.TemporaryDirectory() as profile, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "visits.csv").write_text(ROWS)
        with browser(Path(profile)) as page, serve(folder / "spec.toml") as designer:
            page.open(designer.address, width=WIDTH)
            for key, text in re.findall(r"^\| `(.*?)` \| `(.*)` \|$", HOW_TO.read_text(), re.M):
                page.fill(key, text)
            page.wait(PLANNED)
            overflow = page.evaluate("document.documentElement.scrollWidth")
            print(f"{overflow} px wide in a window of {WIDTH} px")
            picture = page.call("Page.captureScreenshot", format="png")["data"]
    target = FIGURES / "design.png"
    image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    image.quantize(COLOURS).save(target, optimize=True)
    print(f"{target.name}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
