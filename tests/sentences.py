"""Every sentence that a user can see: `python -m tests.sentences [--sample N --seed S]`.

The sentences come from all help texts, from the plan, check and page of the golden releases, and
from the messages of raised errors. They are sorted, one per line. A sample is for a reader, who
judges if each sentence is understood at the first reading.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import html
import io
import random
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

import leastnoise as ln
from leastnoise.cli.main import app
from tests.golden.make import RELEASES, ROWS, SPECS

SOURCE = Path(__file__).parent.parent / "src"
_END = re.compile(r"(?<=[.!?])\s+|\s{3,}|\n")
_SENTENCE = re.compile(r".*\w\W+\w+\W+\w.*[.!?]")


def _helps(command: click.Command) -> Iterator[str]:
    yield re.sub(r"(?<!\n)\n *(?=\S)", " ", command.help or "")
    for param in command.params:
        yield getattr(param, "help", None) or ""
    for part in command.commands.values() if isinstance(command, click.Group) else ():
        yield from _helps(part)


def _output(*arguments: str) -> str:
    """The output of a command, without the indented breaks within its sentences."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
        app(list(arguments), standalone_mode=False)
    return re.sub(r"\n  (?=\S)", " ", output.getvalue())


def _golden_texts(folder: Path) -> Iterator[str]:
    (folder / "rows.csv").write_text(ROWS, encoding="utf-8")
    budget = ln.Budget(epsilon=9, delta="1e-5")
    ln.Ledger(folder / "budget.ledger").open_account("people", unit="person", budget=budget)
    for spec in sorted(SPECS.glob("*.toml")):
        yield _output("release", str(shutil.copy(spec, folder)), "--plan", "--verbose")
    for release in sorted(RELEASES.iterdir()):
        yield _output("verify", str(release)).replace(f"{RELEASES}/", "")
        page = folder / f"{release.name}.html"
        _output("report", str(release), "--output", str(page))
        text = re.sub(
            r"<(style|svg|script).*?</\1>", "", page.read_text(encoding="utf-8"), flags=re.S
        )
        yield html.unescape(re.sub(r"</?(?:p|li|h\d|td|th|div|summary)\b.*?>|<.*?>", "\n", text))


def _literals(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.JoinedStr):
        pieces = (getattr(piece, "value", "…") for piece in node.values)
        yield "".join(piece if isinstance(piece, str) else "…" for piece in pieces)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    else:
        for part in ast.iter_child_nodes(node):
            yield from _literals(part)


def _errors() -> Iterator[str]:
    """The literal texts of raised errors; an inserted value is shown as "…"."""
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise):
                yield from _literals(node)


def collect() -> list[str]:
    """All sentences, sorted. Sentences that differ only in numbers are listed once."""
    with tempfile.TemporaryDirectory() as folder:
        texts = [*_helps(app), *_golden_texts(Path(folder)), *_errors()]
    parts = (part.strip() for text in texts for part in _END.split(text))
    first = {re.sub(r"\d[\d,.]*", "0", part): part for part in parts if _SENTENCE.fullmatch(part)}
    return sorted(first.values())


def main() -> None:
    """Print the sentences, or a sample of them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sample", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="S")
    options = parser.parse_args()
    sentences = collect()
    if options.sample is not None:
        sentences = sorted(random.Random(options.seed).sample(sentences, options.sample))
    print(*sentences, sep="\n")  # noqa: T201 (what a script says)


if __name__ == "__main__":
    main()
