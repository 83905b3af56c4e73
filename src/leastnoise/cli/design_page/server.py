"""The server of the page, for one person on this machine.

It listens on 127.0.0.1 alone. Every address begins with a random token, which other users of the
machine don't know. A request must name this host: the page isn't served under another name that
resolves to 127.0.0.1. A request for a change must come from the page itself, not from another site.
The server writes only the spec that the command names, runs `leastnoise release` on it, and shows
only published files of the last release.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar, cast, final
from urllib.parse import unquote

from leastnoise import _files
from leastnoise.cli.design_page import form
from leastnoise.cli.design_page.planner import Planner
from leastnoise.cli.terminal import describe_location
from leastnoise.entropy.source import SystemEntropy
from leastnoise.errors import InvalidInput, LeastnoiseError, SourceError
from leastnoise.tables.parse import spec_file
from leastnoise.tables.spec.values import LARGEST_SPEC

HOST = "127.0.0.1"
_HERE = Path(__file__).parent
_STYLE = (_HERE.parents[1] / "report" / "page.css", _HERE / "page.css")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_REPORT_POLICY = "frame-ancestors 'none'; connect-src 'none'"  # the report has its own policy
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
_DIGITS = len(str(LARGEST_SPEC))
_LARGEST_FILE = 2**30  # bytes of a published file


@final
class Designer(ThreadingHTTPServer):
    """The HTTP server of the page, and the state that its requests share."""

    daemon_threads = True

    def __init__(self, spec: Path, *, port: int = 0) -> None:
        """Open the spec, or begin a new one.

        Raises InvalidInput if the file can't be read or isn't a spec, if its folder is missing, or
        if the port can't be used.
        """
        self.spec = spec.absolute()
        self.folder = self.spec.parent
        self.texts: dict[str, Any] = form.STARTING_TEXTS
        if os.path.lexists(self.spec):
            text = _files.read_text(self.spec, most=LARGEST_SPEC)
            self.texts = form.write_texts(spec_file.parse_toml(text))
        elif not self.folder.is_dir():
            raise InvalidInput(f"Expected a folder for the spec, found none at {self.folder}.")
        self.planner = Planner(self.folder)
        try:
            super().__init__((HOST, port), _Request)
        except OSError as error:
            raise InvalidInput(f"Port {port} can't be used: {error.strerror}.") from None
        self.host = f"{HOST}:{self.server_address[1]}"
        self.token = f"{SystemEntropy().bits(256):064x}"
        self.address = f"http://{self.host}/{self.token}/"
        self.released: Path | None = None
        self._written = ""  # text that this page wrote, which it may replace without a question
        self._running = threading.Lock()

    def server_close(self) -> None:
        """Close the port, and end the process that plans."""
        super().server_close()
        self.planner.close()

    def describe(self) -> dict[str, Any]:
        """The form, its texts, and the name of the spec, as JSON values."""
        return form.describe(self.folder) | {"texts": self.texts, "spec": self.spec.name}

    def save(self, texts: Any, *, replace: bool) -> dict[str, Any]:
        """Write the spec. A file that this page didn't write is replaced only with `replace`.

        Returns {"saved": True}, or {"exists": True} if nothing was written.
        """
        text = form.write_toml(form.read_record(texts))
        with suppress(FileExistsError):
            self._write_new(text)
            return {"saved": True}
        try:
            present = _files.read_text(self.spec, most=LARGEST_SPEC)
        except SourceError:
            present = ""
        if not replace and (not present or present not in {text, self._written}):
            return {"exists": True}
        _files.write_file(self.spec, text)
        self._written = text
        return {"saved": True}

    def _write_new(self, text: str) -> None:
        try:
            with self.spec.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except FileExistsError:
            raise
        except OSError as error:
            raise InvalidInput(f"Can't write {self.spec}: {error.strerror}.") from None
        self._written = text

    def run(self, *, sure: bool) -> dict[str, Any]:
        """Run `leastnoise release` on the saved spec; `sure` is its --yes."""
        if not self._running.acquire(blocking=False):
            return {"error": "A release is running already."}
        try:
            options = ["--report", "--json", *(["--yes"] if sure else [])]
            done = subprocess.run(  # noqa: S603 (this program)
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "leastnoise",
                    "release",
                    *options,
                    "--",
                    self.spec.name,
                ],
                cwd=self.folder,
                capture_output=True,
                check=False,
                encoding="utf-8",
                stdin=subprocess.DEVNULL,
            )
        finally:
            self._running.release()
        if done.returncode:
            return {"error": done.stderr.strip(), "code": done.returncode}
        record = json.loads(done.stdout)
        self.released = self.folder / record["path"]
        return {"path": record["path"], "report": Path(record["report"]).name}

    def published(self, name: str) -> Path | None:
        """The path of the report or a file of the last release; None for any other name."""
        if self.released is None:
            return None
        folder, _, file = name.rpartition("/")
        if not folder and file == f"{self.released.name}-report.html":
            return self.released.with_name(file)
        # On Windows, a backslash separates folders, too.
        is_within = folder == self.released.name and "\\" not in file
        return self.released / file if is_within else None


@final
class _Request(BaseHTTPRequestHandler):
    timeout = 30  # seconds that a connection may be silent
    server_version, sys_version = "leastnoise", ""
    _paths: ClassVar = {"": "page.html", "page.js": "page.js"}

    @property
    def _designer(self) -> Designer:
        return cast("Designer", self.server)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name there)
        """Write nothing: a log would show the token."""

    def do_GET(self) -> None:
        """Send the page, the form, or a published file."""
        name = self._name()
        if name in self._paths:
            path = _HERE / self._paths[name]
            self._send(path.read_bytes(), kind=_TYPES[path.suffix])
        elif name == "page.css":
            self._send(b"".join(path.read_bytes() for path in _STYLE), kind="text/css")
        elif name == "form":
            self._send_json(self._designer.describe())
        elif name is not None and name.startswith("published/"):
            self._send_published(unquote(name.removeprefix("published/")))
        elif name is not None:
            self._refuse(404, "There is nothing at this address.")

    def do_POST(self) -> None:
        """Plan or save the spec that the page sends, or run the saved spec."""
        name = self._name()
        if name is None:
            return
        length = self.headers.get("Content-Length", "")
        if self.headers.get("Origin") != f"http://{self._designer.host}":
            self._refuse(403, "Only the page itself may ask for this.")
        elif self.headers.get("Content-Type") != "application/json":
            self._refuse(415, "Expected JSON.")
        elif not length.isdecimal() or len(length) > _DIGITS or int(length) > LARGEST_SPEC:
            self._refuse(413, f"Expected at most {LARGEST_SPEC:,} bytes.")
        else:
            self._answer(name, self.rfile.read(int(length)))

    def _answer(self, name: str, sent: bytes) -> None:
        try:
            asked = json.loads(sent)
            texts = dict(asked["texts"])
            sure = asked.get("sure") is True
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self._refuse(400, "Expected the texts of the form.")
            return
        self._designer.texts = texts  # kept, so that a page that is loaded again shows them
        try:
            if name == "plan":
                shown = self._designer.planner.plan(texts) or {"newer": True}
            elif name == "save":
                shown = self._designer.save(texts, replace=sure)
            elif name == "run":
                shown = self._designer.run(sure=sure)
            else:
                self._refuse(404, "There is nothing at this address.")
                return
        except LeastnoiseError as error:
            shown = {"error": str(error)}
        except Exception as error:  # noqa: BLE001 (its message could quote data)
            shown = {"error": f"Internal error ({describe_location(error)}). Please report it."}
        self._send_json(shown)

    def _name(self) -> str | None:
        """The part of the address after the token; None if the request was refused."""
        if self.headers.get_all("Host") != [self._designer.host]:
            self._refuse(403, f"Expected a request to {self._designer.host}.")
            return None
        _, _, path = self.path.partition("/")
        token, slash, name = path.partition("/")
        if not (slash and compare_digest(token.encode(), self._designer.token.encode())):
            self._refuse(403, "Open the address that leastnoise design printed.")
            return None
        return name

    def _send_published(self, name: str) -> None:
        path = self._designer.published(name)
        if path is None:
            self._refuse(404, "No file of this name was published from this page.")
            return
        try:
            content = _files.read_bytes(path, most=_LARGEST_FILE, links=False)
        except SourceError as error:
            self._refuse(404, str(error))
            return
        kind = _TYPES.get(path.suffix, "application/octet-stream")
        self._send(content, kind=kind, policy=_REPORT_POLICY)

    def _send_json(self, record: dict[str, Any]) -> None:
        self._send(json.dumps(record).encode(), kind="application/json")

    def _refuse(self, code: int, why: str) -> None:
        self._send(why.encode(), kind="text/plain", code=code)

    def _send(self, content: bytes, *, kind: str, code: int = 200, policy: str = _POLICY) -> None:
        with suppress(ConnectionError):  # the page has sent a newer request
            self.send_response(code)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Content-Security-Policy", policy)
            for name, value in _HEADERS.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)
