"""Phrases and names that readers stumble over: `python -m tests.dialect [FILE or FOLDER …]`.

A docstring or a text for users names its nouns: it never says "that of" or "return what …". A local
variable is a noun of the field, a function a verb. `make lint` runs it over the whole package.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent

_FIRST_WORDS = re.compile(
    r"(?:Returns? |Yields? |Says? )?(?:what|which|whether|how|that of|those of|the one)\b"
    r"|Of (?:a|an|the|each|all|every|one)\b"
    r"|\w+(?:ed|en|nd|ft|ne) (?:is|are)\b(?! (?:the|an?)\b)",
    re.IGNORECASE,
)
_ANYWHERE = re.compile(
    r"\bthat of\b|\bthose of\b|\bso many\b|\bso much\b|\bis there\b|\bare there\b"
    r"|\bthe one (?:that|of)\b|\bmade of\b|\b(?:is|are|has|have) none\b"
    r"|\bwhat (?:is|are|was|it|they|each|all|one|has|its)\b"
    r"|\bone each\b|\bin one's place\b|\bof what\b|\bto what\b|\bby what\b|\bfrom what\b"
)
NAMES = frozenset(
    {
        "found",
        "one",
        "own",
        "told",
        "said",
        "way",
        "place",
        "made",
        "laid",
        "held",
        "served",
        "finding",
    }
)
PARTICIPLES = frozenset(
    {
        "settled",
        "apart",
        "alone",
        "each",
        "told",
        "said",
        "made",
        "laid",
        "held",
        "served",
        "found",
        "kept",
        "asked",
        "given",
        "taken",
        "left",
        "put",
        "together",
        "aside",
        "already",
        "again",
        "merged",
        "joined",
        "shared",
        "checked",
        "proved",
        "tried",
        "chosen",
        "drawn",
        "named",
    }
)


EXCEPTIONS = (
    (
        "certificate/certificate.py",
        "text: is there",
        "certificates state this text, letter by letter",
    ),
    ("audit/", "local finding", "a `Finding` is what the audit calls the result of a detector"),
    ("noise/question.py", "function named", "`Loss.named(name)` reads as what it does"),
    ("sums/compared.py", "local own", "a key of plan.json, as are the other fields there"),
    ("tables/spec/column.py", "local found", "a key of the spec, in the specs of all releases"),
    ("tables/spec/contribution.py", "local found", "a key of the spec, as in column.py"),
)
"""Accepted complaints: a part of a file's path, the complaint, and the reason."""


def complaints_about_text(text: str) -> list[str]:
    """The phrases of the dialect that a docstring or a message contains."""
    prose = re.sub(r"``?[^`]*``?|\$[^$]*\$", "Code", " ".join(text.split()))
    start = None if text[:1].islower() or text[:1] == " " else _FIRST_WORDS.match(prose)
    phrases = [start.group()] if start else []
    return phrases + [match.group() for match in _ANYWHERE.finditer(prose)]


def _docstrings(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node, clean=True)
            if text is not None:
                yield getattr(node, "lineno", 1), text


def _messages(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each string that may be a message.

    A message is an f-string, or a string of at least four words that is no docstring.
    """
    docstrings = {
        id(node.body[0].value)
        for node in nodes
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    parts_of_f_strings = {
        id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values
    }
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            parts = [
                part.value if isinstance(part, ast.Constant) else "Code" for part in node.values
            ]
            yield node.lineno, "".join(map(str, parts))
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docstrings
            and id(node) not in parts_of_f_strings
            and node.value.count(" ") > 2
        ):
            yield node.lineno, node.value


def _names(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            if node.id.strip("_") in NAMES:
                yield node.lineno, f"local {node.id}"
        elif isinstance(node, ast.arg) and node.arg.strip("_") in NAMES:
            yield node.lineno, f"argument {node.arg}"
        elif (
            isinstance(node, ast.FunctionDef)
            and node.name.strip("_") in PARTICIPLES
            and not any("property" in ast.unparse(mark) for mark in node.decorator_list)
        ):  # a property is a value, such as `proved`
            yield node.lineno, f"function {node.name}"


def complaints(file: Path) -> list[str]:
    """One line of text for each phrase and each name of the dialect in a Python file."""
    nodes = tuple(ast.walk(ast.parse(file.read_text())))
    lines = [
        (line, f"docstring: {phrase}")
        for line, text in _docstrings(nodes)
        for phrase in complaints_about_text(text)
    ]
    lines += [
        (line, f"text: {phrase}")
        for line, text in _messages(nodes)
        for phrase in complaints_about_text(text)
    ]
    lines += _names(nodes)
    where = (file.relative_to(ROOT) if file.is_relative_to(ROOT) else file).as_posix()
    return [
        f"{where}:{line}: {text}"
        for line, text in sorted(lines)
        if not any(part in where and text == complaint for part, complaint, _ in EXCEPTIONS)
    ]


def main() -> int:
    """Print each complaint; return 1 if there is any."""
    roots = [Path(name).resolve() for name in sys.argv[1:]] or [ROOT / "src"]
    files = [
        file for root in roots for file in ([root] if root.suffix else sorted(root.rglob("*.py")))
    ]
    lines = [line for file in files for line in complaints(file)]
    print(*lines, sep="\n")  # noqa: T201 (what a script says)
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
