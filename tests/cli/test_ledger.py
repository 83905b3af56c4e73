"""`leastnoise ledger`, and a release that is charged to one, as a shell sees them."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import leastnoise as ln
from leastnoise.errors import SpecError
from leastnoise.guarantees.budget import Budget
from leastnoise.ledger.ledger import Ledger
from leastnoise.tables.parse import spec_file
from tests.cli.program import PROGRAM, run

SPEC = """
version = 1
data = { source = "rows.csv", types = { person = "int", x = "int" } }
privacy = { unit = "UNIT", epsilon = "0.4", ledger = LEDGER }
query = [{ name = "n", statistics = ["count"] }]
output = { path = "PATH", format = "csv" }
"""
INIT = ["ledger", "init", "b.ledger", "--dataset", "visits", "--unit", "row", "--epsilon", "1"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text("person,x\n" + "".join(f"{i},{i}\n" for i in range(50)))
    Ledger(tmp_path / "b.ledger").open_account("visits", unit="row", budget=Budget(epsilon=1))
    return tmp_path


def write_spec(
    folder: Path, name: str, *, unit: str = "row", ledger: str = '{ path = "b.ledger" }'
) -> str:
    text = SPEC.replace("UNIT", unit).replace("LEDGER", ledger).replace("PATH", name)
    if unit != "row":
        text = "contribution = { max_rows = 1 }\n" + text
    (folder / f"{name}.toml").write_text(text)
    return f"{name}.toml"


def spent(folder: Path) -> dict[str, Any]:
    shown = run("ledger", "show", "b.ledger", "--json", cwd=folder)
    assert shown.stderr == ""
    (account,) = json.loads(shown.stdout)["accounts"]
    return account


@pytest.mark.slow
def test_releases_are_charged_until_the_budget_is_spent(folder: Path) -> None:
    for name in ("first", "second"):
        assert run("release", write_spec(folder, name), cwd=folder).returncode == 0
        assert run("verify", name, cwd=folder).returncode == 0
    third = write_spec(folder, "third")
    (folder / "rows.csv").write_text("person,x\n")  # the data don't matter
    refused = run("release", third, "--json", cwd=folder)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "Over budget for 'visits'" in refused.stderr
    assert not (folder / "third").exists()
    planned = run("release", third, "--plan", cwd=folder)
    assert planned.returncode == 1
    assert "0.4" in planned.stdout  # it is shown all the same
    result = spent(folder)
    assert result.pop("last")["label"] == "n"
    assert result == {
        "dataset": "visits",
        "unit": "row",
        "neighbours": "add-remove",
        "epsilon": "1",
        "delta": "0",
        "filter": "sums",
        "charges": 2,
        "spent": {"epsilon": "0.8", "delta": "0", "rho": "0.16", "leak": "0"},
        "left": {"epsilon": "0.2", "delta": "0", "rho": None},
        "more_like_last": 0,
        "series": [],
    }
    history = json.loads(run("ledger", "history", "b.ledger", "--json", cwd=folder).stdout)
    assert [entry["kind"] for entry in history["entries"]] == ["account", "charge", "charge"]
    assert history["entries"][1]["label"] == "n"
    checked = run("ledger", "check", "b.ledger", "--json", cwd=folder)
    assert json.loads(checked.stdout) == {"holds": True, "entries": 3, "reason": None}
    for command in ("show", "history", "check"):
        assert run("ledger", command, "b.ledger", cwd=folder).returncode == 0


@pytest.mark.dense
def test_a_rejected_release_gets_advice(folder: Path) -> None:
    assert run("release", write_spec(folder, "out"), cwd=folder).returncode == 0
    Ledger(folder / "other.ledger").open_account("visits", unit="row", budget=Budget(epsilon=1))

    def advice(*options: str) -> str:
        rejected = run("verify", "out", *options, cwd=folder)
        first, second = rejected.stderr.splitlines()
        assert (rejected.returncode, rejected.stdout) == (1, "")
        assert first.startswith("leastnoise: not verified: ")
        return second

    assert "the ledger that was charged for the release" in advice("--ledger", "other.ledger")
    table = folder / "out" / "n.csv"
    heads, numbers = table.read_text().splitlines()
    table.write_text(f"{heads}\n1{numbers}\n")
    assert "Ask the publisher for the original files" in advice("--ledger", "b.ledger")


def test_a_path_that_is_too_long_is_called_so(folder: Path) -> None:
    done = run("ledger", "check", "x" * 400, cwd=folder)
    assert done.returncode == 2
    assert "a path of at most 4,095 bytes, with at most 255 in each name" in done.stderr
    assert "Give a shorter path." in done.stderr


@pytest.mark.parametrize(
    ("title", "options", "label"),
    [
        ("", (), "n"),
        ('report = { title = "All \\u001b[31m visits" }', (), "All \x1b[31m visits"),
        ('report = { title = "All visits" }', ("--label", "A second look"), "A second look"),
    ],
)
def test_the_ledger_says_what_was_released_last_and_by_whom(
    folder: Path, title: str, options: tuple[str, ...], label: str
) -> None:
    spec = folder / write_spec(folder, "out")
    spec.write_text(f"{title}\n{spec.read_text()}")
    assert run("release", spec.name, *options, cwd=folder).returncode == 0
    user = pwd.getpwuid(os.getuid()).pw_name
    last = spent(folder)["last"]
    assert (last["label"], last["user"]) == (label, user)
    shown = run("ledger", "show", "b.ledger", cwd=folder).stdout
    assert f"{label.rsplit(maxsplit=1)[-1]}, {user}" in shown
    assert "\x1b" not in shown
    history = run("ledger", "history", "b.ledger", cwd=folder).stdout
    assert user in history


def test_a_label_needs_a_ledger(folder: Path) -> None:
    spec = folder / write_spec(folder, "out")
    spec.write_text(spec.read_text().replace(', ledger = { path = "b.ledger" }', ""))
    refused = run("release", spec.name, "--label", "x", cwd=folder)
    assert refused.returncode == 2
    assert "a spec with a ledger" in refused.stderr
    assert not (folder / "out").exists()


def test_a_plan_charges_nothing(folder: Path) -> None:
    done = run("release", write_spec(folder, "out"), "--plan", cwd=folder)
    assert done.returncode == 0
    assert "would accept this release. It adds up charges by the rule sums" in done.stdout
    assert spent(folder)["charges"] == 0


def test_nothing_is_charged_if_the_output_exists(folder: Path) -> None:
    (folder / "out").mkdir()
    assert run("release", write_spec(folder, "out"), cwd=folder).returncode == 2
    assert spent(folder)["charges"] == 0


def test_an_error_after_the_charge_refunds_nothing(folder: Path) -> None:
    (folder / "rows.csv").write_bytes(b'person,x\n1,2\n\xff\xfe"broken\n')
    done = run("release", write_spec(folder, "out"), cwd=folder)
    assert spent(folder)["charges"] == 1
    assert done.returncode in {0, 2}


def test_another_unit_is_refused(folder: Path) -> None:
    done = run("release", write_spec(folder, "out", unit="person"), cwd=folder)
    assert done.returncode == 1
    assert "unit='row'" in done.stderr
    assert spent(folder)["charges"] == 0


@pytest.mark.dense
def test_a_registered_plan_is_used_by_its_releases(folder: Path) -> None:
    free = write_spec(folder, "free", ledger='{ path = "b.ledger" }')
    register = ("ledger", "register", "b.ledger", f"{free}=2", "--epsilon", "0.8", "--json")
    done = run(*register, cwd=folder)
    releases = [{"spec": free, "count": 2, "epsilon": "0.4"}]
    results = {"plan": 2, "dataset": "visits", "filter": "sums", "releases": releases}
    assert json.loads(done.stdout) == results
    for name, code in (("a", 0), ("b", 0), ("c", 1)):
        spec = write_spec(
            folder, name, ledger='{ path = "b.ledger", dataset = "visits", plan = 2 }'
        )
        assert run("release", spec, cwd=folder).returncode == code
    assert (spent(folder)["charges"], spent(folder)["spent"]["epsilon"]) == (1, "0.8")
    assert run("ledger", "check", "b.ledger", cwd=folder).returncode == 0
    assert "use of plan 2" in run("ledger", "history", "b.ledger", cwd=folder).stdout


@pytest.mark.dense
def test_fit_finds_the_largest_epsilon_that_is_proved(folder: Path) -> None:
    """Sixty counts get more than a 52nd of ε each; the spec with that ε is one of the plan."""
    Ledger(folder / "d.ledger").open_account(
        "visits", unit="row", budget=Budget(epsilon=1, delta="1e-6")
    )
    wanted = '{ path = "d.ledger" }'
    text = (folder / write_spec(folder, "out", ledger=wanted)).read_text()
    register = ("ledger", "register", "d.ledger", "out.toml=60", "--epsilon", "1")
    fitted = run(*register, "--delta", "1e-6", "--fit", "--json", cwd=folder)
    (result,) = json.loads(fitted.stdout)["releases"]
    assert result["count"] == 60

    def add_up(epsilon: Fraction) -> float:
        mechanism = ln.calibrate("geometric", epsilon=epsilon, delta=0, sensitivity=ln.Integer(1))
        return ln.compose([(mechanism, 60)]).delta(epsilon=1).upper

    epsilon = Fraction(result["epsilon"])
    assert add_up(epsilon) <= 1e-6 < add_up(epsilon * Fraction("1.01"))
    assert epsilon > Fraction(1, 52)
    written = text.replace('"0.4"', f'"{result["epsilon"]}"').replace(
        wanted, wanted[:-2] + ", plan = 2 }"
    )
    (folder / "out.toml").write_text(written)
    assert run("release", "out.toml", cwd=folder).returncode == 0
    history = run("ledger", "history", "d.ledger", cwd=folder)
    assert "use of plan 2" in history.stdout


def test_fit_says_why_no_epsilon_fits(folder: Path) -> None:
    spec = write_spec(folder, "out")
    text = (folder / spec).read_text()
    (folder / spec).write_text(
        text.replace('"0.4"', '"least"').replace(
            '["count"]', '["count"], accuracy = { half_width_95 = 10 }'
        )
    )
    done = run("ledger", "register", "b.ledger", spec, "--epsilon", "1", "--fit", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert "a number above 0 for epsilon" in done.stderr
    assert spent(folder)["charges"] == 0


def test_init_opens_an_account(folder: Path) -> None:
    more = ("--delta", "1e-6", "--filter", "zcdp", "--neighbours", "replace-one", "--json")
    done = run(*INIT[:3], "--dataset", "b", *INIT[5:], *more, cwd=folder)
    record = json.loads(done.stdout)
    assert [record[key] for key in ("dataset", "delta", "filter", "neighbours")] == [
        "b", "1e-6", "zcdp", "replace-one",
    ]  # fmt: skip
    assert "visits" in run("ledger", "show", "b.ledger", cwd=folder).stdout


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (INIT, 1, "already"),
        (("ledger", "show", "none.ledger"), 2, "no ledger at none.ledger"),
        (("ledger", "check", "rows.csv"), 2, "not a ledger"),
        (("ledger", "history", "b.ledger", "--dataset", "x"), 2, "one of 'visits'"),
        ((*INIT[:2], "c.ledger", *INIT[3:], "--filter", "best"), 2, "sums, zcdp"),
        ((*INIT[:2], "c.ledger", *INIT[3:], "--neighbours", "all"), 2, "add-remove"),
        ((*INIT[:2], "c.ledger", *INIT[3:-1], "x"), 2, "epsilon"),
        (("ledger", "register", "b.ledger", "x.toml=-1", "--epsilon", "1"), 2, "COUNT"),
        (("ledger", "register", "b.ledger", "x.toml", "--epsilon", "1"), 2, "spec file"),
    ],
)
def test_errors_are_clear(folder: Path, arguments: tuple[str, ...], code: int, why: str) -> None:
    done = run(*arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (code, "")
    assert why in done.stderr


def test_an_edited_ledger_does_not_hold(folder: Path) -> None:
    data = (folder / "b.ledger").read_bytes()
    (folder / "b.ledger").write_bytes(data.replace(b'"epsilon": "1"', b'"epsilon": "9"'))
    done = run("ledger", "check", "b.ledger", "--json", cwd=folder)
    assert done.returncode == 1
    assert json.loads(done.stdout)["reason"] == "Entry 1 of the ledger was edited."
    assert run("release", write_spec(folder, "out"), cwd=folder).returncode == 1


def test_the_spec_reads_back(folder: Path) -> None:
    account = '{ path = "b.ledger", dataset = "visits", plan = 3 }'
    spec = spec_file.read(folder / write_spec(folder, "out", ledger=account)).spec
    assert spec_file.loads(spec_file.dumps(spec)) == spec
    with pytest.raises(SpecError) as caught:
        spec_file.read(folder / write_spec(folder, "bad", ledger='{ file = "x", plan = 0 }'))
    assert {key for key, _ in caught.value.problems} == {
        "privacy.ledger.file", "privacy.ledger.path", "privacy.ledger.plan",
    }  # fmt: skip


@pytest.mark.dense
@pytest.mark.parametrize("stream", ["stdout", "stderr", "pipe"])
def test_a_release_that_is_charged_is_published_whoever_can_see_it(
    folder: Path, stream: str
) -> None:
    """Its output goes to a full stream, or to one that nobody reads any more."""
    spec = write_spec(folder, "out")
    environment = {**os.environ, "TTY_COMPATIBLE": "1"}  # draw the stages, as in a terminal
    command = [str(PROGRAM), "release", spec]
    read, write = os.pipe()
    os.close(read)
    with open("/dev/full", "w") as full, os.fdopen(write, "w") as nobody:
        streams = {"pipe": (nobody, nobody), "stdout": (full, None), "stderr": (None, full)}
        out, err = streams[stream]
        done = subprocess.run(
            command, cwd=folder, stdout=out or subprocess.PIPE, stderr=err or subprocess.PIPE,
            env=environment, check=False, text=True,
        )  # fmt: skip
    assert done.returncode == (0 if stream == "stderr" else 2)
    if stream == "stdout":
        assert "The release is published in out" in done.stderr
    assert (folder / "out" / "n.csv").exists()
    assert spent(folder)["charges"] == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("release", "pipe"),
        ("release", "/dev/zero"),
        ("release", "huge"),
        ("release", "."),
        ("verify", "pipe"),
        ("verify", "/dev/zero"),
        ("verify", "huge"),
        ("compose", "pipe", "--epsilon", "1"),
        ("compose", "/dev/zero=2", "--epsilon", "1"),
        ("compose", "x=" + "9" * 5000, "--epsilon", "1"),
        ("ledger", "check", "pipe"),
        ("ledger", "show", "/dev/zero"),
        ("ledger", "show", "."),
        ("ledger", "register", "b.ledger", "x=" + "9" * 5000, "--epsilon", "1"),
    ],
)
def test_what_is_no_file_to_read_is_refused_at_once(
    folder: Path, arguments: tuple[str, ...]
) -> None:
    os.mkfifo(folder / "pipe")
    with (folder / "huge").open("wb") as sparse:
        sparse.truncate(2**41)
    done = run(*arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("leastnoise: ")
    assert "Internal" not in done.stderr


SERIES = """
version = 1
data = { source = "rows.csv", types = { person = "int", x = "int" } }
privacy = { unit = "row", epsilon = "0.4", ledger = { path = "b.ledger" } }
series = { releases = 2 }
query = [{ name = "n", statistics = ["count"] }]
output = { path = "weekly", format = "csv", report = true }
"""


@pytest.mark.dense
def test_a_series_publishes_the_next_and_then_no_more(folder: Path) -> None:
    (folder / "s.toml").write_text(SERIES)
    twice = run("ledger", "register", "b.ledger", "s.toml", "--epsilon", "0.4", cwd=folder)
    assert (twice.returncode, "which its first release charges" in twice.stderr) == (2, True)
    planned = run("release", "s.toml", "--plan", cwd=folder)
    assert "All 2 releases together have 0.4-DP" in planned.stdout
    assert "ledger would accept this release" in planned.stdout
    first = run("release", "s.toml", cwd=folder)
    assert "weekly/1, release 1 of 2" in first.stdout
    assert (folder / "weekly/1-report.html").is_file()
    planned = run("release", "s.toml", "--plan", cwd=folder)
    assert "1 of 2 releases are published, and 1 left." in planned.stdout
    second = json.loads(run("release", "s.toml", "--json", cwd=folder).stdout)
    assert (second["path"], second["release"]) == ("weekly/2", 2)
    (folder / "rows.csv").unlink()
    third = run("release", "s.toml", "--json", cwd=folder)
    assert (third.returncode, third.stdout) == (1, "")
    assert "has 2 releases, and all were published" in third.stderr
    verified = run("verify", "weekly/2", "--ledger", "b.ledger", cwd=folder)
    assert "This is release 2 of 2. Promise and proof cover all 2" in verified.stdout
    history = run("ledger", "history", "b.ledger", cwd=folder).stdout
    assert "release 2 of series 2" in history
    shown = run("ledger", "show", "b.ledger", cwd=folder).stdout
    assert "series      series: 2 of 2 published" in shown
    assert spent(folder)["series"] == [{"name": "series", "published": 2, "releases": 2}]
    assert run("ledger", "check", "b.ledger", cwd=folder).returncode == 0
