"""The checker in a reader's browser: inside every report, and as a separate page, check.html.

`python -m leastnoise.report.check_page` prints check.html. Both pages have the same script:
exact.js, check.js, and check_page.js, which runs them. Their policy allows this script only, and no
network.
"""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

_HERE = Path(__file__).parent
_EMBEDDED = ("release.json", "certificate.json", "plan.json")
_SHOWN = '<p id="check-verdict" role="status"></p><pre id="check-lines" tabindex="0"></pre>'
_STYLE = (_HERE / "page.css").read_text(encoding="utf-8")
_LIMITS = (
    "The check is arithmetic in whole numbers, in your browser; nothing is sent anywhere. The "
    "check can't show how much one person really changes the numbers, nor how the noise was drawn."
)


def script() -> str:
    """The script of reports and of check.html, the only one that their policy allows."""
    texts = (_HERE / name for name in ("exact.js", "check.js", "check_page.js"))
    return "\n" + "".join(path.read_text(encoding="utf-8") for path in texts)


def policy() -> str:
    """The Content-Security-Policy of the pages: this script, its worker, and no network."""
    digest = base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()
    return (
        "default-src 'none'; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; worker-src blob:; base-uri 'none'; form-action 'none'"
    )


def document(title: str, body: str) -> str:
    """An HTML page; `title` and `body` are HTML."""
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy()}">'
        f"<title>{title}</title><style>{_STYLE}</style></head>"
        f"<body>{body}<script>{script()}</script></body></html>\n"
    )


def check_section(folder: Path) -> str:
    """The part of a report that lets a reader check the certificate, the plan and the tables."""
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in _EMBEDDED}
    data = json.dumps(texts).replace("<", "\\u003c")
    return (
        '<section class="check"><h2>Check the proof</h2><p>This page has the certificate and the '
        f"plan of the release. {_LIMITS} The checking program is part of this page. The page "
        "check.html in the documentation of leastnoise has the same program without a "
        'release.</p><p><button type="button" id="check-button">Check the '
        "proof</button></p><p><label>Check the tables too: choose the release's folder <input "
        f'type="file" webkitdirectory></label></p>{_SHOWN}</section><script '
        'type="application/json" '
        f'id="check-data">{data}</script>'
    )


def check_page() -> str:
    """The page check.html, which checks a release's folder or a certificate from anyone."""
    body = (
        "<header><h1>Check a release of leastnoise</h1>"
        "<p>Drop a release's folder here, or a certificate, or choose one below. "
        f"{_LIMITS}</p></header><main>"
        "<p><label>Choose a release's folder "
        '<input type="file" id="check-folder" webkitdirectory></label></p>'
        '<p><label>Choose a certificate <input type="file" id="check-file" accept=".json">'
        f"</label></p>{_SHOWN}</main>"
    )
    return document("Check a release", body)


if __name__ == "__main__":
    print(check_page(), end="")  # noqa: T201 (the page)
