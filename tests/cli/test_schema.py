"""The command that prints the JSON Schema of a spec; its content is tested in tests/tables."""

from __future__ import annotations

import json

from leastnoise.tables.parse.spec_text import json_schema
from tests.cli.program import run


def test_the_schema_is_printed() -> None:
    done = run("schema")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == json_schema()
