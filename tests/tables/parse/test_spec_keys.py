"""The reference page describes the keys of a spec as the schema does."""

from __future__ import annotations

import pytest

from benchmarks import spec_keys

TEXT = spec_keys.PAGE.read_text(encoding="utf-8")


def test_the_page_is_written_from_the_schema() -> None:
    assert spec_keys.page(TEXT) == TEXT, "run python -m benchmarks.spec_keys"


@pytest.mark.parametrize(("topic"), sorted(set(spec_keys.TOPICS.values())))
def test_every_topic_is_a_section_of_the_page(topic: str) -> None:
    headings = [line.lstrip("# ") for line in TEXT.splitlines() if line.startswith("##")]
    anchors = {heading.lower().replace(",", "").replace(" ", "-") for heading in headings}
    assert topic in anchors


def test_a_page_without_a_mark_is_refused() -> None:
    with pytest.raises(ValueError, match="one table of series"):
        spec_keys.page(TEXT.replace("<!-- keys of series -->", ""))
