"""Releases of the largest groups, selected before their counts get noise."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise.certificate.selection import MOST_ROUNDS, SelectionCertificate
from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.errors import CertificateRejected, Refused, SpecError
from leastnoise.mechanism.selection import select_largest
from leastnoise.report import page
from leastnoise.tables.answers.base import NO_NAMES, Topic, texts
from leastnoise.tables.answers.selection.answer import Selected
from leastnoise.tables.answers.selection.layout import MOST_SELECTED
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.least_epsilon import find_plan
from leastnoise.tables.plan.make_plan import plan, plan_as_certified
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.verify import verify_directory
from tests.tables.resealed import verify_resealed

ITEMS = list(range(40))
QUERY: dict[str, Any] = {
    "name": "top",
    "statistics": ["count_units"],
    "group_by": {"item": ITEMS},
    "top": 3,
    "by": "selection",
}
SPEC: dict[str, Any] = {
    "version": 1,
    "data": {"source": "rows.parquet", "types": {"person": "int", "item": "int"}},
    "privacy": {"unit": "person", "epsilon": 2},
    "query": [QUERY],
    "output": {"path": "out", "format": "csv"},
}


def spec_of(query: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    return SPEC | {"query": [QUERY | (query or {})]} | changes


def write_rows(folder: Path) -> pd.Series:
    """Rows whose items 7, 3 and 31 have by far the most persons; returns the true counts.

    Persons hold up to 40 items, some of them twice.
    """
    draws = np.random.default_rng(5)
    rows = [(person, item) for person in range(900) for item in draws.choice(40, 12)]
    rows += [(person, 7) for person in range(900)]
    rows += [(person, 3) for person in range(800)]
    rows += [(person, 31) for person in range(700)]
    rows += [(0, item) for item in ITEMS]
    frame = pd.DataFrame(rows, columns=["person", "item"])
    frame.to_parquet(folder / "rows.parquet")
    return frame.groupby("item").person.nunique()


def problems(raw: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(SpecError) as caught:
        spec_file.lay_out(raw)
    return dict(caught.value.problems)


@pytest.mark.parametrize("kind", ["csv", "parquet", "json"])
def test_the_largest_are_published_by_falling_count_and_verify(tmp_path: Path, kind: str) -> None:
    truth = write_rows(tmp_path)
    released = Release(**spec_of(output={"path": "out", "format": kind}), folder=tmp_path).run()
    table = released.tables["top"].columns
    assert table["item"] == [7, 3, 31]
    assert table["count_units"] == sorted(table["count_units"], reverse=True)
    for item, low, high in zip(
        table["item"], table["count_units_low"], table["count_units_high"], strict=True
    ):
        assert high - low < 25  # a limit of one person's items would not be needed
        assert low - 25 < truth[item] < high + 25
    verified = verify_directory(tmp_path / "out")
    assert verified.rows == {"top": 3}
    names = [name for name, _ in verified.certificate.draws]
    assert names == ["top", "top.selection"]


def test_frames_are_read_alike(tmp_path: Path) -> None:
    write_rows(tmp_path)
    frame = pd.read_parquet(tmp_path / "rows.parquet")
    changes = {"data": {"source": frame, "types": SPEC["data"]["types"]}, "output": None}
    assert Release(**spec_of(**changes)).run().tables["top"].columns["item"] == [7, 3, 31]


def test_the_plan_says_rounds_gap_and_limits() -> None:
    whole = plan(spec_file.lay_out(spec_of()))
    (answered,) = whole.answered
    assert isinstance(answered, Selected)
    sentences = [*answered.sentences(NO_NAMES)]
    (rounds,) = texts(iter(sentences), Topic.NOISE)
    assert "selects 3 of the 40 groups of top" in rounds
    assert f"more than {answered.gap:,} above" in rounds
    assert "Each person is counted in every cell that they are in." in str(whole)
    (part,) = whole.noisy_parts
    record = part.to_record()
    assert record["selection"] == {
        "candidates": 40,
        "rounds": 3,
        "epsilon": "1",
        "rate": "1/3",
        "gap_95": answered.gap,
    }
    assert record["cells"] == record["dimension"] == 3


@pytest.mark.dense
def test_the_gap_is_found_as_often_as_the_plan_says() -> None:
    """Scores where one group is below all others by just more than the gap, and the worst case."""
    (answered,) = plan(spec_file.lay_out(spec_of())).answered
    assert isinstance(answered, Selected)
    entropy, missed = InsecureSeededEntropy(1), 0
    scores = [100 + answered.gap] * 3 + [99] * 37
    for _ in range(1500):
        missed += {*select_largest(answered.selection, scores, entropy=entropy)} != {0, 1, 2}
    assert missed < 1500 * 0.05
    closer = [100 + answered.gap // 2] * 3 + [99] * 37
    for _ in range(300):
        missed += {*select_largest(answered.selection, closer, entropy=entropy)} != {0, 1, 2}
    assert missed > 300 * 0.05


@pytest.mark.dense
def test_limits_of_the_spec_lower_the_noise_of_counts() -> None:
    def std(query: dict[str, Any] | None = None, **changes: Any) -> float:
        (part,) = plan(
            spec_file.lay_out(spec_of({"top": 8} | (query or {}), **changes))
        ).noisy_parts
        return part.errors[0].std

    free = std()
    assert std(contribution={"max_groups": 8}) == free
    unlimited, limited = (
        plan(spec_file.lay_out(spec_of({"top": 8}, **changes))).noisy_parts[0].moves
        for changes in ({}, {"contribution": {"max_groups": 8}})
    )
    assert unlimited == limited
    assert std(contribution={"max_groups": 40}) == free
    assert std(contribution={"l1": 2}) == free
    assert std(contribution={"max_groups": 1}) < std(contribution={"max_groups": 3}) <= free
    single = std(contribution={"max_groups": 1})
    assert std(contribution={"max_rows": 1}) == single
    assert std({"contribution": {"max_groups": 1}}) == single
    assert std({"contribution": {"max_groups": 40}}, contribution={"max_groups": 1}) == free
    join = {"kinds": {"source": "kinds.csv", "on": "person", "columns": ["kind"]}}
    data = SPEC["data"] | {"join": join, "types": SPEC["data"]["types"] | {"kind": "int"}}
    assert std({"group_by": {"kind": ITEMS}}, data=data) == single  # one kind a person
    for most, words in (
        (1, "is counted in at most one cell."),
        (
            12,
            "is counted in at most 12 cells, which chance chooses. A person in more cells",
        ),
        (40, "is counted in every cell that they are in."),
    ):
        limited = plan(spec_file.lay_out(spec_of({"top": 8}, contribution={"max_groups": most})))
        assert f"Each person {words}" in " ".join(str(limited).split())


@pytest.mark.dense
def test_replaced_persons_halve_the_rate() -> None:
    privacy = {"unit": "person", "epsilon": 2, "neighbours": "replace-one"}
    (answered,) = plan(spec_file.lay_out(spec_of(privacy=privacy))).answered
    (usual,) = plan(spec_file.lay_out(spec_of())).answered
    assert isinstance(answered, Selected)
    assert isinstance(usual, Selected)
    assert answered.selection.rate == usual.selection.rate / 2
    assert answered.selection.spent == usual.selection.spent == 1


@pytest.mark.dense
def test_it_stands_beside_other_queries_and_in_a_series(tmp_path: Path) -> None:
    write_rows(tmp_path)
    other = {"name": "all", "statistics": ["count_units"], "importance": 3}
    ln.Ledger(tmp_path / "a.ledger").open_account(
        "rows", unit="person", budget=ln.Budget(epsilon=4, delta="1e-6")
    )
    raw = spec_of(
        query={"rest": "0.5", "clipping": "0.25"},
        contribution={"max_groups": 30},
        privacy={
            "unit": "person",
            "epsilon": 4,
            "delta": "1e-6",
            "ledger": {"path": "a.ledger", "dataset": "rows"},
        },
        series={"name": "weekly", "releases": 2},
    )
    raw["query"].append(other)
    for number in (1, 2):
        Release(**raw, folder=tmp_path).run()
        verified = verify_directory(tmp_path / "out" / str(number), ledger=tmp_path / "a.ledger")
        assert verified.release_number == number
    (selection,) = (claim for name, claim in verified.certificate.draws if name == "top.selection")
    assert selection.budget.epsilon * 4 * 4 == 1  # 1/8 of a quarter of 4, in two releases
    assert verified.certificate.releases == 2


def test_a_smallest_count_and_rounding_apply_to_published_counts(tmp_path: Path) -> None:
    write_rows(tmp_path)
    query = {"min_count": 790, "round_to": 10, "clamp": True}
    table = Release(**spec_of(query), folder=tmp_path).run().tables["top"].columns
    assert table["item"] == [7, 3]
    assert all(count % 10 == 0 for count in table["count_units"])
    verify_directory(tmp_path / "out")


@pytest.mark.dense
def test_a_wished_accuracy_of_counts_finds_epsilon() -> None:
    raw = spec_of(
        {"accuracy": {"half_width_95": 20}}, privacy={"unit": "person", "epsilon": "least"}
    )
    _, whole = find_plan(spec_file.lay_out(raw))
    (part,) = whole.noisy_parts
    assert 19 < part.errors[0].half_width_95 <= 20


@pytest.mark.parametrize(
    ("query", "changes", "key"),
    [
        ({"top": None}, {}, "query[0].by"),
        ({"top": 40}, {}, "query[0]"),
        ({"top": 1001}, {}, "query[0].top"),
        ({"statistics": ["count"]}, {"contribution": {"max_rows": 1}}, "query[0].statistics"),
        ({"statistics": []}, {}, "query[0].statistics"),
        ({"group_by": {"item": {"keys": "private"}}}, {}, "query[0].group_by.item"),
        ({"margins": True}, {}, "query[0]"),
        ({"objective": "largest"}, {}, "query[0].objective"),
        ({}, {"privacy": {"unit": "row", "epsilon": 1}}, "query[0].by"),
    ],
)
def test_what_does_not_fit_is_refused(
    query: dict[str, Any], changes: dict[str, Any], key: str
) -> None:
    changed = QUERY | query
    cleaned = {name: value for name, value in changed.items() if value is not None}
    if "privacy" not in changes and cleaned.get("group_by") != QUERY["group_by"]:
        changes = {"privacy": {"unit": "person", "epsilon": 1, "delta": "1e-6"}}
    result = problems(SPEC | {"query": [cleaned]} | changes)
    assert key in result


def test_a_certificate_has_as_many_rounds_as_a_query() -> None:
    assert MOST_SELECTED == MOST_ROUNDS


def test_other_queries_still_need_limits() -> None:
    other = {"name": "all", "statistics": ["count"]}
    assert "contribution" in problems(SPEC | {"query": [QUERY, other]})


def test_without_epsilon_nothing_can_be_selected() -> None:
    raw = spec_of(privacy={"unit": "person", "epsilon": 0, "delta": "1e-3"})
    with pytest.raises(Refused, match="select groups"):
        plan(spec_file.lay_out(raw))


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("selected")
    write_rows(folder)
    Release(**spec_of(), folder=folder).run()
    return folder / "out"


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("certificate.json", '"rate": "1/3"', '"rate": "1/4"'),
        ("certificate.json", '"rounds": 3', '"rounds": 2'),
        ("certificate.json", '"candidates": 40', '"candidates": 41'),
        ("certificate.json", "top.selection", "top.other"),
        ("plan.json", '"gap_95": ', '"gap_95": 1'),
        ("spec.toml", "top = 3", "top = 4"),
        ("spec.toml", 'by = "selection"', ""),
        ("top.csv", "\n3,", "\n4x,"),
        ("top.csv", "\n3,", "\n41,"),
        ("top.csv", "\n3,", "\n7,"),
    ],
)
def test_an_edited_release_does_not_verify(  # noqa: PLR0917
    build: Path, tmp_path: Path, name: str, old: str, new: str
) -> None:
    for file in build.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    text = (tmp_path / name).read_text()
    assert old in text
    (tmp_path / name).write_text(text.replace(old, new, 1))
    with pytest.raises(CertificateRejected):
        verify_resealed(tmp_path)


@pytest.mark.parametrize("wrong", ["fewer", "more", "disordered"])
def test_a_table_has_the_selected_number_of_rows_in_order(
    build: Path, tmp_path: Path, wrong: str
) -> None:
    for file in build.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    head, *rows = (tmp_path / "top.csv").read_text().splitlines()
    rows = {
        "fewer": rows[:-1],
        "more": [*rows, "5" + rows[-1][rows[-1].index(",") :]],
        "disordered": rows[::-1],
    }[wrong]
    (tmp_path / "top.csv").write_text("\n".join([head, *rows]) + "\n")
    with pytest.raises(CertificateRejected):
        verify_resealed(tmp_path)


def test_certificates_of_the_selection_alone_or_twice_are_rejected(build: Path) -> None:
    layout = spec_file.lay_out(spec_of())
    certificate = plan(layout).certificate
    noise, selection = certificate.draws
    for draws in ((noise,), (selection,), (selection, noise), (noise, selection, selection)):
        with pytest.raises(CertificateRejected):
            plan_as_certified(layout, ln.PlanCertificate(budget=certificate.budget, draws=draws))


@pytest.mark.parametrize(
    "edit",
    [
        {"rate": Fraction(1, 4)},
        {"rounds": 2},
        {"candidates": 41},
        {"budget": ln.Budget(epsilon="0.9"), "rate": Fraction(3, 10)},
        {"neighbours": "replace-one", "rate": Fraction(1, 6)},
    ],
)
def test_only_the_implied_selection_is_read(edit: dict[str, Any]) -> None:
    layout = spec_file.lay_out(spec_of())
    certificate = plan(layout).certificate
    noise, (name, selection) = certificate.draws
    assert isinstance(selection, SelectionCertificate)
    edited = replace(selection, **edit)
    edited.verify()  # true, but about another selection
    with pytest.raises(CertificateRejected, match="selected as the spec requires"):
        plan_as_certified(layout, replace(certificate, draws=(noise, (name, edited))))


def test_releases_with_selected_groups_are_not_subtracted(build: Path, tmp_path: Path) -> None:
    write_rows(tmp_path)
    Release(**spec_of(), folder=tmp_path).run()
    with pytest.raises(Refused, match="chance selects its groups"):
        ln.subtract_releases(build, tmp_path / "out")


def test_the_page_and_the_record_say_what_was_selected(build: Path) -> None:
    text = page.report(build)
    assert "These groups were selected among 40 by chance" in text
    record = json.loads((build / "plan.json").read_text())
    assert any("drawn after the selection" in note for note in record["notes"])
    assert "keys" not in record
