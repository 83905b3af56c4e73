"""Forty everyday tasks of a statistical office: their lines, and their processor seconds.

    python -m benchmarks.office [WORD …]

runs every task of `office_tasks`, or those whose group or title has a WORD, and prints a Markdown
table. The rows are the rows of `leastnoise demo`: visits to doctors in five years. Days and codes
of hospital stays are synthetic. It needs the extras demo, learn, stat and xlsx, and R for one task.
The exit code is 1 if a task fails.

Minutes of persons aren't measured. Instead the table has the lines and words that somebody types,
the commands, and the words of the page or section that explains the task, with its example.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.office_tasks import HEAD, PAGES, TASKS

DOCS = Path(__file__).parent.parent / "docs"


def write_tables(folder: Path) -> None:
    """Write the tables of all tasks, and the command `leastnoise` for their shells."""
    command = folder / "bin" / "leastnoise"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m leastnoise "$@"\n')
    command.chmod(0o755)
    call(folder, ["$ leastnoise demo --table visits.csv"])
    visits = pd.read_csv(folder / "visits.csv")
    persons = visits.groupby("zper", as_index=False)[["female", "site", "income"]].first()
    persons.to_parquet(folder / "persons.parquet")
    german = visits[["zper", "income"]].assign(Straße="ü")
    german.to_csv(folder / "german.csv", sep=";", decimal=",", index=False, encoding="latin-1")
    with pd.ExcelWriter(folder / "visits.xlsx", engine="xlsxwriter") as book:
        visits[["zper", "year"]].to_excel(book, sheet_name="Rows", index=False)
    import pyreadstat

    pyreadstat.write_sav(
        visits[["zper", "female"]].astype(float), str(folder / "visits.sav"),
        variable_value_labels={"female": {0: "Man", 1: "Woman"}},
    )  # fmt: skip
    stays = visits.loc[visits.index.repeat(visits["totadm"].astype(int))]
    number = np.arange(len(stays))
    came = pd.to_datetime("1973-01-01") + pd.to_timedelta(
        365 * stays["year"].to_numpy() + number * 37 % 365, unit="D"
    )
    nights, born = number % 9, came - pd.to_timedelta(365.25 * stays["xage"].to_numpy(), unit="D")
    codes = [f"{'ABCDEF'[int(site) - 1]}{int(60 / (n % 60 + 1)):02d}"
             for site, n in zip(stays["site"], number, strict=True)]  # fmt: skip
    frame = {
        "zper": stays["zper"], "came": came.strftime("%Y-%m-%d"), "born": born.strftime("%Y-%m-%d"),
        "went": (came + pd.to_timedelta(nights, unit="D")).strftime("%Y-%m-%d"),
        "code": codes, "cost": stays["inpdol"],
    }  # fmt: skip
    pd.DataFrame(frame).to_csv(folder / "stays.csv", index=False)
    listed = [f"{letter}{number:02d}" for letter in "ABCDEF" for number in range(1, 61)]
    pd.DataFrame({"code": listed}).to_csv(folder / "codes.csv", index=False)


def merge(text: str) -> str:
    """The spec `HEAD`, in which a task's sections replace the sections with the same name.

    A task with other rows drops the columns of `HEAD`. An empty section drops the section of
    `HEAD`.
    """
    sections = _split(HEAD)
    computed = _split(text)
    if "[data]" in computed:
        del sections["[columns]"]
    merged = {name: lines for name, lines in (sections | computed).items() if lines != [name]}
    return "\n".join(line for lines in merged.values() for line in lines)


def _split(text: str) -> dict[str, list[str]]:
    """The lines of a spec, by the line that begins their section."""
    sections: dict[str, list[str]] = {"": []}
    title = ""
    for line in text.splitlines():
        title = line if line.startswith("[") else title
        sections.setdefault(title, []).append(line)
    return sections if sections[""] else {name: lines for name, lines in sections.items() if name}


def call(folder: Path, lines: list[str]) -> str:
    """Run commands of a shell, and then lines of Python.

    Return the error text, "" without an error.
    """
    shell = "\n".join(line[2:] for line in lines if line.startswith("$ "))
    program = "\n".join(line[4:] for line in lines if line.startswith((">>> ", "... ")))
    path = os.pathsep.join(
        [str(folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    )
    for command in (["sh", "-ec", shell], [sys.executable, "-c", program]):
        if command[-1]:
            done = subprocess.run(
                command, cwd=folder, env=os.environ | {"PATH": path},
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode:
                return (done.stderr.strip() or done.stdout.strip()).replace("\n", " ")[:300]
    return ""


def count_words(title: str) -> int:
    """The number of words of the page or section that explains a task, with its example."""
    name, _, heading = PAGES[title].partition("#")
    text = (DOCS / name).read_text()
    if heading:
        sections = re.split(r"^## ", text, flags=re.MULTILINE)
        (text,) = [section for section in sections if section.startswith(f"{heading}\n")]
    return len(text.split())


def run(tables: Path, text: str) -> tuple[int, float, str]:
    """Run a task. Return its number of commands, their processor seconds, and the error, if any."""
    lines = [line for line in text.splitlines() if line]
    commands = [line for line in lines if line.startswith(("$ ", ">>> ", "... "))]
    spec = "\n".join(line for line in lines if line not in commands)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for table in tables.iterdir():
            (folder / table.name).symlink_to(table)
        if spec:
            (folder / "spec.toml").write_text(merge(spec))
        if not commands:
            commands = ["$ leastnoise release spec.toml"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        error = call(folder, commands)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return len(commands), seconds, error


def main() -> None:
    words = sys.argv[1:]
    failed = 0
    print(f"{len(HEAD.splitlines())} lines of a spec are common to all tasks.\n")
    print("| group | task | lines | words typed | commands | words to read | CPU s | |")
    print("|---|---|---:|---:|---:|---:|---:|---|", flush=True)
    with tempfile.TemporaryDirectory() as name:
        write_tables(Path(name))
        for group, title, text in TASKS:
            if words and not any(word in f"{group} {title}" for word in words):
                continue
            lines = sum(bool(line) for line in text.splitlines())
            row = f"| {group} | {title} | {lines} | {len(text.split())} |"
            if "$ Rscript" in text and shutil.which("Rscript") is None:
                print(f"{row} | {count_words(title)} | | not run: Rscript is missing |", flush=True)
                continue
            commands, seconds, error = run(Path(name), text)
            failed += bool(error)
            read = count_words(title)
            print(f"{row} {commands} | {read} | {seconds:.1f} | {error} |", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
