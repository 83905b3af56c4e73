"""A command as a mechanism: its output is read, and never quoted in messages."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from leastnoise.audit.program import ProgramUnderTest, text_of
from leastnoise.errors import InvalidInput


def _python(code: str, folder: Path) -> str:
    script = folder / "program.py"
    script.write_text(code)
    return f"{sys.executable} {script} {{value}} {{count}}"


def _draw_values(code: str, folder: Path, *, count: int = 3, seconds: float = 60) -> np.ndarray:
    return ProgramUnderTest(command=_python(code, folder), seconds=seconds).draw(1.5, count)


@pytest.mark.parametrize(
    ("printed", "numbers"),
    [
        ("1\\n-2.5e-3\\ninf\\n", [[1], [-2.5e-3], [np.inf]]),
        ("1,2\\n3 4\\n5, 6\\n", [[1, 2], [3, 4], [5, 6]]),
        ("1\\r\\n2\\r\\n3", [[1], [2], [3]]),
        ("1\\n2\\n3\\n4\\nrubbish", [[1], [2], [3]]),
    ],
)
def test_lines_are_numbers(printed: str, numbers: list[list[float]], tmp_path: Path) -> None:
    assert _draw_values(f"print('{printed}', end='')", tmp_path).tolist() == numbers


def test_the_input_and_the_count_are_told(tmp_path: Path) -> None:
    code = "import sys\nfor _ in range(int(sys.argv[2])): print(sys.argv[1])"
    assert _draw_values(code, tmp_path, count=5).tolist() == [[1.5]] * 5
    assert text_of(np.array([1.0, 0.5])) == "1.0,0.5"
    assert text_of("a b") == "a b"


def test_a_command_that_prints_on_is_stopped(tmp_path: Path) -> None:
    assert _draw_values("while True: print(7, flush=True)", tmp_path).tolist() == [[7]] * 3


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("print('1\\nsecret\\n3')", "Line 2 "),
        ("print('1\\n2\\n3_4')", "Line 3 "),
        ("print('1\\n2 987\\n3')", "Line 2 .* 2 numbers, expected 1"),
        ("print('\\n\\n\\n')", "Line 1 .* 0 numbers"),
        ("print(987)", "printed 1 line, expected 3"),
        ("import sys; print(987); sys.exit(5)", "exit code 5"),
        ("raise RuntimeError('secret')", "exit code 1"),
    ],
)
def test_what_is_wrong_is_said_without_quoting_it(code: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=says) as refused:
        _draw_values(code, tmp_path)
    assert "secret" not in str(refused.value)
    assert "987" not in str(refused.value)


def test_a_command_that_hangs_is_given_up_with_what_it_started(tmp_path: Path) -> None:
    started = tmp_path / "started"
    child = f"import time, pathlib; time.sleep(2); pathlib.Path({str(started)!r}).touch()"
    code = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {child!r}])"
    with pytest.raises(InvalidInput, match="--timeout"):
        _draw_values(code, tmp_path, seconds=1)
    time.sleep(2)
    assert not started.exists()


def test_a_line_that_never_ends_is_given_up(tmp_path: Path) -> None:
    """Long before the time is up, and without keeping what it prints."""
    code = "import sys\nwhile True: sys.stdout.write('1' * 65536)"
    with pytest.raises(InvalidInput, match="a line of more than 16,777,216 bytes"):
        _draw_values(code, tmp_path, seconds=600)


def test_lines_of_more_numbers_than_fit_are_given_up(tmp_path: Path) -> None:
    code = "while True: print('1 ' * 100_000)"
    with pytest.raises(InvalidInput, match=r"100,000 numbers per line.* for 10,000 lines"):
        _draw_values(code, tmp_path, count=10_000, seconds=600)


def test_a_number_of_a_million_digits_is_none(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"Line 2 .* can't be read as a number"):
        _draw_values("print(1, '1' * 10**6, 3, sep='\\n')", tmp_path)


def test_lines_that_come_in_parts(tmp_path: Path) -> None:
    code = (
        "import sys, time\n"
        "for part in ('1', '.5\\n2', '.5\\r', '\\n3'):\n"
        "    sys.stdout.write(part); sys.stdout.flush(); time.sleep(.2)"
    )
    assert _draw_values(code, tmp_path).tolist() == [[1.5], [2.5], [3]]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a daemon isn't found")
def test_a_daemon_does_not_outlive_the_run(tmp_path: Path) -> None:
    """It has a session of its own, its parent has ended, and it starts another."""
    code = f"""
import os, pathlib, sys, time
if not os.fork():
    os.setsid()
    if os.fork():
        os._exit(0)
    os.fork()
    pathlib.Path({str(tmp_path)!r}, f"{{os.getpid()}}.daemon").touch()
    for one in (0, 1, 2): os.close(one)
    time.sleep(300)
while len(list(pathlib.Path({str(tmp_path)!r}).glob("*.daemon"))) < 2: time.sleep(0.01)
for place in range(3): print(place)
"""
    assert _draw_values(code, tmp_path).tolist() == [[0], [1], [2]]
    daemons = [int(path.stem) for path in tmp_path.glob("*.daemon")]
    assert len(daemons) == 2
    for daemon in daemons:
        with pytest.raises(ProcessLookupError):
            os.kill(daemon, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a daemon isn't found")
def test_a_daemon_of_another_user_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = f"""
import os, pathlib, time
if not os.fork():
    os.setsid()
    pathlib.Path({str(tmp_path)!r}, f"{{os.getpid()}}.daemon").touch()
    for one in (0, 1, 2): os.close(one)
    time.sleep(300)
while not list(pathlib.Path({str(tmp_path)!r}).glob("*.daemon")): time.sleep(0.01)
for place in range(3): print(place, flush=True)
"""
    kill = os.kill

    def refused(process: int, number: int) -> None:
        raise PermissionError(process, number)

    monkeypatch.setattr(os, "kill", refused)
    assert _draw_values(code, tmp_path).tolist() == [[0], [1], [2]]
    (daemon,) = (int(path.stem) for path in tmp_path.glob("*.daemon"))
    kill(daemon, signal.SIGKILL)
    os.waitpid(daemon, 0)


@pytest.mark.parametrize("command", ["", "'unclosed", "no-such-program {value}", "a\0b"])
def test_commands_that_are_none(command: str) -> None:
    with pytest.raises(InvalidInput, match="command"):
        ProgramUnderTest(command=command, seconds=1).draw(0, 1)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_times_that_are_none(seconds: float) -> None:
    with pytest.raises(InvalidInput, match="--timeout"):
        ProgramUnderTest(command="true", seconds=seconds)


def test_a_command_that_prints_enough_and_fails_then_has_served(tmp_path: Path) -> None:
    code = "import sys\nfor place in range(3): print(place, flush=True)\nsys.exit(3)"
    assert _draw_values(code, tmp_path).tolist() == [[0], [1], [2]]


@pytest.mark.dense
def test_a_run_that_waits_to_be_read_has_all_its_time(tmp_path: Path) -> None:
    """The second prints more than a pipe holds while the first is read."""
    code = (
        "import sys, time\n"
        "print('1\\n' * 50_000, end='', flush=True)\n"
        "time.sleep(3)\n"
        "print('2\\n' * 50_000, end='', flush=True)\n"
    )
    runs = ProgramUnderTest(command=_python(code, tmp_path), seconds=5).draw_pair(0, 100_000)
    assert [run.sum() for run in runs] == [150_000] * 2


def test_two_runs_are_at_the_same_time(tmp_path: Path) -> None:
    """Each waits for the other's file: one after the other they would never print."""
    code = f"""
import os, pathlib, sys, time
folder = pathlib.Path({str(tmp_path)!r})
(folder / f"{{os.getpid()}}.run").touch()
while len(list(folder.glob("*.run"))) < 2: time.sleep(0.01)
for _ in range(int(sys.argv[2])): print(os.getpid(), flush=True)
"""
    item, other = ProgramUnderTest(command=_python(code, tmp_path), seconds=60).draw_pair(0, 4)
    assert item.shape == other.shape == (4, 1)
    assert item[0] != other[0]
