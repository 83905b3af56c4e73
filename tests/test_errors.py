"""What error messages show."""

from __future__ import annotations

import pytest

from leastnoise.errors import SpecError


@pytest.mark.parametrize(("length", "shown"), [(300, "k" * 300), (301, "k" * 300 + "…")])
def test_a_key_of_a_spec_is_shown_whole_up_to_300_letters(length: int, shown: str) -> None:
    assert f" {shown}: wrong" in str(SpecError([("k" * length, "wrong")]))
