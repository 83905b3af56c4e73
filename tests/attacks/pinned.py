"""Cases that got through once, by kind, as `drawn` gives them.

A case that is found goes to DISHONEST first: `test_pinned` then says so until it is mended, and
moves to MENDED, which every run of the quick part tries before anything else.
"""

from __future__ import annotations

from typing import Any

MENDED: dict[str, tuple[Any, ...]] = {}

DISHONEST: dict[str, tuple[Any, ...]] = {}
"""Meant to be empty."""
