"""Releases with replaced units as neighbours: what they state, what verifies, what is charged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import leastnoise as ln
from leastnoise.errors import CertificateRejected, Refused
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.verify import verify_directory
from tests.tables.layout.test_replace_one import NAMES, QUERIES, hostile_rows, raw_spec
from tests.tables.noise.test_replaced_noise import by_towns


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    rows = hostile_rows(1, 300, most=4)
    rows.to_parquet(folder / "rows.parquet")
    ledger = ln.Ledger(folder / "a.ledger")
    budget = ln.Budget(epsilon=9, delta="1e-3")
    for neighbours in ("replace-one", "add-remove"):
        ledger.open_account(neighbours, unit="person", budget=budget, neighbours=neighbours)
    release(folder, "replace-one").run()
    return folder


def release(folder: Path, dataset: str, path: str = "out", **privacy: Any) -> Release:
    raw = raw_spec(
        {"max_rows": 3},
        [by_towns(2, "count"), QUERIES[NAMES.index("lowered_by")]],
        ledger={"path": "a.ledger", "dataset": dataset},
        delta=0,
        **privacy,
    )
    return Release(**raw, output={"path": path, "format": "csv"}, folder=folder)


@pytest.mark.dense
def test_a_release_names_the_relation_and_verifies(made: Path) -> None:
    verified = verify_directory(made / "out")
    assert verified.spec.privacy.neighbours == "replace-one"
    assert verified.certificate.neighbours == "replace-one"
    assert {draw.neighbours for _, draw in verified.certificate.draws} == {"replace-one"}
    assert json.loads((made / "out" / "plan.json").read_text())["neighbours"] == "replace-one"
    assert ln.Ledger(made / "a.ledger").accounts()["replace-one"].charges == 1


@pytest.mark.dense
def test_an_account_of_the_other_relation_refuses_it(made: Path) -> None:
    with pytest.raises(Refused, match="neighbours"):
        release(made, "add-remove", "other").run()
    ledger, certificate = ln.Ledger(made / "a.ledger"), verify_directory(made / "out").certificate
    with pytest.raises(Refused, match="replace-one neighbours"):  # also where it isn't said so
        ledger.charge(certificate, unit="person", dataset="add-remove")
    assert ledger.accounts()["add-remove"].charges == 0


ONE_COUNT = [{"name": "all", "statistics": ["count"]}]


@pytest.mark.grid
@pytest.mark.parametrize("stated", ["add-remove", "replace-one"])
@pytest.mark.parametrize("query", [ONE_COUNT, [by_towns(3, "count")]], ids=["alike", "unlike"])
def test_an_edited_relation_does_not_verify(
    tmp_path: Path, stated: str, query: list[dict[str, Any]]
) -> None:
    """The edit is in the spec, the plan or the certificate, also where sensitivities agree."""
    hostile_rows(1, 20, most=4).to_parquet(tmp_path / "rows.parquet")
    raw = raw_spec({"max_rows": 3}, query, neighbours=stated, delta=0)
    Release(**raw, output={"path": "out", "format": "csv"}, folder=tmp_path).run()
    verify_directory(tmp_path / "out")
    other = {"add-remove": "replace-one", "replace-one": "add-remove"}[stated]
    for name in ("spec.toml", "plan.json", "certificate.json"):
        file = tmp_path / "out" / name
        text = file.read_text()
        assert f'"{stated}"' in text
        file.write_text(text.replace(f'"{stated}"', f'"{other}"'))
        with pytest.raises(CertificateRejected):
            verify_directory(tmp_path / "out")
        file.write_text(text)


@pytest.mark.dense
def test_a_certificate_without_its_relation_does_not_verify_a_spec_with_one(made: Path) -> None:
    file = made / "out" / "certificate.json"
    text = file.read_text()
    record = json.loads(text)
    for draw in record["draws"]:
        assert draw["certificate"].pop("neighbours", None) == "replace-one"
    file.write_text(json.dumps(record))
    with pytest.raises(CertificateRejected, match="replace-one neighbours"):
        verify_directory(made / "out")
    file.write_text(text)
