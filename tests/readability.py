"""Find sentences that are too long on the pages for newcomers: `python -m tests.readability`.

A sentence has at most 25 words; it ends with a full stop, a question mark or its paragraph. A
clause has at most 16 words on average; it also ends with a colon or a semicolon, as Flesch counts
(A new readability yardstick, 1948). Code, headings, tables and pictures have no sentences; a span
of code or a formula is one word. `make lint` runs it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = (
    "README.md",
    "docs/index.md",
    "docs/tutorial.md",
    "docs/tables.md",
    "docs/tables-reference.md",
    "docs/your-query.md",
    "docs/guarantees.md",
    "docs/howto",
)
MOST, MOST_ON_AVERAGE = 25, 16  # words

_NO_PROSE = re.compile(r"```.*?```|^(?:#|\s*!\[|\s*\|).*?$", re.DOTALL | re.MULTILINE)
_ITEM = re.compile(r"^\s*(?:[-*]|[1-9]\d*\.) ", re.MULTILINE)
_CODE = re.compile(r"`[^`]*`|\$[^$]*\$")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_END = re.compile(r"(?<=[.!?])[\"')*]*\s+")
_CLAUSE = re.compile(r"[:;]\s+")
_SHORT = re.compile(r"\b(e\.g|i\.e|etc|vs)\. ")


def sentences(page: str) -> list[str]:
    """The sentences of a page of Markdown."""
    prose = _ITEM.sub("\n\n", _NO_PROSE.sub("\n\n", page)).replace(" · ", "\n\n")
    prose = _LINK.sub(r"\1", _CODE.sub("Code", prose))
    results: list[str] = []
    for paragraph in re.split(r"\n\s*\n", prose):
        text = _SHORT.sub(r"\1 ", " ".join(paragraph.split()))
        results += [part for part in _END.split(text) if words(part)]
    return results


def words(sentence: str) -> int:
    """The number of words in a sentence; a sign between blanks is no word."""
    return sum(bool(re.search(r"\w", part)) for part in sentence.split())


def pages() -> list[Path]:
    """The pages that newcomers read."""
    results = [ROOT / name for name in PAGES]
    return [
        page
        for folder in results
        for page in ([folder] if folder.suffix else sorted(folder.glob("*.md")))
    ]


def main() -> int:
    """Print each sentence that is too long; return 1 if there is any, or if clauses are."""
    clauses: list[int] = []
    complaints: list[str] = []
    for page in pages():
        where = page.relative_to(ROOT).as_posix()
        for sentence in sentences(page.read_text()):
            clauses += filter(None, map(words, _CLAUSE.split(sentence)))
            if words(sentence) > MOST:
                complaints.append(f"{where}: {words(sentence)} words, at most {MOST}: {sentence}")
    mean = sum(clauses) / len(clauses)
    if mean > MOST_ON_AVERAGE:
        complaints.append(f"{mean:.1f} words a clause on average, at most {MOST_ON_AVERAGE}")
    print(*complaints, sep="\n", file=sys.stderr)  # noqa: T201 (what a script says)
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
