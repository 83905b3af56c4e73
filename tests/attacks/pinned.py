"""Cases whose attacks succeeded once, by kind, in the form of `draw_case`.

A new case goes to DISHONEST: `test_pinned` reports it until it is mended. A mended case moves to
MENDED, which every run of the quick part tries first.
"""

from __future__ import annotations

from typing import Any

_ROW = {"person": 1, "plan": 1, "town": "a", "old": True, "x": 1.0, "k": 1}
_TWO_ROWS_OF_ONE = {
    "spec": {
        "version": 1,
        "data": {
            "source": "rows.csv",
            "types": {"person": "int", "plan": "int", "town": "text"}
            | {"old": "bool", "x": "float", "k": "int"},
        },
        "privacy": {"unit": "person", "epsilon": 1, "delta": "1e-6"},
        "query": [{"name": "q", "statistics": ["count"]}],
        "contribution": {"l1": 1, "l2": 1},
    },
    "rows": [],
    "changes": [{"person": 1, "rows": [_ROW, _ROW]}],
}
_SHORT = {
    "seed": 865598413,
    "rows": 3721,
    "features": 3,
    "shape": "narrow",
    "epsilon": "18.4",
    "neighbours": "replace-one",
    "strength": 3.0,
    "rare": -3.0,
}

MENDED: dict[str, tuple[Any, ...]] = {
    "arguments": (
        ("interop.to_opendp", {"epsilon": "-0.0"}),
        ("ln.LowerBound", {"epsilon": "9223372036854775808"}),
        ("ln.LowerBound.prove", {"epsilon": "9223372036854775808"}),
        ("ln.LowerBound.at_sensitivity", {"sensitivity": "1e+308"}),
        ("ln.check_ledger", {"path": repr("1" * 2000)}),
        ("ln.LowerBound", {"value": "inf"}),
        ("ln.Mechanism.release", {"values": "endless list"}),
        ("ln.Account.check_persons", {"neighbours": "array of none"}),
    ),
    # two rows of a person whose limit is 1 were counted as 1 − 2^−22, which is no whole number
    "neighbours": (_TWO_ROWS_OF_ONE,),
    # with max_groups = 5 of 6 cells, noise for all cells at once was no longer among the offers
    "limits": (
        {
            "limits": {"max_rows_per_group": 5},
            "more": {"max_groups": 5},
            "cells": 6,
            "statistics": ["sum(x)"],
            "privacy": {"epsilon": "4", "delta": "1e-6", "neighbours": "add-remove"},
        },
    ),
    "edits": (("lower bound", (("witness", "multipliers", 0, 1), "set", 10**400)),),
    # a model of zeros got through, whose loss was less than what was let pass; in these it doesn't,
    # nor does a quarter of the rounds (tests/learn/test_attack_of_models.py)
    "models": (
        _SHORT,
        _SHORT | {"max_iter": 5},
        _SHORT | {"seed": 542868071, "rows": 1233, "features": 1, "epsilon": "4.65"},
        _SHORT
        | {"seed": 75460948, "rows": 16207, "epsilon": "1.46", "shape": "far from 0", "rare": 0.0},
    ),
}

DISHONEST: dict[str, tuple[Any, ...]] = {}
"""Cases that still succeed; it should be empty."""
