"""The linter of sentences finds those that a reader of a page would find."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import readability

PAGE = """# A heading that has no full stop

One `span of code` is a word. It [links to a page](a.md), e.g. here! See
leastnoise below 0. Where it is 1.5, $a + b$ ends.

| a table | has none |

- An item without a stop
- Another (of **five words**).

```toml
text = "No sentence. At all."
```
"""


def test_what_a_sentence_is() -> None:
    result = readability.sentences(PAGE)
    assert [readability.words(item) for item in result] == [5, 7, 4, 6, 5, 4]
    assert result[1] == "It links to a page, e.g here!"


def test_a_long_sentence_is_named_with_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs" / "howto").mkdir(parents=True)
    for name in (*readability.PAGES[:-1], "docs/howto/one.md"):
        (tmp_path / name).write_text("Short. " * 40)
    monkeypatch.setattr(readability, "ROOT", tmp_path)
    assert readability.main() == 0
    (tmp_path / "docs" / "howto" / "one.md").write_text("word " * 26)
    assert readability.main() == 1
    assert "docs/howto/one.md: 26 words, at most 25" in capsys.readouterr().err
    (tmp_path / "docs" / "howto" / "one.md").write_text(f"{'word ' * 24}. " * 1000)
    assert readability.main() == 1
    assert "a clause on average, at most 16" in capsys.readouterr().err
