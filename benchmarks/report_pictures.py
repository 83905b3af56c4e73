"""Pictures of the demo's report on a desktop, on a phone and on paper, by headless Chromium.

    python -m benchmarks.report_pictures [FOLDER]

writes docs/figures/report-desktop.png, report-phone.png and report-print.png, and reports
everything that is wider than its window. With FOLDER, a release, it writes only the printed page
beside the folder: FOLDER-report.pdf, and FOLDER-report.png with all sheets in grey. It needs
Debian's chromium, or CHROMIUM names another, and pypdfium2 for printed pages.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
QUIET = [
    "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--virtual-time-budget=2000", "--allow-file-access-from-files",
]  # fmt: skip
DESKTOP, PHONE, HEIGHT = 1280, 390, 1000
COLUMN = 790  # pixels of a page on a desktop, with a margin
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


def print_page(folder: Path, page: Path, target: Path) -> list[Image.Image]:
    """Print a page to the PDF `target`, as a browser prints it; return its sheets as pictures."""
    import pypdfium2

    chromium(folder, page, "--no-pdf-header-footer", f"--print-to-pdf={target}")
    with pypdfium2.PdfDocument(target) as printed:
        return [sheet.render(scale=1).to_pil() for sheet in printed]


def beside(sheets: list[Image.Image], across: int) -> Image.Image:
    """The sheets as one picture, with `across` sheets in a row and lines between them."""
    wide, high = (size + 2 for size in sheets[0].size)
    rows = math.ceil(len(sheets) / across)
    whole = Image.new(sheets[0].mode, (wide * min(across, len(sheets)), high * rows), "gray")
    for index, sheet in enumerate(sheets):
        whole.paste(sheet, (index % across * wide, index // across * high))
    return whole


def print_release(release: Path) -> None:
    """Write the printed page of a release beside it, and a picture of it in grey."""
    target = release.absolute().with_name(f"{release.name}-report")
    with tempfile.TemporaryDirectory() as name:
        page = Path(name) / "page.html"
        leastnoise("report", str(release), "--output", str(page))
        sheets = print_page(Path(name), page, target.with_suffix(".pdf"))
    beside([sheet.convert("L") for sheet in sheets], 4).save(target.with_suffix(".png"))
    print(f"{target}.pdf: {len(sheets)} sheets")


def leastnoise(*command: str) -> None:
    program = [sys.executable, "-m", "leastnoise", *command]
    subprocess.run(program, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    if sys.argv[1:]:
        print_release(Path(sys.argv[1]))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        release = folder / "visits"
        leastnoise("demo", str(release))
        leastnoise("report", str(release))
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
            left = max(0, (width - COLUMN) // 2)
            shown = (left, 0, width - left, HEIGHT)
            Image.open(target).crop(shown).save(target, optimize=True)
        sheets = print_page(folder, page, folder / "visits.pdf")
        target = FIGURES / "report-print.png"
        beside(sheets[:3], 3).save(target, optimize=True)
        print(f"paper: {len(sheets)} sheets")


if __name__ == "__main__":
    main()
