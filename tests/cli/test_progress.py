"""The progress that a command shows while it works: in a real terminal, and nowhere else."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import ClassVar

import pytest

from leastnoise.cli.terminal import stages
from tests.cli.program import PROGRAM, Terminal, run, run_in_terminal

CODE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
HIDE, SHOW, ERASE = "\x1b[?25l", "\x1b[?25h", "\x1b[2K"
# No law is as near to the best possible: the design goes on for all of its time.
SLOW = (
    "calibrate", "--noise", "optimal", "--epsilon", "1", "--delta", "1e-3", "--gap", "1e-9",
    "--time-limit", "5",
)  # fmt: skip
QUICK = ("calibrate", "--noise", "laplace", "--epsilon", "1")


@pytest.mark.dense
def test_a_long_command_shows_its_stage_and_takes_it_away() -> None:
    done = run_in_terminal(*SLOW)
    assert done.returncode == 0
    assert "Designing noise on" in done.stderr
    after = done.stderr.rpartition("…")[2]
    assert SHOW in after
    assert after.endswith(ERASE)
    assert not CODE.sub("", after).strip()
    assert "\x1b" not in done.stdout
    assert "…" not in done.stdout
    assert done.stdout.startswith("  std")


def test_a_quick_command_shows_nothing() -> None:
    done = run_in_terminal(*QUICK)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.dense
def test_json_and_files_hold_nothing_of_it() -> None:
    assert run_in_terminal(*SLOW, "--json").stderr == ""
    assert run(*SLOW).stderr == ""


@pytest.mark.dense
def test_ctrl_c_gives_the_cursor_back() -> None:
    with Terminal(80) as terminal:
        process = subprocess.Popen(
            [str(PROGRAM), *SLOW[:-1], "60"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=terminal.theirs,
            text=True,
        )
        _wait_until(lambda: "…" in terminal.so_far)
        process.send_signal(signal.SIGINT)
        shown, _ = process.communicate()
        seen = terminal.text()
    assert process.returncode == 130
    assert shown == ""
    assert HIDE in seen
    assert SHOW in seen.rpartition("…")[2]
    assert "Traceback" not in seen


def _wait_until(holds: Callable[[], bool]) -> None:
    for _ in range(3000):
        if holds():
            return
        time.sleep(0.01)
    pytest.fail("nothing was shown in half a minute")


class Stopped:
    """A stand-in for threading.Timer that calls when the test asks it to."""

    calls: ClassVar[list[Callable[[], None]]] = []

    def __init__(self, seconds: float, call: Callable[[], None]) -> None:
        assert seconds == 1
        Stopped.calls.append(call)
        self.daemon = False

    @classmethod
    def strike(cls) -> None:
        """Call the function of the last timer."""
        cls.calls[-1]()

    def start(self) -> None:
        """Do nothing: `strike` calls."""

    def cancel(self) -> None:
        """Do nothing."""


class Closed:
    """A terminal that was closed: each write raises BrokenPipeError."""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        raise BrokenPipeError

    def flush(self) -> None:
        raise BrokenPipeError


@pytest.mark.parametrize("ended", [False, True])
def test_a_terminal_that_goes_away_stops_nothing(
    monkeypatch: pytest.MonkeyPatch, ended: bool
) -> None:
    monkeypatch.setattr(threading, "Timer", Stopped)
    monkeypatch.setattr(sys, "stderr", Closed())
    with stages("Working") as tell:
        if not ended:
            Stopped.strike()
        tell("Working on")
    Stopped.strike()  # after the end: nothing is drawn any more


def test_a_stage_is_no_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    with Terminal(80) as terminal, open(terminal.name, "w") as stderr:
        monkeypatch.setattr(threading, "Timer", Stopped)
        monkeypatch.setattr(sys, "stderr", stderr)
        with stages("Reading [red]x[/red]\x1b]0;y\x07"):
            Stopped.strike()
        stderr.close()
        assert "[red]x[/red]?]0;y? …" in terminal.text()
