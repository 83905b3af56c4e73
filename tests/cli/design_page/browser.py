"""A headless Chromium that a test drives: its DevTools messages go through a pair of pipes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.report_pictures import QUIET

NAME = os.environ.get("CHROMIUM") or shutil.which("chromium")
PATIENCE = 60  # seconds that a test waits for something on the page


class Browser:
    """One tab. `evaluate` runs JavaScript in it, and dialogs are answered by `accepts`."""

    def __init__(self, writes: int, reads: int) -> None:
        self._out, self._in = os.fdopen(writes, "wb", buffering=0), os.fdopen(reads, "rb")
        self._number, self._session = 0, ""
        self.dialogs: list[str] = []
        self.errors: list[str] = []
        self.accepts = True

    def open(self, address: str, *, width: int = 1280) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = self._send(method, parameters)
        while (message := self._receive()).get("id") != number:
            self._notice(message)
        assert "error" not in message, message
        return message["result"]

    def evaluate(self, script: str) -> Any:
        done = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def wait(self, condition: str) -> None:
        end = time.monotonic() + PATIENCE
        while not self.evaluate(f"Boolean({condition})"):
            if time.monotonic() > end:
                shown = self.evaluate("document.body.innerText")
                raise AssertionError(f"{condition} never became true:\n{shown}")
            time.sleep(0.05)

    def fill(self, key: str, value: str) -> None:
        """Type into the field of a spec's key, as soon as the page has it."""
        field = f"document.querySelector(`[data-key=${{CSS.escape({json.dumps(key)})}}]`)"
        self.wait(field)
        self.evaluate(f"{field}.value = {json.dumps(value)}")
        self.evaluate(f"{field}.dispatchEvent(new Event('input'))")

    def press(self, element: str) -> None:
        self.evaluate(f"setTimeout(() => document.getElementById('{element}').click())")

    def text(self, element: str) -> str:
        return self.evaluate(f"document.getElementById('{element}').textContent")

    def close(self) -> None:
        self._session = ""
        self._send("Browser.close", {})
        while self._in.read(1 << 16):
            pass  # its last messages
        self._in.close()
        self._out.close()

    def _send(self, method: str, parameters: dict[str, Any]) -> int:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        return self._number

    def _receive(self) -> dict[str, Any]:
        letters = bytearray()
        while (letter := self._in.read(1)) != b"\0":
            assert letter, "Chromium ended"
            letters += letter
        return json.loads(letters)

    def _notice(self, message: dict[str, Any]) -> None:
        method, given = message.get("method"), message.get("params", {})
        if method == "Page.javascriptDialogOpening":
            self.dialogs.append(given["message"])
            self._send("Page.handleJavaScriptDialog", {"accept": self.accepts})
        elif method == "Runtime.exceptionThrown":
            self.errors.append(str(given["exceptionDetails"]))
        elif method == "Log.entryAdded" and given["entry"]["source"] in {"security", "javascript"}:
            self.errors.append(given["entry"]["text"])


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Start Chromium with its profile in `folder`; pipes 3 and 4 take its messages."""
    assert NAME is not None
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    quiet = [option for option in QUIET if not option.startswith("--virtual-time")]
    command = [NAME, *quiet, *root, "--remote-debugging-pipe", f"--user-data-dir={folder}"]
    script = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
    process = subprocess.Popen(
        ["bash", "-c", script, "bash", *command],
        pass_fds=(theirs_in, theirs_out),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs_in)
    os.close(theirs_out)
    driven = Browser(ours_out, ours_in)
    try:
        yield driven
    finally:
        driven.close()
        process.wait(PATIENCE)
