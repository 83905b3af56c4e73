"""Pictures of the demo's report at the width of a desktop and of a phone, by headless Chromium.

    python -m benchmarks.report_pictures

writes docs/figures/report-desktop.png and report-phone.png, and says whether anything is wider
than its window. It needs Debian's chromium, or CHROMIUM names another one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
QUIET = [
    "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--virtual-time-budget=2000", "--allow-file-access-from-files",
]  # fmt: skip
DESKTOP, PHONE, HEIGHT = 1280, 390, 1400
FRAME = """<!DOCTYPE html><title>{width}</title>
<style>body{{margin:0}}iframe{{border:0;display:block}}</style>
<iframe id="page" src="{page}" width="{width}" height="{height}"></iframe><script>
onload = () => {{
  const root = document.getElementById("page").contentDocument.documentElement;
  document.title = root.scrollWidth <= {width} ? "fits" : "is " + root.scrollWidth + " wide";
}}</script>"""


def chromium(folder: Path, page: Path, *arguments: str) -> str:
    name = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if name is None:
        sys.exit("Chromium is missing: install Debian's package chromium.")
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    command = [name, *QUIET, *root, f"--user-data-dir={folder / 'profile'}", *arguments]
    done = subprocess.run([*command, page.as_uri()], check=True, capture_output=True, text=True)
    return done.stdout


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        release = folder / "visits"
        for command in (["demo", str(release)], ["report", str(release)]):
            subprocess.run(
                [sys.executable, "-m", "leastnoise", *command],
                check=True,
                stdout=subprocess.DEVNULL,
            )
        page = folder / "visits-report.html"
        print(f"{page.name}: {page.stat().st_size:,} bytes")
        for what, width in (("desktop", DESKTOP), ("phone", PHONE)):
            frame = folder / f"{what}.html"
            frame.write_text(FRAME.format(page=page.name, width=width, height=HEIGHT))
            dom = chromium(folder, frame, "--dump-dom")
            print(f"{what}, {width} px: {dom.split('<title>')[1].split('</title>')[0]}")
            target = FIGURES / f"report-{what}.png"
            size = f"--window-size={max(width, 500)},{HEIGHT}"
            chromium(folder, frame, size, f"--screenshot={target}")


if __name__ == "__main__":
    main()
