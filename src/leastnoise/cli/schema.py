"""`leastnoise schema`: the JSON Schema of a spec."""

from __future__ import annotations

import json

from leastnoise.cli import records


def command() -> None:
    """Print the JSON Schema of a release's spec.

    An editor that knows it completes keys, explains them, and marks what can't be right.
    """
    from leastnoise.tables.read.spec_schema import json_schema

    records.say(json.dumps(json_schema(), indent=2, ensure_ascii=False), lines=True)
