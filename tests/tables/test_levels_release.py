"""Keys with levels: the chosen noise, releases that add up, and what is refused."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastnoise.errors import InvalidArgument, Refused, SpecError
from leastnoise.guarantees.units import RowCounts
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.levels import LevelLaw
from leastnoise.report.page import report
from leastnoise.selection.public import calibrate
from leastnoise.tables.answers.sums.level_queries import find_conflict
from leastnoise.tables.answers.sums.levels import Levels
from leastnoise.tables.answers.sums.publish_sums import publish_on_tree
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.least_epsilon import find_plan
from leastnoise.tables.plan.plan import Plan
from leastnoise.tables.publish.difference import subtract_releases
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.verify import verify_directory
from leastnoise.workloads import tree_search
from tests.noise.trees.oracle import enumerated

# in no order; b has one county
COUNTIES = [
    "a2",
    "c1",
    "b1",
    "a1",
    "c3",
    "a3",
    "c2",
    "c7",
    "a6",
    "c8",
    "a4",
    "c5",
    "c4",
    "a5",
    "c9",
    "c6",
]
STATES = [county[0] for county in COUNTIES]
BLOCS = ["x" if state == "c" else "y" for state in STATES]
NATION = ["n"] * len(COUNTIES)
LEVELS = {"state": STATES, "nation": NATION}
NAMES = ["people", "people_by_state", "people_by_nation"]


def spec_of(
    levels: Any = None, *, unit: str = "row", privacy: Any = None, rows: int = 1, **part: Any
) -> dict[str, Any]:
    given = {"keys": COUNTIES, "levels": LEVELS if levels is None else levels}
    raw: dict[str, Any] = {
        "version": 1,
        "data": {"source": "rows.csv", "types": {"county": "text", "who": "int"}},
        "privacy": {"unit": unit, "epsilon": 1, **(privacy or {})},
        "query": [
            {"name": "people", "statistics": ["count"], "group_by": {"county": given}} | part
        ],
    }
    if unit != "row":
        raw["contribution"] = {"max_rows": rows}
    return raw


def plan_of(raw: dict[str, Any]) -> Plan:
    return find_plan(spec_file.lay_out(raw))[1]


def whole_of(plan: Plan) -> Levels:
    answered = plan.noisy_parts[0].answered
    assert isinstance(answered, Levels)
    return answered


def large(sizes: list[int]) -> dict[str, Any]:
    """Return a spec of states with these numbers of counties, in a shuffled order."""
    pairs = [(f"{s}.{i}", f"{s}") for s, size in enumerate(sizes) for i in range(size)]
    np.random.default_rng(2).shuffle(pairs)
    raw = spec_of()
    levels = {"state": [item for _, item in pairs], "nation": ["n"] * len(pairs)}
    raw["query"][0]["group_by"]["county"] = {"keys": [item for item, _ in pairs], "levels": levels}
    return raw


@pytest.mark.dense
@pytest.mark.parametrize("sizes", [[60] * 50, [10 + 2 * i for i in range(50)] + [1, 49]])
def test_the_figures_of_the_theory(sizes: list[int]) -> None:
    """Measured: 4.094, 4.07."""
    whole = whole_of(plan_of(large(sizes)))
    cells = 1 / (math.sqrt(2) * math.sinh(1 / 2))
    counts = (sum(sizes), len(sizes), 1)
    assert whole.geometric_mean <= 4.10
    others = whole.others
    summed = math.prod(cells * math.sqrt(counts[0] / count) for count in counts) ** (1 / 3)
    assert others["cells"] == pytest.approx(summed)
    assert others["apart"] == pytest.approx(4.223, abs=1e-3)
    assert others["bound"] == pytest.approx(2.32 if len(set(sizes)) == 1 else 2.29, abs=0.01)


@pytest.mark.grid
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("levels", [LEVELS, {"state": STATES}, {"state": STATES, "bloc": BLOCS}])
def test_errors_are_those_of_an_enumeration(levels: Any, neighbours: Any) -> None:
    """Counties are few, so that all noise is listed, and tables are summed by name."""
    short = [COUNTIES.index(item) for item in ("a2", "c1", "b1", "a1")]
    given = {level: [computed[i] for i in short] for level, computed in levels.items()}
    raw = spec_of(privacy={"epsilon": 3, "neighbours": neighbours})
    keys = [COUNTIES[i] for i in short]
    raw["query"][0]["group_by"]["county"] = {"keys": keys, "levels": given}
    planned = whole_of(plan_of(raw))
    parameters: Any = {
        "branches": planned.noise.branches,
        "shares": ["0.2", "0.3", "0.5"]
        if len(planned.noise.shares) == 3
        else [0, "0.2", "0.3", "0.5"],
    }
    moves = RowCounts(1, neighbours=neighbours)
    mechanism = calibrate(
        Agreeing.name, epsilon=3, sensitivity=moves, dimension=4, parameters=parameters
    )
    claims = [(planned.cells.label, mechanism.certificate.on_grid(1))]
    whole = Levels.read(planned.cells, planned.budget, claims)
    points, chances = enumerated(whole.noise, 9)
    order = sorted(range(len(keys)), key=lambda i: _first_seen(given, keys, i))
    for error, names in zip(whole.errors, (keys, *given.values()), strict=True):
        values = list(dict.fromkeys(names))
        sums = np.zeros((len(points), len(values)))
        for cell, key in enumerate(order):
            sums[:, values.index(names[key])] += points[:, cell]
        wanted = np.sqrt(chances @ sums**2)
        stds = np.broadcast_to(error.stds, wanted.shape)
        assert stds == pytest.approx(wanted, rel=1e-3)
        assert error.std == pytest.approx(math.sqrt(float((wanted**2).mean())), rel=1e-3)
        halves = np.broadcast_to(error.halves95, wanted.shape)
        for row, half in enumerate(halves):
            assert chances @ (np.abs(sums[:, row]) <= half) >= 0.95 - 1e-4
            assert not half or chances @ (np.abs(sums[:, row]) <= half - 1) < 0.95 + 1e-4


def _first_seen(levels: dict[str, list[str]], keys: list[str], i: int) -> tuple[int, ...]:
    """Return the tree's sort key for a key: its positions by first appearance, top level first."""
    above = [list(dict.fromkeys(level)).index(level[i]) for level in reversed(levels.values())]
    return (*above, i)


def write_rows(folder: Path) -> Counter[str]:
    random = np.random.default_rng(3)
    chosen = random.choice([*COUNTIES, "nowhere"], size=900)
    pd.DataFrame({"who": range(900), "county": chosen}).to_csv(folder / "rows.csv", index=False)
    return Counter(chosen.tolist())


def released(folder: Path, kind: str = "csv", **given: Any) -> Path:
    write_rows(folder)
    raw = spec_of(**given)
    raw["output"] = {"path": "out", "format": kind}
    Release(**raw, folder=folder).run()
    return folder / "out"


@pytest.mark.dense
@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
@pytest.mark.parametrize("unit", ["row", "who"])
def test_tables_add_up(tmp_path: Path, kind: str, unit: str) -> None:
    folder = released(tmp_path, kind, unit=unit)
    readers: Any = {"csv": pd.read_csv, "json": pd.read_json, "parquet": pd.read_parquet}
    tables = [readers[kind](folder / f"{name}.{kind}") for name in NAMES]
    cells = tables[0].set_index("county")["count"]
    assert list(cells.index) == COUNTIES
    for table, (level, computed) in zip(tables[1:], LEVELS.items(), strict=True):
        assert list(table[level]) == list(dict.fromkeys(computed))
        for value, count in zip(table[level], table["count"], strict=True):
            assert count == sum(
                cells[c] for c, of in zip(COUNTIES, computed, strict=True) if of == value
            )
    assert len(set(tables[1]["count_std"])) == 3  # of a and c each, and b's
    assert verify_directory(folder).rows == dict(zip(NAMES, (16, 3, 1), strict=True))


@pytest.mark.parametrize("unit", ["row", "who"])
def test_each_row_is_in_its_county_and_what_that_is_part_of(tmp_path: Path, unit: str) -> None:
    """Nearly without noise; the truth is counted here, one row after another."""
    truth = write_rows(tmp_path)
    raw = spec_of(privacy={"epsilon": 30}, unit=unit)
    tables = Release(**raw, folder=tmp_path).run().tables
    assert tables["people"].columns["count"] == [truth[county] for county in COUNTIES]
    states = [sum(truth[county] for county in COUNTIES if county[0] == s) for s in "acb"]
    assert tables["people_by_state"].columns["count"] == states
    assert tables["people_by_nation"].columns["count"] == [sum(states)]


@pytest.mark.dense
def test_noise_goes_to_the_keys_that_it_was_drawn_for() -> None:
    """Many draws give each county its own spread: b1 is a state by itself, with less noise."""
    plan = plan_of(spec_of())
    drawn = [
        publish_on_tree(whole_of(plan), plan.noisy_parts, np.zeros(16, dtype=np.int64))
        for _ in range(400)
    ]
    for index, part in enumerate(plan.noisy_parts):
        counts = np.array([tables[index].columns["count"] for tables in drawn])
        spread = counts.std(axis=0) / np.broadcast_to(part.noise_errors[0].stds, counts.shape[1])
        # six standard deviations of a mean square of 400 draws are 67 % (Laplace)
        assert (np.abs(spread**2 - 1) < 0.67).all()
    stds = plan.noisy_parts[0].noise_errors[0].stds
    assert np.argmin(stds) == COUNTIES.index("b1")


def test_noise_in_the_cells_alone_is_drawn_where_that_is_best() -> None:
    record = {"state": COUNTIES}  # of the same numbers, so that they have the whole budget
    whole = whole_of(plan_of(spec_of(record)))
    assert whole.geometric_mean == pytest.approx(whole.others["cells"], rel=1e-6)


@pytest.mark.dense
@pytest.mark.parametrize("rule", [{}, {"delta": "1e-6"}])
def test_beside_other_blocks(tmp_path: Path, rule: dict[str, Any]) -> None:
    write_rows(tmp_path)
    raw = spec_of(privacy=rule)
    raw["query"] += [
        {"name": "some", "statistics": ["count"], "group_by": {"county": ["a1", "a2"]}},
        spec_of({"bloc": BLOCS}, name="again")["query"][0],
    ]
    raw["output"] = {"path": "out", "format": "csv"}
    tables = Release(**raw, folder=tmp_path).run().tables
    assert list(tables) == [*NAMES, "some", "again", "again_by_bloc"]
    assert set(verify_directory(tmp_path / "out").rows) == set(tables)


@pytest.mark.parametrize(
    ("change", "key", "why"),
    [
        ({"levels": {}}, "group_by.county.levels", "1 to 8 levels"),
        ({"levels": {"state": STATES[1:]}}, "group_by.county.levels.state", "each of 16 keys"),
        (
            {"levels": {"county": STATES}},
            "group_by.county.levels.county",
            "column of the keys itself",
        ),
        (
            {"levels": {"state": STATES, "nation": [*"m", *"n" * 15]}},
            "group_by.county.levels",
            "Key 4 gives a value another parent",
        ),
        ({"levels": {"a b": STATES}}, "group_by.county.levels", "A file would be called"),
        ({"levels": {"state": [1, *STATES[1:]]}}, "group_by.county.levels.state", "one type"),
        ({"margins": True}, "margins", "every level gets a table"),
        ({"round": True}, "round", "wouldn't add up"),
        ({"clamp": True}, "clamp", "wouldn't add up"),
        ({"top": 2}, "top", "wouldn't add up"),
        ({"accuracy": {"std": 2}}, "accuracy.std", "a std each"),
        ({"statistics": ["count", "mean(who)"]}, "group_by.county.levels", "one count and nothing"),
    ],
)
def test_what_does_not_go_with_levels_is_refused(change: Any, key: str, why: str) -> None:
    levels = change.pop("levels", None)
    with pytest.raises(SpecError) as caught:
        spec_file.lay_out(spec_of(levels, **change))
    record = dict(caught.value.problems)
    assert why in record[f"query[0].{key}"]


def test_persons_in_several_groups_are_refused() -> None:
    with pytest.raises(SpecError, match="max_rows = 1"):
        spec_file.lay_out(spec_of(unit="who", rows=2))


def test_too_many_keys_are_refused_before_any_noise() -> None:
    raw = large([400] * 100)
    with pytest.raises(SpecError, match="32,768 keys with levels"):
        spec_file.lay_out(raw)


def test_an_epsilon_of_too_much_noise_is_refused_before_any_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def search_shares(*_given: object, **_named: object) -> tuple[Fraction, ...]:
        raise AssertionError("no share may be searched")

    monkeypatch.setattr(tree_search, "search_shares", search_shares)
    with pytest.raises(Refused, match="larger epsilon"):
        plan_of(large([60] * 50) | {"privacy": {"unit": "row", "epsilon": "0.001"}})


def test_noise_without_a_half_width_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The law of 30,000 keys in five levels at ε = .01 is known to 3 % only."""

    def half_width(_law: LevelLaw, coverage: float) -> int:
        raise InvalidArgument(name="coverage", value=coverage, expected="coverage <= 0.97")

    monkeypatch.setattr(LevelLaw, "half_width", half_width)
    with pytest.raises(
        Refused, match=r"too large to compute .* Give fewer keys or a larger epsilon"
    ):
        plan_of(spec_of())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("county,state\na,x\nb,y\n", "name levels[1] exactly once"),
        ("state,nation\na,x\n", "name the column of the keys"),
        ("county,state,nation\na,x,n\nb,x,m\n", "Line 3 gives a value another parent"),
        ("county,state,nation\na,x,n\nb,x\n", "Line 3 has 2 fields, but the first line has 3"),
        ("county,state,nation\na,x,n\nb,,n\n", "Line 3 has an empty field"),
        ("county,state,nation\na,x,n\na,x,n\n", "Line 3 gives a key a second time"),
    ],
)
def test_files_that_are_no_tree_are_refused_with_their_line(
    tmp_path: Path, text: str, why: str
) -> None:
    (tmp_path / "secret.csv").write_text(text, encoding="utf-8")
    raw = spec_of()
    given = {"file": "secret.csv", "levels": ["state", "nation"]}
    raw["query"][0]["group_by"]["county"] = given
    with pytest.raises(SpecError) as caught:
        spec_file.lay_out(raw, folder=tmp_path)
    ((key, statement),) = caught.value.problems
    assert key == "query[0].group_by.county.file"
    assert why in statement


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"file": "a.csv", "levels": []}, "names of columns"),
        ({"file": "a.csv", "levels": "state"}, "names of columns"),
        ({"file": "a.csv", "levels": ["state", "state"]}, "each column once in levels"),
        ({"file": "a.csv", "levels": ["county"]}, "each column once in levels"),
        ({"file": "a.txt", "levels": ["state"]}, "must come from a .csv file"),
        (
            {"file": "a.csv", "levels": ["state"], "edges": [1]},
            "No entry may stand beside file, except levels",
        ),
    ],
)
def test_levels_of_a_file_that_name_no_columns(tmp_path: Path, entry: Any, why: str) -> None:
    raw = spec_of()
    raw["query"][0]["group_by"]["county"] = entry
    with pytest.raises(SpecError, match=why):
        spec_file.lay_out(raw, folder=tmp_path)


def test_a_file_says_what_the_spec_would(tmp_path: Path) -> None:
    rows = [f'"{c}",z,n,{s}' for c, s in zip(COUNTIES, STATES, strict=True)]
    text = "\r\n".join(["county,other,nation,state", *rows])
    (tmp_path / "counties.csv").write_text(text, encoding="utf-8")
    raw = spec_of()
    listed = spec_file.parse(raw)
    given = {"file": "counties.csv", "levels": ["state", "nation"]}
    raw["query"][0]["group_by"]["county"] = given
    assert spec_file.parse(raw, folder=tmp_path) == listed
    assert spec_file.parse(spec_file.parse_toml(spec_file.dumps(listed))) == listed


def test_the_first_conflict_of_any_level_is_found() -> None:
    assert find_conflict([["a", "b", "a"], ["x", "x", "y"], ["n", "m", "n"]]) == 1
    assert find_conflict([["a", "b", "a"], ["x", "x", "y"]]) == 2
    assert find_conflict([["a", "a"], ["x", "x"]]) is None
    assert find_conflict([["a", "a"]]) is None


def test_two_releases_are_subtracted(tmp_path: Path) -> None:
    folders: list[Path] = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        folders.append(released(tmp_path / name))
    result = subtract_releases(*folders).tables["people_by_state"]
    before, after = (pd.read_csv(folder / "people_by_state.csv")["count"] for folder in folders)
    assert result.columns["count"] == (after - before).tolist()
    assert result.confidence == {"count": 0.9}


def test_plans_and_pages_say_what_noise_there_is(tmp_path: Path) -> None:
    plan = plan_of(spec_of())
    assert "correlated along the levels county, state and nation, so that" in str(plan)
    record = plan.to_record()["noisy_parts"][1]["levels"]
    assert record["unlike_rows"]
    assert sum(map(float, record["shares"].values())) == pytest.approx(1)
    assert "root mean square" in report(released(tmp_path))


def test_the_tree_is_that_of_the_names() -> None:
    noise = whole_of(plan_of(spec_of({"state": STATES, "bloc": BLOCS}))).noise
    assert isinstance(noise, Agreeing)
    assert noise.branches == (2, 2, 1, 6, 1, 9)  # y of a and b, x of c
    assert not noise.shares[0]  # two blocs, whose total nobody asked for
