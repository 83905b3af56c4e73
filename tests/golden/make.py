"""Write what isn't in tests/golden yet: `python -m tests.golden.make`.

Existing files stay as they are. To write a file again, or a line of statements.jsonl, remove it. If
only a sentence of plan.json has a new wording, run `python -m tests.golden.replan` instead.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import leastnoise as ln
from tests.golden.records import RECORDS

HERE = Path(__file__).parent
STATEMENTS = HERE / "statements.jsonl"
SPECS = HERE / "specs"
RELEASES = HERE / "releases"
LEDGER = HERE / "budget.ledger"
ROWS = """\
person,region,member,income,visits,age
1,n,true,1200,3,41
1,n,true,,0,41
2,s,false,-300.5,31,
3,é,true,99999,,17.5
3,other,,nan,7,17.5
,n,true,1,1,1
"""


def statements() -> dict[str, str]:
    """The stored text of each statement, by name."""
    if not STATEMENTS.exists():
        return {}
    lines = map(json.loads, STATEMENTS.read_text(encoding="ascii").splitlines())
    return {line["name"]: json.dumps(line["record"]) for line in lines}


def main() -> None:
    known = statements()
    with STATEMENTS.open("a", encoding="ascii") as file:
        for name, make in RECORDS.items():
            if name not in known:
                record = json.loads(make().to_json())
                file.write(json.dumps({"name": name, "record": record}) + "\n")
    for spec in sorted(SPECS.glob("*.toml")):
        if not (RELEASES / spec.stem).exists():
            _release(spec)


def _release(spec: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(spec, folder / "spec.toml")
        (folder / "rows.csv").write_text(ROWS, encoding="utf-8")
        ledger = ln.Ledger(folder / "budget.ledger")
        budget = ln.Budget(epsilon=9, delta="1e-5")
        ledger.open_account("people", unit="person", budget=budget, rule="sums")
        release = ln.Release.from_toml(folder / "spec.toml")
        release.run()
        shutil.copytree(folder / "out", RELEASES / spec.stem)
        if release.spec.privacy.ledger is not None:
            shutil.copy(folder / "budget.ledger", LEDGER)


if __name__ == "__main__":
    main()
