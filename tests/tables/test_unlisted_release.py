"""Releases of groups that nobody listed: they verify, and no file tells of other groups."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from leastnoise.errors import CertificateRejected, LeastnoiseError, SpecError
from leastnoise.guarantees.budget import Budget
from leastnoise.ledger.ledger import Ledger
from leastnoise.report.page import report
from leastnoise.tables.parse.spec_file import loads
from leastnoise.tables.publish.builder import release
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.verify import verify_directory
from tests.tables.resealed import verify_resealed
from tests.tables.unlisted import spec_of


def write_rows(folder: Path, sizes: dict[str, int]) -> None:
    codes = [code for code, size in sizes.items() for _ in range(size)]
    frame = pd.DataFrame({"person": range(len(codes)), "code": codes, "x": 2.0, "sex": 1})
    frame.sample(frac=1, random_state=1).to_parquet(folder / "rows.parquet")


SIZES = {"a": 300, "\u00e9": 200, "z,\"q'": 250, "=1+1": 180, "10": 150, "9": 150, "tiny": 1}


@pytest.mark.dense
@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_a_release_verifies_and_tells_nothing_of_small_groups(tmp_path: Path, kind: str) -> None:
    """Attack: many small groups more, and nothing but the drawn numbers is another."""
    raw = spec_of(
        statistics=["count", "mean(x)"],
        part={"round": True, "clamp": True},
        output={"path": "out", "format": kind},
    )
    listings: list[dict[str, Any]] = []
    for more in (0, 400):
        folder = tmp_path / str(more)
        folder.mkdir()
        write_rows(folder, SIZES | {f"s{number}": 1 for number in range(more)})
        stages: list[str] = []
        released = Release(**raw, folder=folder).run(progress=stages.append)
        verified = verify_directory(folder / "out")
        assert verified.rows == {"groups": 6}
        keys = released.tables["groups"].columns["code"]
        assert keys == sorted(set(SIZES) - {"tiny"}, key=str.encode)
        if kind == "csv":
            written = (folder / "out" / "groups.csv").read_text(encoding="utf-8")
            assert "\n'=1+1," in written
            assert "\n=1+1" not in written
        texts = {
            file.name: file.read_bytes()
            for file in (folder / "out").iterdir()
            if file.name not in {f"groups.{kind}", "release.json"}
        }
        listings.append({"stages": stages, "texts": texts, "repr": repr(released)})
    assert listings[0] == listings[1]


@pytest.mark.dense
@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_keys_alone_tell_nothing_of_small_groups(tmp_path: Path, kind: str) -> None:
    """Attack: 400 small groups more, and not a byte but the seal's is another."""
    raw = spec_of(
        statistics=[], output={"path": "out", "format": kind}, contribution={"max_groups": 2}
    )
    listings: list[dict[str, Any]] = []
    for more in (0, 400):
        folder = tmp_path / str(more)
        folder.mkdir()
        write_rows(folder, SIZES | {f"s{number}": 1 for number in range(more)})
        stages: list[str] = []
        released = Release(**raw, folder=folder).run(progress=stages.append)
        assert verify_directory(folder / "out").rows == {"groups": 6}
        assert released.tables["groups"].columns == {
            "code": sorted(set(SIZES) - {"tiny"}, key=str.encode)
        }
        texts = {file.name: file.read_bytes() for file in (folder / "out").iterdir()}
        listings.append({"stages": stages, "texts": texts, "repr": repr(released)})
    assert listings[0] == listings[1]


@pytest.mark.dense
@pytest.mark.parametrize(
    "edit",
    [
        ("groups.csv", "\n9\n", "\n10\n", "aren't distinct"),
        ("groups.csv", "code\n", "code,count\n", "unreadable"),
        ("certificate.json", '"groups": 2', '"groups": 1', "number of groups"),
        ("certificate.json", '"bits": 9', '"bits": 0', "Not proved"),
        (
            "certificate.json",
            '"chances": [',
            '"chances": [4503599627370496,',
            "differs from the plan",
        ),
        ("certificate.json", '"add-remove"', '"replace-one"', "add-remove neighbours"),
        ("spec.toml", "max_groups = 2", "max_groups = 1", "number of groups"),
        ("spec.toml", "statistics = []", 'statistics = ["count"]', "noise with a threshold"),
        ("plan.json", '"half": ', '"half": 1', "differs from the plan that follows"),
    ],
)
def test_changed_keys_are_rejected(tmp_path: Path, edit: tuple[str, str, str, str]) -> None:
    name, old, new, says = edit
    # without the tiny group, which this delta would publish once in 10^5 runs
    write_rows(tmp_path, {code: size for code, size in SIZES.items() if code != "tiny"})
    limits = {"max_groups": 2, "max_rows_per_group": 1}
    raw = spec_of(statistics=[], contribution=limits, privacy={"delta": "1e-5"})
    Release(**raw, folder=tmp_path).run()
    assert verify_resealed(tmp_path / "out").rows == {"groups": 6}
    file = tmp_path / "out" / name
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(CertificateRejected) as caught:
        verify_resealed(tmp_path / "out")
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "part",
    [
        {"top": 3},
        {"min_count": 5},
        {"round": True},
        {"clamp": True},
        {"clipping": "0.1"},
        {"prefer": "groups"},
    ],
)
def test_keys_alone_have_no_numbers(part: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=f"{next(iter(part))}.* Not used where keys are published"):
        Release(**spec_of(statistics=[], part=part))
    with pytest.raises(SpecError, match="an error decides, and keys have no error"):
        Release(**spec_of(statistics=[], privacy={"epsilon": "least"}))
    with pytest.raises(SpecError, match="Expected statistics"):
        Release(**spec_of(statistics=[], by={"sex": [1, 2]}))


def test_a_preference_is_kept_and_verified(tmp_path: Path) -> None:
    write_rows(tmp_path, SIZES)
    limits = {"max_groups": 3, "max_rows_per_group": 1}
    raw = spec_of(contribution=limits, part={"prefer": "accuracy"})
    built = release(
        tmp_path / "rows.parquet",
        unit="person",
        epsilon=1,
        delta="1e-5",
        max_groups=3,
        max_rows_per_group=1,
    ).query(**raw["query"][0])
    assert built.spec.query == Release(**raw, folder=tmp_path).spec.query
    Release(**raw, folder=tmp_path).run()
    out = tmp_path / "out"
    assert verify_resealed(out).rows
    assert "small errors rather than for small groups" in report(out)
    for name, old, new in (
        ("spec.toml", 'prefer = "accuracy"\n', ""),
        ("spec.toml", 'prefer = "accuracy"', 'prefer = "groups"'),
        ("plan.json", '"prefer": "accuracy"', '"prefer": "groups"'),
    ):
        file = out / name
        text = file.read_text(encoding="utf-8")
        assert text.count(old) == 1
        file.write_text(text.replace(old, new), encoding="utf-8")
        with pytest.raises(CertificateRejected, match=r"plan\.json"):
            verify_resealed(out)
        file.write_text(text, encoding="utf-8")


@pytest.mark.dense
def test_keys_alone_are_asked_for_by_name(tmp_path: Path) -> None:
    write_rows(tmp_path, SIZES)
    raw = spec_of(statistics=[])
    del raw["query"][0]["statistics"]
    with pytest.raises(SpecError, match=r"count.*; or \[\], for the keys alone"):
        Release(**raw)
    raw = spec_of(statistics=[])
    grouped = raw["query"][0]["group_by"]
    raw["query"][0] = {"name": "groups", "sql": "select code from data group by code"}
    raw["query"][0]["group_by"] = grouped
    privacy = {name: raw["privacy"][name] for name in ("unit", "epsilon", "delta")}
    built = release(tmp_path / "rows.parquet", **privacy, max_groups=1).groups(
        by="code", keys=grouped
    )
    assert (
        built.build().spec.query[0].group_by
        == Release(**raw, folder=tmp_path).spec.query[0].group_by
    )
    for item in (Release(**raw, folder=tmp_path), built.build()):
        assert "statistics = []" in item.to_toml()
        assert loads(item.to_toml()) == item.spec
        assert item.plan().keys
    counted = built.count_units(by="code")
    assert counted.spec.query[0].statistics == ("count_units",)
    assert not counted.plan().keys
    with pytest.raises(SpecError, match="Expected statistics, a histogram or conditions"):
        release(tmp_path / "rows.parquet", **privacy, max_groups=1).groups(
            by="code", keys={"code": ["a"]}
        )


@pytest.mark.dense
def test_keys_alone_beside_others_in_a_series_with_a_ledger(tmp_path: Path) -> None:
    write_rows(tmp_path, SIZES)
    ledger = Ledger(tmp_path / "l.ledger")
    ledger.open_account("d", unit="person", budget=Budget(epsilon=5, delta="1e-3"))
    raw = spec_of(statistics=[], contribution={"max_groups": 2}, series={"releases": 2})
    raw["query"].append({"name": "all", "statistics": ["count_units"]})
    raw["privacy"]["ledger"] = {"path": "l.ledger"}
    release = Release(**raw, folder=tmp_path)
    (part,) = release.plan().keys
    assert (part.budget.epsilon, part.claim.budget.epsilon) == (Fraction(1, 2), Fraction(1, 4))
    for _ in range(2):
        released = release.run()
        assert released.path is not None
        report = verify_directory(released.path, ledger=tmp_path / "l.ledger")
        assert report.account is not None
        assert report.account.spent.epsilon == 1


@pytest.mark.dense
def test_no_group_at_all(tmp_path: Path) -> None:
    asked = itertools.product(("csv", "json", "parquet"), (["count"], []))
    for number, (kind, statistics) in enumerate(asked):
        write_rows(tmp_path, {"tiny": 1, "small": 2})
        path = f"{kind}{number}"
        raw = spec_of(statistics=statistics, output={"path": path, "format": kind})
        assert len(Release(**raw, folder=tmp_path).run().tables["groups"]) == 0
        assert verify_directory(tmp_path / path).rows == {"groups": 0}


@pytest.mark.dense
@pytest.mark.parametrize(
    "edit",
    [
        ("groups.csv", "\n9,", "\n10,", "aren't distinct"),
        ("groups.csv", "\n9,", "\n0,", "not in order"),
        ("groups.csv", "\n9,", "\n999999999,", "not a key"),
        ("groups.csv", "\n9,", "\n9\x07,", "not a key"),
        ("certificate.json", '"threshold": "20"', '"threshold": "19"', ""),
        ("certificate.json", '"coordinate": 0', '"coordinate": 1', ""),
        ("certificate.json", '"compositions": 2', '"compositions": 1', "number of groups"),
        ("certificate.json", '"neighbours": "add-remove"', '"neighbours": "replace-one"', ""),
        ("spec.toml", "max_groups = 2", "max_groups = 1", "number of groups"),
        ("spec.toml", 'keys = "private"', "edges = [0, 1]", ""),
        ("plan.json", '"half": ', '"half": 1', "differs from the plan that follows"),
    ],
)
def test_a_changed_release_is_rejected(tmp_path: Path, edit: tuple[str, str, str, str]) -> None:
    name, old, new, says = edit
    write_rows(tmp_path, SIZES)
    Release(**spec_of(), folder=tmp_path).run()
    assert verify_resealed(tmp_path / "out").rows == {"groups": 6}
    file = tmp_path / "out" / name
    text = file.read_text(encoding="utf-8")
    if "threshold" in old:
        claim = json.loads(text)["draws"][0]["certificate"]["threshold"]
        old = f'"threshold": "{claim}"'
        new = f'"threshold": "{int(claim) - 1}"'
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(CertificateRejected) as caught:
        verify_resealed(tmp_path / "out")
    assert says in str(caught.value)


def test_a_count_below_the_threshold_is_rejected(tmp_path: Path) -> None:
    write_rows(tmp_path, SIZES)
    Release(**spec_of(output={"path": "out", "format": "json"}), folder=tmp_path).run()
    file = tmp_path / "out" / "groups.json"
    records = json.loads(file.read_text(encoding="utf-8"))
    low = records[0]
    less = low["count"] - 3
    for name in ("count", "count_low", "count_high"):
        low[name] -= less
    file.write_text(json.dumps(records), encoding="utf-8")
    with pytest.raises(CertificateRejected, match="below the threshold"):
        verify_resealed(tmp_path / "out")


def test_charged_to_a_ledger(tmp_path: Path) -> None:
    write_rows(tmp_path, SIZES)
    ledger = Ledger(tmp_path / "l.ledger")
    ledger.open_account("d", unit="person", budget=Budget(epsilon=5, delta="1e-3"))
    raw = spec_of()
    raw["privacy"]["ledger"] = {"path": "l.ledger"}
    released = Release(**raw, folder=tmp_path).run()
    assert released.entry is not None
    report = verify_directory(tmp_path / "out", ledger=tmp_path / "l.ledger")
    assert report.account is not None
    assert report.account.spent.epsilon == 1
    with pytest.raises(LeastnoiseError, match="sums"):
        ledger.register(
            [(released.certificate, 30)],
            unit="person",
            budget=Budget(epsilon=4, delta="1e-4"),
        )
