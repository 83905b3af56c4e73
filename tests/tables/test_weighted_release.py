"""Named sums end to end: from CSV and Parquet to tables that agree; `verify` finds edits."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import CertificateRejected, SpecError
from leastnoise.guarantees.strategy import SumsOfCells
from leastnoise.guarantees.structured import Linf
from leastnoise.ledger.ledger import Ledger
from leastnoise.report.page import report
from leastnoise.tables.answers.weighted.answer import AnsweredSums
from leastnoise.tables.parse import spec_file
from leastnoise.tables.publish.difference import subtract_releases
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.verify import verify_directory
from leastnoise.tables.rows import integer_vectors, source
from tests.tables.resealed import change_csv, verify_resealed

QUESTIONS = """sum,region,age_from,age_to,weight
all,,,,
0-19,,0,20,
20-64,,20,65,
65+,,65,,
up to 9,,0,10,
up to 29,,0,30,
up to 49,,0,50,
up to 69,,0,70,
b and c,b,,,
b and c,c,,,
standardised,a,0,20,0.5
standardised,a,20,65,1.25
standardised,b,,,-0.3
"""
AGES = [*range(0, 101, 5)]
ROWS = pd.DataFrame(
    {
        "who": np.arange(4000) // 2,
        "age": np.random.default_rng(1).integers(-3, 105, 4000),
        "region": np.random.default_rng(2).choice(["a", "b", "c", "d"], 4000),
    }
)
INSIDE = ROWS[ROWS["age"].between(0, 100) & ROWS["region"].isin(["a", "b", "c"])]


def truth() -> list[float]:
    age, region = INSIDE["age"], INSIDE["region"]
    lower = [10, 30, 50, 70]
    counts = [len(INSIDE), (age < 20).sum(), age.between(20, 64).sum(), (age >= 65).sum()]
    counts += [(age < edge).sum() for edge in lower]
    counts += [region.isin(["b", "c"]).sum()]
    a = region == "a"
    standard = 0.5 * (a & (age < 20)).sum() + 1.25 * (a & age.between(20, 64)).sum()
    return [*map(float, counts), float(standard - 0.3 * (region == "b").sum())]


def released(
    folder: Path,
    *,
    kind: str = "csv",
    given: str = "parquet",
    rows: int | None = None,
    questions: str = QUESTIONS,
    **privacy: Any,
) -> Path:
    if given == "parquet":
        ROWS.to_parquet(folder / "rows.parquet")
    else:
        ROWS.to_csv(folder / "rows.csv", index=False)
    (folder / "questions.csv").write_text(questions, encoding="utf-8")
    raw: dict[str, Any] = {
        "version": 1,
        "data": {"source": f"rows.{given}"},
        "privacy": {"unit": "row" if rows is None else "who", "epsilon": 20, **privacy},
        "query": [
            {
                "name": "groups",
                "statistics": ["count"],
                "group_by": {"region": ["a", "b", "c"], "age": {"edges": AGES}},
                "sums": {"file": "questions.csv"},
            }
        ],
        "output": {"path": "out", "format": kind},
    }
    if given == "csv":
        raw["data"]["types"] = {"who": "int", "age": "int", "region": "text"}
    if rows is not None:
        raw["contribution"] = {"max_rows": rows}
    (folder / "spec.toml").write_text(spec_file.spec_text.write(raw), encoding="utf-8")
    Release.from_toml(folder / "spec.toml").run()
    return folder / "out"


@pytest.mark.grid
@pytest.mark.parametrize(
    ("given", "neighbours", "rows"),
    [
        ("csv", "add-remove", None),  # each two values together once
        ("csv", "replace-one", 2),
        ("parquet", "add-remove", 2),
        ("parquet", "replace-one", None),
        pytest.param("csv", "add-remove", 2, marks=pytest.mark.dense),
        pytest.param("csv", "replace-one", None, marks=pytest.mark.dense),
        pytest.param("parquet", "add-remove", None, marks=pytest.mark.dense),
        pytest.param("parquet", "replace-one", 2, marks=pytest.mark.dense),
    ],
)
def test_published_sums_are_near_the_true_ones_and_verify(
    tmp_path: Path, given: str, neighbours: str, rows: int | None
) -> None:
    folder = released(tmp_path, given=given, rows=rows, neighbours=neighbours)
    table = pd.read_csv(folder / "groups.csv")
    assert list(table) == ["sum", "count", "count_std", "count_low", "count_high"]
    assert list(table["sum"]) == list(
        dict.fromkeys(line.split(",")[0] for line in QUESTIONS.splitlines()[1:])
    )
    errors = (table["count"] - truth()).abs()
    assert (errors < 12 * table["count_std"] + 0.01).all()  # 1e-7 for Laplace noise, and more
    assert table["count"].nunique() == len(table)
    result = verify_directory(folder)
    (part,) = result.plan.parts
    assert isinstance(part.answered, AnsweredSums)  # pyright: ignore
    assert part.label == "groups"
    page = report(folder)
    assert "root mean square" in page
    assert "Rows are left out where age is below 0, above 100 or missing" in page
    stored = spec_file.parse_toml((folder / "spec.toml").read_text(encoding="utf-8"))
    assert stored["query"][0]["sums"] == QUESTIONS
    counts = dict(zip(table["sum"], table["count"], strict=True))
    assert counts["0-19"] + counts["20-64"] + counts["65+"] == pytest.approx(counts["all"])


@pytest.mark.grid
@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_other_forms_of_output(tmp_path: Path, kind: str) -> None:
    folder = released(tmp_path, kind=kind, delta="1e-6", epsilon="0.5")
    assert verify_directory(folder).rows == {"groups": 10}


ALL = ("count", "count_low", "count_high")


@pytest.mark.grid
@pytest.mark.parametrize(
    ("row", "by", "text"),
    [
        (0, dict.fromkeys(ALL, 1.0), "contradict each other"),
        (1, dict.fromkeys(ALL, -1.0), "contradict each other"),
        (3, dict.fromkeys(ALL, 0.01), "isn't a whole number"),
        (8, dict.fromkeys(ALL, 0.5), "isn't a whole number"),
        (2, {"count_std": 0.1}, "count_std that is not the standard deviation"),
        (2, {"count_low": 1.0}, "count_low"),
        (9, {"count_high": 1.0}, "count_high"),
        (9, {"count": 1.0}, "count"),
    ],
)
def test_tables_that_are_edited(tmp_path: Path, row: int, by: dict[str, float], text: str) -> None:
    folder = released(tmp_path)
    change_csv(folder, "groups", row, **by)
    with pytest.raises(CertificateRejected, match=text):
        verify_resealed(folder)


def test_names_of_sums_that_are_edited(tmp_path: Path) -> None:
    folder = released(tmp_path)
    path = folder / "groups.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("0-19", "0-18"), encoding="utf-8")
    with pytest.raises(CertificateRejected, match="other keys"):
        verify_resealed(folder)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda c: c.update(epsilon="21"), "share"),
        (lambda c: c.update(epsilon="19"), "share"),
        (lambda c: c.update(grid=None), "grid"),
        (lambda c: c.update(compositions=2), "release"),
        (lambda c: c["sensitivity"].update(max_rows=1), "sensitivity doesn't follow"),
        (lambda c: c["sensitivity"].update(neighbours="replace-one"), "sensitivity doesn't follow"),
        (lambda c: c["sensitivity"]["rows"].pop(), None),
        (lambda c: c["noise"]["parameters"].update(scale="0x1.0000000000000p-9"), None),
    ],
)
def test_certificates_that_are_edited(tmp_path: Path, change: Any, text: str | None) -> None:
    folder = released(tmp_path, rows=2)
    path = folder / "certificate.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["draws"][0]["certificate"]["sensitivity"]["kind"] == "sums-of-cells"
    change(record["draws"][0]["certificate"])
    path.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(CertificateRejected, match=text):
        verify_resealed(folder)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("old", "new"),
    [("-0.3", "-0.4"), ("0-19,,0,20", "0-19,,0,25"), ("b and c,c", "b and c,a"), ("all", "every")],
)
def test_a_spec_that_is_edited(tmp_path: Path, old: str, new: str) -> None:
    folder = released(tmp_path, rows=2)
    path = folder / "spec.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(CertificateRejected):
        verify_resealed(folder)


@pytest.mark.grid
@pytest.mark.parametrize("name", ["plan.json", "certificate.json", "spec.toml", "groups.csv"])
def test_files_that_change_without_their_seal(tmp_path: Path, name: str) -> None:
    folder = released(tmp_path)
    path = folder / name
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    with pytest.raises(CertificateRejected):
        verify_directory(folder)


def test_every_number_of_the_plan_is_made_again(tmp_path: Path) -> None:
    folder = released(tmp_path)
    path = folder / "plan.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    computed = record["noisy_parts"][0]["sums"]
    for name, value in computed.items():
        other = "x" if isinstance(value, str) else value * 1.001 + 1
        edited = json.loads(json.dumps(record))
        edited["noisy_parts"][0]["sums"][name] = other
        path.write_text(json.dumps(edited), encoding="utf-8")
        with pytest.raises(CertificateRejected, match=r"plan\.json"):
            verify_resealed(folder)


def test_no_file_is_read_without_a_folder_and_problems_come_before_rows(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"Line 2 has a key that group_by doesn't list"):
        released(tmp_path, questions="sum,region\nx,nowhere\n")


def test_a_series_has_a_share_for_each_release(tmp_path: Path) -> None:
    ROWS.to_parquet(tmp_path / "rows.parquet")
    ledger = Ledger(tmp_path / "visits.ledger")
    ledger.open_account("visits", unit="row", budget=ln.Budget(epsilon=2))
    query = {
        "name": "q",
        "statistics": ["count"],
        "group_by": {"region": ["a", "b", "c"]},
        "sums": "sum,region\na,a\nall,\n",
    }
    release = Release(
        data={"source": "rows.parquet"},
        privacy={"unit": "row", "epsilon": 2, "ledger": {"path": "visits.ledger"}},
        series={"name": "weekly", "releases": 2},
        query=[query],
        folder=tmp_path,
        output={"path": "out", "format": "csv"},
    )
    folders = [release.run().path for _ in range(2)]
    assert all(folders)
    mechanism = verify_directory(folders[1] or tmp_path, ledger=tmp_path / "visits.ledger")
    assert mechanism.certificate.releases == 2
    (part,) = mechanism.plan.parts
    assert part.budget.epsilon == 2


@pytest.mark.dense
def test_differences_of_two_releases(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two", "other")]
    for folder in folders:
        folder.mkdir()
    item, two = (released(folder, epsilon=1) for folder in folders[:2])
    other = released(folders[2], epsilon=1, questions=QUESTIONS.replace("0.5\n", "0.6\n"))
    (table,) = subtract_releases(item, two).tables.values()
    assert len(table) == 10
    with pytest.raises(Exception, match="the column 'sum' has other keys"):
        subtract_releases(item, other)


def certificate_l1(certificate: Certificate) -> Fraction:
    """The largest l1 norm of a shift for which the noise in the cells is certified."""
    moves = certificate.sensitivity
    if isinstance(moves, Linf):
        return moves.bound * moves.l0
    radius = moves.radius("l1", dimension=certificate.dimension)
    assert radius is not None
    return radius


@pytest.mark.dense
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("rows", [None, 1, 2])
def test_no_unit_moves_the_noisy_sums_by_more_than_is_certified(
    tmp_path: Path, neighbours: str, rows: int | None
) -> None:
    """The exact numbers before noise, as a release reads them, for all small neighbours."""
    file = tmp_path / "rows.parquet"
    pd.DataFrame({"who": [1], "k": ["p"]}).to_parquet(file)
    text = "sum,k,weight\nx,p,\nx,q,\ny,q,0.7\ny,r,-1\nz,,\nu,p,2\nv,q,\nw,p,\nw,r,\n"
    release = Release(
        data={"source": "rows.parquet"},
        privacy={
            "unit": "row" if rows is None else "who",
            "epsilon": 1,
            "neighbours": neighbours,
        },
        query=[
            {
                "name": "q",
                "statistics": ["count"],
                "group_by": {"k": ["p", "q", "r", "s"]},
                "sums": text,
            }
        ],
        folder=tmp_path,
        **({} if rows is None else {"contribution": {"max_rows": rows}}),  # pyright: ignore
    )
    answered = release.plan().noisy_parts[0].answered
    assert isinstance(answered, AnsweredSums)
    certificate, layout = answered.certificate, answered.cells
    result = source.find_source(release.spec, tmp_path)

    def noiseless(units: tuple[str, ...]) -> list[Fraction]:
        pairs = [(who, key) for who, keys in enumerate(units) for key in keys]
        frame = pd.DataFrame(
            {
                "who": pd.Series([who for who, _ in pairs], dtype="int64"),
                "k": pd.Series([key for _, key in pairs], dtype="str"),
            }
        )
        frame.to_parquet(file)
        with source.open_engine(result, threads=1) as engine:
            vector = integer_vectors.query_vector(engine, release.spec, layout, salt="")
        merged = answered.sums.merge(vector).tolist()
        return answered.ways.sum_cells([Fraction(n, 1 << layout.bits) for n in merged])

    most = 1 if rows is None else 3  # persons may have more rows than the limit
    keys = [
        "".join(some) for n in range(1, most + 1) for some in itertools.product("pqt", repeat=n)
    ]
    beside = ("pq"[: most or 1], "r")
    without = noiseless(beside)
    moved = [np.subtract(noiseless((*beside, key)), without) for key in keys]
    if neighbours == "replace-one":
        moved = [np.subtract(item, other) for item, other in itertools.product(moved, [*moved, 0])]
    sensitivity = certificate.sensitivity
    if isinstance(sensitivity, SumsOfCells):
        order = 1 if sensitivity.norm == "l1" else 2
        longest = max(sum(abs(number) ** order for number in shift) for shift in moved)
        assert longest <= sensitivity.bound**order
        assert longest >= sensitivity.bound**order * Fraction(9, 10)
    else:
        replaced = 2 if neighbours == "replace-one" else 1
        longest = max(sum(map(abs, shift)) for shift in moved)
        assert longest == (rows or 1) * replaced == certificate_l1(certificate)


def test_sums_whose_half_widths_are_whole_numbers() -> None:
    query = {
        "name": "groups",
        "statistics": ["count"],
        "group_by": {"region": ["a", "b"], "age": {"edges": [0, 20, 100]}},
        "sums": "sum,region,age_from,age_to\nall,,,\nyoung,,0,20\nold,,20,\na,a,,\n",
    }
    privacy = {"unit": "row", "epsilon": 1}
    plan = ln.Release(data={"source": ROWS}, privacy=privacy, query=[query]).plan()
    assert plan.noisy_parts[0].errors[0].half_width_95 > 1
