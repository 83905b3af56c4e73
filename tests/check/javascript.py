"""The checker in JavaScript, run by node on many folders or certificates in one process."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path

from leastnoise.report import check_page

SCRIPTS = [Path(check_page.__file__).with_name(name) for name in ("exact.js", "check.js")]
_RUN = Path(__file__).with_name("checks.js")
Verdict = tuple[int, list[str], list[str]]
"""The exit code, the printed lines, and the ends of the interval of each proved δ."""


def verdicts(cases: list[dict[str, bytes]]) -> list[Verdict]:
    """The verdict on each case, a dictionary of a folder's files, or of a single certificate."""
    lines = [
        json.dumps([(name, base64.b64encode(content).decode()) for name, content in case.items()])
        for case in cases
    ]
    command = ["node", _RUN, *SCRIPTS]
    done = subprocess.run(
        command, input="\n".join(lines), capture_output=True, text=True, check=True
    )
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]
