"""The page's server refuses strangers, and writes and shows nothing else than it should."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from leastnoise.cli.design_page import server
from leastnoise.cli.design_page.server import Designer
from leastnoise.errors import InvalidInput, SpecError
from tests.cli.design_page.test_planner import ROWS, TEXTS, edit
from tests.cli.program import run


@pytest.fixture
def designer(tmp_path: Path) -> Iterator[Designer]:
    (tmp_path / "visits.csv").write_text(ROWS)
    with serve(tmp_path / "spec.toml") as server_of_test:
        yield server_of_test


@contextmanager
def serve(spec: Path) -> Iterator[Designer]:
    """A designer that answers in a thread of its own, until the end of the block."""
    designer = Designer(spec)
    thread = threading.Thread(target=designer.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield designer
    finally:
        designer.shutdown()
        thread.join()
        designer.server_close()


def ask(
    designer: Designer, name: str, body: object = None, *, token: str | None = None, **headers: str
) -> tuple[int, bytes, dict[str, str]]:
    """The answer to one request, which is the page's own except for the given headers."""
    token = designer.token if token is None else token
    sent = None if body is None else json.dumps(body)
    given = {"Host": designer.host}
    if sent is not None:
        given |= {"Origin": f"http://{designer.host}", "Content-Type": "application/json"}
    given |= {key.replace("_", "-"): value for key, value in headers.items()}
    connection = http.client.HTTPConnection(*designer.server_address[:2], timeout=60)
    try:
        method = "GET" if sent is None else "POST"
        given = {key: value for key, value in given.items() if value}
        connection.request(method, f"/{token}/{name}" if token else f"/{name}", sent, given)
        response = connection.getresponse()
        return response.status, response.read(), dict(response.getheaders())
    finally:
        connection.close()


def post(designer: Designer, name: str, texts: Any, *, sure: bool = False) -> dict[str, Any]:
    status, content, _ = ask(designer, name, {"texts": texts, "sure": sure})
    assert status == 200
    return json.loads(content)


NAMES = ["", "form", "page.js", "page.css", "published/out-report.html", "nothing"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("token", ["", "0" * 64, "%C3%A9"])
def test_without_the_token_nothing_is_served(designer: Designer, name: str, token: str) -> None:
    status, content, _ = ask(designer, name, token=token)
    assert status == 403
    assert content == b"Open the address that leastnoise design printed."
    almost = designer.token[:-1] + ("0" if designer.token[-1] != "0" else "1")
    assert ask(designer, name, token=almost)[0] == 403


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "localhost:{port}", ""])
def test_another_name_of_this_machine_is_refused(designer: Designer, name: str, host: str) -> None:
    host = host.format(port=designer.server_address[1])
    if host:
        assert ask(designer, name, Host=host)[0] == 403
    assert ask(designer, "save", {"texts": TEXTS}, Host=host or "evil.example")[0] == 403
    assert not designer.spec.exists()


@pytest.mark.parametrize("origin", ["", "null", "http://evil.example", "http://localhost:{port}"])
@pytest.mark.parametrize("name", ["plan", "save", "run"])
def test_another_site_can_ask_for_no_change(designer: Designer, name: str, origin: str) -> None:
    origin = origin.format(port=designer.server_address[1])
    status, content, _ = ask(designer, name, {"texts": TEXTS}, Origin=origin)
    assert (status, content) == (403, b"Only the page itself may ask for this.")
    assert ask(designer, name, {"texts": TEXTS}, Content_Type="text/plain")[0] == 415
    assert {path.name for path in designer.folder.iterdir()} == {"visits.csv"}


def test_what_is_no_form_is_refused(designer: Designer) -> None:
    for body in ([], {}, {"texts": 1}, {"texts": None}):
        assert ask(designer, "plan", body)[0] == 400
    for length in ("100000000000", "9" * 5000):  # Python converts no text of more than 4300 digits
        assert ask(designer, "plan", {"texts": {}}, Content_Length=length)[0] == 413
    assert ask(designer, "other", {"texts": {}})[0] == 404
    assert ask(designer, "nothing")[0] == 404
    shown = post(designer, "save", {"data": 7})
    assert shown["error"].startswith("Internal error (AttributeError at form.py:")


def test_the_server_is_on_this_machine_alone_and_each_has_its_token(tmp_path: Path) -> None:
    with serve(tmp_path / "a.toml") as first, serve(tmp_path / "b.toml") as second:
        assert first.server_address[0] == second.server_address[0] == "127.0.0.1"
        assert first.token != second.token
        assert all(re.fullmatch("[0-9a-f]{64}", designer.token) for designer in (first, second))
        assert ask(first, "form", token=second.token)[0] == 403
        with pytest.raises(InvalidInput, match="can't be used"):
            Designer(tmp_path / "c.toml", port=first.server_address[1])


def test_pages_load_nothing_from_elsewhere(designer: Designer) -> None:
    for name in ("", "page.js", "page.css", "form", "nothing"):
        _, content, headers = ask(designer, name)
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; ")
        assert "unsafe" not in policy
        assert "http" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-store"
        assert not re.search(rb"https?://|//cdn", content)
    script = ask(designer, "page.js")[1].decode()
    assert not re.search(r"\b(innerHTML|outerHTML|insertAdjacentHTML|eval|Function)\b", script)
    assert not re.search(r"<script>|style=|onclick=\"", ask(designer, "")[1].decode())


def test_a_spec_is_never_replaced_without_a_question(designer: Designer) -> None:
    designer.spec.write_text("# mine\n")
    assert post(designer, "save", TEXTS) == {"exists": True}
    assert designer.spec.read_text() == "# mine\n"
    assert post(designer, "save", TEXTS, sure=True) == {"saved": True}
    assert "by_plan" in designer.spec.read_text()
    again = edit(privacy={"epsilon": "2"})
    assert post(designer, "save", again) == {"saved": True}  # the page wrote it itself
    designer.spec.write_text(designer.spec.read_text() + "# mine\n")
    assert post(designer, "save", again) == {"exists": True}
    designer.spec.write_bytes(b"\xff")
    assert post(designer, "save", again) == {"exists": True}


def test_a_text_that_no_file_can_have_begins_no_spec(designer: Designer) -> None:
    assert "surrogate" in post(designer, "save", {"data": {"source": "\ud800"}})["error"]
    assert not designer.spec.exists()


def test_a_saved_spec_is_one_of_the_command_line(designer: Designer) -> None:
    assert post(designer, "save", TEXTS) == {"saved": True}
    assert run("release", "spec.toml", "--plan", cwd=designer.folder).returncode == 0
    with serve(designer.spec) as opened:
        content = json.loads(ask(opened, "form")[1])
        assert content["texts"] == TEXTS
        assert post(opened, "save", content["texts"]) == {"saved": True}  # nothing changes


def test_a_page_that_is_loaded_again_has_its_texts(designer: Designer) -> None:
    changed = edit(privacy={"epsilon": "3"})
    post(designer, "save", changed)
    assert json.loads(ask(designer, "form")[1])["texts"] == changed


@pytest.mark.dense
def test_a_run_publishes_what_it_shows_and_nothing_else(designer: Designer) -> None:
    secret = designer.folder / "out-secret.html"
    secret.write_text("of another release")
    post(designer, "save", TEXTS)
    assert ask(designer, "published/out-report.html")[0] == 404
    assert post(designer, "run", TEXTS) == {"path": "out", "report": "out-report.html"}
    status, content, headers = ask(designer, "published/out-report.html")
    assert status == 200
    assert b"Check the proof" in content
    assert headers["Content-Type"].startswith("text/html")
    (link,) = re.findall(r'<a href="([^"]*)" download>', content.decode())
    table = (designer.folder / "out/by_plan.csv").read_bytes()
    assert ask(designer, f"published/{link}")[1] == table
    for name in ("out-secret.html", "visits.csv", "out/../visits.csv", "out/%2e%2e/visits.csv",
                 "../visits.csv", "out/", "out/..", "out/nothing.csv", "spec.toml"):  # fmt: skip
        status, content, _ = ask(designer, f"published/{name}")
        assert status == 404, name
    assert run("verify", "out", cwd=designer.folder).returncode == 0
    shown = post(designer, "run", TEXTS)
    assert (shown["code"], "exists already" in shown["error"]) == (2, True)


@pytest.mark.dense
def test_a_weak_promise_is_run_only_if_the_page_asked(designer: Designer) -> None:
    texts = edit(privacy={"epsilon": "50"})
    post(designer, "save", texts)
    shown = post(designer, "run", texts)
    assert shown["code"] == 1
    assert "weak promise" in shown["error"]
    assert not (designer.folder / "out").exists()
    assert post(designer, "run", texts, sure=True)["path"] == "out"


def test_one_release_runs_at_a_time(designer: Designer) -> None:
    with designer._running:
        assert post(designer, "run", TEXTS) == {"error": "A release is running already."}


def test_what_is_no_spec_is_not_opened(tmp_path: Path) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text("version = 1\n[dta]\n")
    with pytest.raises(SpecError, match="dta: Unknown key"):
        Designer(spec)
    shown = run("design", "spec.toml", cwd=tmp_path)
    assert shown.returncode == 2
    assert "spec.toml:2: dta: Unknown key" in shown.stderr
    with pytest.raises(InvalidInput, match="Expected a folder"):
        Designer(tmp_path / "missing/spec.toml")
    assert run("design", "--port", "0", cwd=tmp_path).returncode == 2


@pytest.mark.dense
def test_the_command_prints_its_address_and_ends_with_an_interrupt(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "leastnoise", "design"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert re.fullmatch(r"Open http://127\.0\.0\.1:\d+/[0-9a-f]{64}/\n", line)
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")


def test_the_token_is_drawn_where_all_randomness_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    class Fixed:
        def bits(self, count: int) -> int:
            asked.append(count)
            return 5

    monkeypatch.setattr(server, "SystemEntropy", Fixed)
    with serve(tmp_path / "spec.toml") as designer:
        assert designer.token == f"{5:064x}"
    assert asked == [256]
