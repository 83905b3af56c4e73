"""Cases that got through once, by kind, as `drawn` gives them.

A case that is found goes to DISHONEST first: `test_pinned` then says so until it is mended, and
moves to MENDED, which every run of the quick part tries before anything else.
"""

from __future__ import annotations

from typing import Any

MENDED: dict[str, tuple[Any, ...]] = {
    "arguments": (
        ("interop.to_opendp", {"epsilon": "-0.0"}),
        ("ln.LowerBound", {"epsilon": "9223372036854775808"}),
        ("ln.LowerBound.prove", {"epsilon": "9223372036854775808"}),
        ("ln.LowerBound.at_sensitivity", {"sensitivity": "1e+308"}),
        ("ln.check_ledger", {"path": repr("1" * 2000)}),
    ),
    "edits": (("lower bound", (("witness", "multipliers", 0, 1), "set", 10**400)),),
}

DISHONEST: dict[str, tuple[Any, ...]] = {}
"""Meant to be empty."""
