"""Write new wordings of sentences into the golden plans: `python -m tests.golden.replan`.

`verify` compares each sentence of plan.json with the sentence that it derives itself. This script
rebuilds the plan of each golden release from its spec and certificate. It writes the sentences of
that plan into plan.json, and the new SHA-256 of plan.json into release.json. All other files stay
as they are. It refuses if anything else of a plan would change, such as a number.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from leastnoise.certificate.plan import PlanCertificate
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan_as_certified
from leastnoise.tables.publish.table_checks import is_close
from tests.golden.make import RELEASES

SENTENCES = frozenset({"notes", "missing", "joined", "published", "counts"})
"""The fields of plan.json that are lists of sentences."""


def replace_sentences(stored: Any, rebuilt: Any, *, path: str = "plan") -> Any:
    """The `stored` plan with the sentences of the `rebuilt` plan.

    Raises ValueError if they differ in anything else. Floats may differ in their last digits, which
    depend on the machine; the stored floats are kept.
    """
    if isinstance(stored, dict) and isinstance(rebuilt, dict):
        if stored.keys() != rebuilt.keys():
            raise ValueError(f"{path} would have other fields: {stored.keys() ^ rebuilt.keys()}")
        return {
            name: rebuilt[name]
            if name in SENTENCES and _are_texts(value) and _are_texts(rebuilt[name])
            else replace_sentences(value, rebuilt[name], path=f"{path}.{name}")
            for name, value in stored.items()
        }
    if isinstance(stored, list) and isinstance(rebuilt, list) and len(stored) == len(rebuilt):
        pairs = enumerate(zip(stored, rebuilt, strict=True))
        return [replace_sentences(*pair, path=f"{path}[{index}]") for index, pair in pairs]
    floats = isinstance(stored, float) and isinstance(rebuilt, float)
    same = is_close(stored, rebuilt) if floats else stored == rebuilt
    if type(stored) is not type(rebuilt) or not same:
        raise ValueError(f"{path} would change from {stored!r} to {rebuilt!r}")
    return stored


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def replan(folder: Path) -> list[tuple[str, str]]:
    """Rewrite the sentences of one release. Return each changed line of plan.json, old and new."""
    spec = spec_file.lay_out(spec_file.parse_toml((folder / "spec.toml").read_text("utf-8")))
    certificate = PlanCertificate.from_json((folder / "certificate.json").read_text("utf-8"))
    old = (folder / "plan.json").read_text("utf-8")
    stored = json.loads(old)
    if json.dumps(stored, indent=2, allow_nan=False) != old:
        raise ValueError(f"{folder.name}/plan.json is not written as a release writes it.")
    plan = replace_sentences(stored, plan_as_certified(spec, certificate).to_record())
    new = json.dumps(plan, indent=2, allow_nan=False)
    if new == old:
        return []
    seal = (folder / "release.json").read_text("utf-8")
    before, after = (hashlib.sha256(text.encode()).hexdigest() for text in (old, new))
    if seal.count(before) != 1:
        raise ValueError(f"{folder.name}/release.json does not have the SHA-256 of plan.json.")
    (folder / "plan.json").write_text(new, "utf-8", newline="\n")
    (folder / "release.json").write_text(seal.replace(before, after), "utf-8", newline="\n")
    return [*_changed(stored, plan)]


def _changed(stored: Any, plan: Any) -> Iterator[tuple[str, str]]:
    """Yield the sentences that were replaced, as the text of their list before and after."""
    if isinstance(stored, dict):
        for name, value in stored.items():
            if value != plan[name] and name in SENTENCES and _are_texts(value):
                yield " ".join(value), " ".join(plan[name])
            else:
                yield from _changed(value, plan[name])
    elif isinstance(stored, list):
        for before, after in zip(stored, plan, strict=True):
            yield from _changed(before, after)


def main() -> None:
    """Rewrite every golden release, and print each change."""
    for folder in sorted(RELEASES.iterdir()):
        for before, after in replan(folder):
            print(f"{folder.name}:\n- {before}\n+ {after}", file=sys.stdout)  # noqa: T201 (a script)


if __name__ == "__main__":
    main()
