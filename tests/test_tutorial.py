"""The tutorial, typed line by line into one shell, from a checkout and an empty folder.

No network is needed: `make demo` finds an environment with the installed packages.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.test_docs import FLAGS, ROOT, TYPED, Near, commands_of, files_of

NEEDED = ("src", "Makefile", "pyproject.toml", "constraints.txt", "README.md", "LICENSE")
MARK = "@"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the program with an environment of its own, which uses the installed packages."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in NEEDED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    venv.create(folder / ".venv", with_pip=False, symlinks=True)
    (site,) = (folder / ".venv").glob("lib/python*/site-packages")
    (site / "borrowed.pth").write_text(f"{folder / 'src'}\n{sysconfig.get_path('purelib')}\n")
    script = folder / ".venv/bin/leastnoise"
    script.write_text(
        f"#!{folder / '.venv/bin/python'}\nimport sys\nfrom leastnoise.cli.main import main\n"
        "sys.exit(main())\n"
    )
    script.chmod(0o755)
    (folder / ".venv/.demo").touch()  # what says that the install is complete
    return folder


@pytest.mark.dense
def test_every_line_works_as_it_is_typed(checkout: Path) -> None:
    typed = commands_of(TYPED)
    assert [command for command, _ in typed[:2]] == ["make demo", ". .venv/bin/activate"]
    lines: list[str] = []
    for command, _ in typed:
        lines += [command, f"printf '\\n{MARK}%d{MARK}\\n' $?"]
        if command.startswith("mkdir"):  # it is there that the page says to save files
            for name, text in files_of(TYPED).items():
                (checkout / name).write_text(text)
                lines.append(f"mv ../{name} .")
    hidden = {name for name in os.environ if name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    computed = {name: text for name, text in os.environ.items() if name not in hidden}
    computed["PATH"] = os.pathsep.join(
        part
        for part in computed["PATH"].split(os.pathsep)
        if Path(part) != Path(sys.executable).parent
    )
    done = subprocess.run(
        ["sh"],
        input="\n".join(lines),
        cwd=checkout,
        env=computed | {"COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=False,
    )
    parts = done.stdout.split(MARK)
    assert parts[1::2] == ["0"] * len(typed), done.stderr
    for (command, shown), line in zip(typed, parts[::2], strict=False):
        text = line.strip("\n") + "\n"
        assert not shown.strip() or Near().check_output(shown, text, FLAGS), (command, text)
    assert done.stderr == ""
