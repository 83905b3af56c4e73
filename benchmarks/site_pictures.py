"""Pictures of the documentation site at the width of a desktop and of a phone.

    make docs && python -m benchmarks.site_pictures

writes docs/figures/site-desktop.png and site-phone.png. `site_check` checks that all pages can be
read. It needs Debian's chromium, or CHROMIUM names another.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from PIL import Image

from benchmarks.report_pictures import FIGURES, FRAME, PHONE, chromium

SITE = Path(__file__).parents[1] / "build" / "site"
DESKTOP = 1280
SHOWN = {"desktop": ("index.html", DESKTOP, 900), "phone": ("noise/l2.html", PHONE, 844)}
LEAST_WINDOW = 500  # Chromium makes no narrower window


def main() -> None:
    if not SITE.exists():
        sys.exit("There is no site yet: make docs")
    with tempfile.TemporaryDirectory() as name:
        folder, frame = Path(name), Path(name) / "frame.html"
        for what, (page, width, height) in SHOWN.items():
            frame.write_text(_framed(page, width, height))
            target = FIGURES / f"site-{what}.png"
            size = f"--window-size={max(width, LEAST_WINDOW)},{height}"
            chromium(folder, frame, size, f"--screenshot={target}")
            Image.open(target).crop((0, 0, width, height)).save(target, optimize=True)
            print(f"{target.name}: {target.stat().st_size:,} bytes")


def _framed(page: str, width: int, height: int) -> str:
    return FRAME.format(page=(SITE / page).as_uri(), width=width, height=height)


if __name__ == "__main__":
    main()
