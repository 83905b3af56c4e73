"""Seals of releases: the files, the charge and the signature at the time of publication."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import leastnoise as ln
from leastnoise.errors import CertificateRejected, InvalidArgument, InvalidInput, LedgerRejected
from tests.tables.resealed import verify_resealed
from tests.tables.test_release import make_rows, release

# of a row and without delta, for which noise is soon found
PURE: dict[str, Any] = {"privacy": {"unit": "row", "epsilon": 1}, "contribution": None}


def openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A signed release with a ledger, its pair of keys, and another pair."""
    folder = make_rows(tmp_path_factory.mktemp("sealed"))
    for name in ("own", "other"):
        openssl("genpkey", "-algorithm", "ed25519", "-out", str(folder / f"{name}.pem"))
        openssl(
            "pkey",
            "-in",
            str(folder / f"{name}.pem"),
            "-pubout",
            "-out",
            str(folder / f"{name}.pub"),
        )
    ledger = ln.Ledger(folder / "a.ledger")
    ledger.open_account("rows", unit="row", budget=ln.Budget(epsilon=5))
    privacy = PURE["privacy"] | {"ledger": {"path": "a.ledger"}}
    release(folder, **PURE | {"privacy": privacy}).run(sign=folder / "own.pem")
    return folder


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    return shutil.copytree(original, tmp_path / "made")


@pytest.mark.dense
def test_a_release_is_in_its_ledger_and_signed(folder: Path) -> None:
    plain = ln.verify_directory(folder / "out")
    assert (plain.entry, plain.account, plain.signed) == (2, None, None)
    verified = ln.verify_directory(
        folder / "out", ledger=folder / "a.ledger", key=folder / "own.pub"
    )
    assert (verified.entry, verified.signed) == (2, True)
    assert verified.account is not None
    assert verified.account.dataset == "rows"


@pytest.mark.dense
def test_what_was_changed_since_is_rejected(folder: Path) -> None:
    for name in ("spec.toml", "plan.json", "certificate.json"):
        file = folder / "out" / name
        text = file.read_text()
        file.write_text(text + "\n")  # which changes nothing else that is checked
        with pytest.raises(CertificateRejected, match=f"{name} was changed after") as caught:
            ln.verify_directory(folder / "out")
        assert "SHA-256" in str(caught.value)
        file.write_text(text)
    ln.verify_directory(folder / "out")


@pytest.mark.dense
def test_a_value_that_was_edited_is_rejected(folder: Path) -> None:
    file = folder / "out" / "by_plan.csv"
    head, first, *rest = file.read_text().splitlines(keepends=True)
    fields = first.split(",")
    for index in (1, 3, 4):  # the count, and its interval with it
        fields[index] = str(float(fields[index]) + 999)
    file.write_text("".join([head, ",".join(fields), *rest]))
    with pytest.raises(CertificateRejected, match=r"by_plan.csv was changed after"):
        ln.verify_directory(folder / "out")
    verify_resealed(folder / "out")  # nobody can see it where its sum was written anew, ...
    with pytest.raises(CertificateRejected, match="made with another key"):
        ln.verify_directory(folder / "out", key=folder / "own.pub")  # ... but by a signature


@pytest.mark.dense
def test_another_ledger_and_another_key_are_rejected(folder: Path) -> None:
    with pytest.raises(CertificateRejected, match="made with another key"):
        ln.verify_directory(folder / "out", key=folder / "other.pub")
    empty = ln.Ledger(folder / "b.ledger")
    empty.open_account("rows", unit="row", budget=ln.Budget(epsilon=5))
    with pytest.raises(LedgerRejected, match=r"Entry 2 of .* is not the charge of this release"):
        ln.verify_directory(folder / "out", ledger=folder / "b.ledger")
    empty.charge(ln.calibrate("laplace", epsilon=1, sensitivity=ln.L1(1)).certificate, unit="row")
    with pytest.raises(LedgerRejected, match="not the charge of this release"):
        ln.verify_directory(folder / "out", ledger=folder / "b.ledger")
    (folder / "out" / "release.sig").unlink()
    with pytest.raises(CertificateRejected, match="isn't signed"):
        ln.verify_directory(folder / "out", key=folder / "own.pub")
    (folder / "out" / "release.json").unlink()
    with pytest.raises(CertificateRejected, match=r"release.json is missing"):
        ln.verify_directory(folder / "out")


@pytest.mark.dense
def test_an_account_for_others_was_not_charged_for_it(folder: Path) -> None:
    certificate = ln.PlanCertificate.from_json((folder / "out" / "certificate.json").read_text())
    for name, unit in (("rows", "person"), ("others", "row")):
        ledger = ln.Ledger(folder / f"{name}.ledger")
        ledger.open_account(name, unit=unit, budget=ln.Budget(epsilon=5))
        ledger.charge(certificate, unit=unit)
    with pytest.raises(CertificateRejected, match=r"Entry 2 of .*"):
        ln.verify_directory(folder / "out", ledger=folder / "rows.ledger")
    verified = ln.verify_directory(folder / "out", ledger=folder / "others.ledger")
    assert (
        verified.account is not None
    )  # the spec names no account, and none can be told from another
    spec = folder / "out" / "spec.toml"
    named = 'path = "a.ledger"\ndataset = "rows"'
    spec.write_text(spec.read_text().replace('path = "a.ledger"', named))
    with pytest.raises(CertificateRejected, match="to the account 'others'"):
        verify_directory_resealed(folder, "others.ledger")


def verify_directory_resealed(folder: Path, ledger: str) -> None:
    verify_resealed(folder / "out")
    ln.verify_directory(folder / "out", ledger=folder / ledger)


@pytest.mark.dense
def test_a_release_of_a_plan_is_one_of_its_uses(tmp_path: Path) -> None:
    builder = release(make_rows(tmp_path), **PURE)
    ledger = ln.Ledger(tmp_path / "a.ledger")
    ledger.open_account("rows", unit="row", budget=ln.Budget(epsilon=5))
    plan = ledger.register(
        [(builder.plan().certificate, 2)], budget=ln.Budget(epsilon=2), unit="row"
    ).number
    privacy = PURE["privacy"] | {"ledger": {"path": "a.ledger", "plan": plan}}
    release(tmp_path, **PURE | {"privacy": privacy}).run()
    verified = ln.verify_directory(tmp_path / "out", ledger=tmp_path / "a.ledger")
    assert verified.entry == 3
    assert verified.account is not None
    assert verified.account.dataset == "rows"


@pytest.mark.dense
def test_a_release_without_a_ledger_says_so(tmp_path: Path) -> None:
    release(make_rows(tmp_path), **PURE).run()
    assert ln.verify_directory(tmp_path / "out").signed is False
    ledger = ln.Ledger(tmp_path / "a.ledger")
    ledger.open_account("rows", unit="row", budget=ln.Budget(epsilon=5))
    with pytest.raises(CertificateRejected, match="charged to no ledger"):
        ln.verify_directory(tmp_path / "out", ledger=tmp_path / "a.ledger")
    record = tmp_path / "out" / "release.json"
    record.write_text(record.read_text().replace('"entry": null', '"entry": 7'))
    with pytest.raises(CertificateRejected, match="and the spec names a ledger"):
        ln.verify_directory(tmp_path / "out")


def test_a_release_that_was_charged_says_its_entry(folder: Path) -> None:
    record = folder / "out" / "release.json"
    record.write_text(record.read_text().replace('"entry": 2', '"entry": null'))
    with pytest.raises(CertificateRejected, match="and the spec names a ledger"):
        ln.verify_directory(folder / "out")


@pytest.mark.grid
@pytest.mark.parametrize("what", ["none", "folder", "text", "public", "rsa", "password"])
def test_keys_that_are_none_are_refused_before_anything_is_charged(folder: Path, what: str) -> None:
    key = folder / "key.pem"
    if what == "folder":
        key.mkdir()
    elif what == "text":
        key.write_text("secret")
    elif what == "public":
        shutil.copy(folder / "own.pub", key)
    elif what == "rsa":
        openssl("genpkey", "-algorithm", "RSA", "-out", str(key))
    elif what == "password":
        openssl(
            "genpkey", "-algorithm", "ed25519", "-aes256", "-pass", "pass:secret", "-out", str(key)
        )
    before = ln.Ledger(folder / "a.ledger").accounts()["rows"].charges
    privacy = PURE["privacy"] | {"ledger": {"path": "a.ledger"}}
    again = release(folder, **PURE | {"privacy": privacy, "output": {"path": "new"}})
    with pytest.raises(InvalidInput, match=r"key.pem") as caught:
        again.run(sign=key)
    assert "secret" not in str(caught.value)
    assert ln.Ledger(folder / "a.ledger").accounts()["rows"].charges == before
    assert not (folder / "new").exists()
    with pytest.raises(InvalidInput):
        ln.verify_directory(folder / "out", key=folder / "own.pem")


def test_what_is_not_written_is_not_signed(folder: Path) -> None:
    with pytest.raises(InvalidArgument, match="output"):
        release(folder, **PURE, output=None).run(sign=folder / "own.pem")


@pytest.mark.parametrize(
    ("old", "new"),
    [('"kind"', '"fine"'), ("release-record", "other"), ('"version": 1', '"version": true'),
     ('"entry": 2', '"entry": 0'), ('"entry": 2', '"entry": true'), ('"entry": 2', '"entry": "2"'),
     ('"spec.toml"', '"../spec.toml"'), ("{", "[")],
)  # fmt: skip
def test_records_that_make_no_sense_are_rejected(folder: Path, old: str, new: str) -> None:
    file = folder / "out" / "release.json"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    with pytest.raises(CertificateRejected, match=r"release\.json"):
        ln.verify_directory(folder / "out")
