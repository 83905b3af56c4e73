"""Bounds that a release finds: what is verified and refused, and what reports say about them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import leastnoise as ln
from leastnoise.certificate.plan import PlanCertificate
from leastnoise.errors import CertificateRejected, InvalidArgument, Refused, SpecError
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan_as_certified
from leastnoise.tables.publish.try_limits import try_limits
from tests.cli.program import run
from tests.tables.resealed import verify_resealed
from tests.tables.test_found_bounds import CANDIDATES, FIND, rows_of, spec_of, written


def _edit(name: str, change: Callable[[Any], object]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        record = json.loads((folder / name).read_text())
        change(record)
        (folder / name).write_text(json.dumps(record))

    return edit


def _in_spec(before: str, after: str) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        text = (folder / "spec.toml").read_text()
        assert before in text
        (folder / "spec.toml").write_text(text.replace(before, after))

    return edit


_BOUNDS = "found = [\n    100,\n    500,\n]\n"
_EDITS: dict[str, Callable[[Path], None]] = {
    "other bounds": _in_spec(_BOUNDS, "found = [100, 490]\n"),
    "between candidates": _in_spec(_BOUNDS, "found = [105, 500]\n"),
    "no bounds": _in_spec(_BOUNDS, ""),
    "known bounds": _in_spec('find = true\nquery = "x_bounds"\n' + _BOUNDS, "low = 1\n"),
    "another query finds them": _in_spec('query = "x_bounds"', 'query = "all"'),
    "a level": _in_spec("quantile(x, 0.01)", "quantile(x, 0.02)"),
    "a larger share": _in_spec('importance = "0.08"', 'importance = "0.09"'),
    "fewer candidates": _in_spec("step = 10\n", "step = 100\n"),
    "the table": _edit("x_bounds.json", lambda rows: rows[0].update({"quantile_x_0.99": 600})),
    "the plan": _edit(
        "plan.json", lambda item: item["found_bounds"]["x"].update(found=["100", "600"])
    ),
    "a widest plan": _edit("plan.json", lambda item: item["found_bounds"]["x"].update(found=None)),
    "no note": _edit("plan.json", lambda item: item.pop("found_bounds")),
    "a certificate": _edit("certificate.json", lambda item: item["draws"].pop()),
    "its epsilon": _edit(
        "certificate.json",
        lambda item: item["draws"][-1]["certificate"].update(epsilon="1/100", rates=["1/8", "1/8"]),
    ),
}


def _published() -> dict[str, Any]:
    return spec_of(
        privacy={"unit": "person", "epsilon": 1000, "delta": "1e-6"},
        columns={"x": {"bounds": FIND | {"share": "0.08"}}},
        query=[{"name": "all", "statistics": ["count", "mean(x)"]}],
        output={"path": "out", "format": "json"},
    )


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("found")
    written(folder, _published()).run()
    return {file.name: file.read_bytes() for file in (folder / "out").iterdir()}


def _restored(published: dict[str, bytes], folder: Path) -> Path:
    for name, content in published.items():
        (folder / name).write_bytes(content)
    return folder


def test_untouched_it_verifies(published: dict[str, bytes], tmp_path: Path) -> None:
    result = verify_resealed(_restored(published, tmp_path))
    assert result.spec.columns["x"].limits == (100, 500)


@pytest.mark.parametrize("edit", _EDITS)
def test_no_edit_verifies(published: dict[str, bytes], tmp_path: Path, edit: str) -> None:
    folder = _restored(published, tmp_path)
    _EDITS[edit](folder)
    with pytest.raises(CertificateRejected):
        verify_resealed(folder)


@pytest.mark.parametrize(
    ("after", "why"),
    [
        ("found = [100, 490]\n", "The bounds of 'x' are not the bounds that x_bounds found"),
        ("found = [90, 500]\n", "The bounds of 'x' are not the bounds that x_bounds found"),
        ("", "The bounds of 'x' are not the bounds that x_bounds found"),
    ],
    ids=["nearer", "wider", "none"],
)
def test_a_plan_made_anew_for_other_bounds_does_not_verify(
    published: dict[str, bytes], tmp_path: Path, after: str, why: str
) -> None:
    """The plan agrees with the spec then: it is the table that has found others."""
    folder = _restored(published, tmp_path)
    _in_spec(_BOUNDS, after)(folder)
    layout = spec_file.lay_out(tomllib.loads((folder / "spec.toml").read_text()))
    claim = PlanCertificate.from_json((folder / "certificate.json").read_text())
    (folder / "plan.json").write_text(plan_as_certified(layout, claim).to_json())
    with pytest.raises(CertificateRejected, match=why):
        verify_resealed(folder)


def test_a_stored_spec_is_not_run_again_as_it_is(
    published: dict[str, bytes], tmp_path: Path
) -> None:
    _restored(published, tmp_path)
    with pytest.raises(
        SpecError, match=r"columns\.x\.bounds\.found: Written by an earlier release"
    ):
        ln.Release(tmp_path / "spec.toml")


_PROBLEMS: dict[str, tuple[dict[str, Any], str]] = {
    "no share": ({"bounds": {"find": True, "candidates": [0, 1]}}, r"x\.bounds\.share: Missing"),
    "no candidates": ({"bounds": {"find": True, "share": 0.1}}, r"x\.bounds\.candidates: Missing"),
    "twice": ({"bounds": FIND, "candidates": [0, 1]}, r"x\.bounds\.candidates: Given twice"),
    "find = false": ({"bounds": FIND | {"find": False}}, r"x\.bounds\.find: Expected"),
    "no find": (
        {"bounds": {"share": "0.1", "candidates": [0, 1]}},
        r"x\.bounds: Expected .* find = true",
    ),
    "unknown": ({"bounds": FIND | {"level": 1}}, r"x\.bounds\.level: Unknown key"),
    "levels": ({"bounds": FIND | {"levels": [0.9, 0.1]}}, r"x\.bounds\.levels: Expected two"),
    "both known": ({"bounds": FIND | {"low": -1, "high": 2000}}, r"Nothing is left to find"),
    "low": ({"bounds": FIND | {"low": 0}}, r"x\.bounds\.low: Expected a number below"),
    "high": ({"bounds": FIND | {"high": 1000}}, r"x\.bounds\.high: Expected a number above"),
    "near": ({"bounds": FIND | {"candidates": [0, "1e-295", 1]}}, "by 1e-290"),
    "near low": ({"bounds": FIND | {"low": "-1e-295"}}, "by 1e-290"),
    "all": ({"bounds": FIND | {"share": 1}}, r"x\.bounds\.share: Expected a share below 1"),
    "little": ({"bounds": FIND | {"share": "1e-9"}}, r"columns\.x\.bounds: .*millionth"),
    "missing": ({"bounds": FIND, "missing": 40}, r"columns\.x\.missing: It may be outside"),
    "no query": (
        {"bounds": {"find": True, "query": "z", "candidates": [0, 1]}},
        "No query is called 'z'",
    ),
    "another query": (
        {"bounds": {"find": True, "query": "all"}, "candidates": [0, 1]},
        r"x\.bounds\.query: Expected a query of 2 quantiles of x",
    ),
    "found": ({"bounds": FIND | {"found": [0, 10]}}, r"x\.bounds\.found: Written by"),
    "its name": ({"bounds": FIND | {"query": "q"}}, r"columns\.x\.bounds: 'q' is used twice"),
}


@pytest.mark.parametrize("case", _PROBLEMS)
def test_what_is_wrong_is_told_with_its_key(case: str) -> None:
    column, why = _PROBLEMS[case]
    with pytest.raises(SpecError, match=why):
        ln.Release(**spec_of(columns={"x": column}))


def test_shares_leave_something() -> None:
    half = FIND | {"share": "0.5"}
    with pytest.raises(
        SpecError, match=r"columns\.y\.bounds\.share: Expected shares that add up to less"
    ):
        ln.Release(**spec_of(columns={"x": {"bounds": half}, "y": {"bounds": half}}))


def test_what_rests_on_units_that_are_not_known_is_refused() -> None:
    raw = spec_of()
    raw["query"][0]["accuracy"] = {"std": 1}
    with pytest.raises(SpecError, match=r"query\[0\]\.accuracy: Not used where columns\.x\.bounds"):
        ln.Release(**raw)
    raw["privacy"] = {"unit": "person", "epsilon": "least"}
    with pytest.raises(SpecError, match=r'columns\.x\.bounds: Not used with epsilon = "least"'):
        ln.Release(**raw)
    raw = spec_of(
        columns={"x": {"bounds": FIND | {"candidates": {"from": -1, "to": 1, "step": 1}}}}
    )
    raw["query"][0] |= {"clamp": True, "statistics": ["sum(x)"]}
    with pytest.raises(SpecError, match=r"clamp: sum\(x\) can be negative"):
        ln.Release(**raw)
    with pytest.raises(SpecError, match=r"columns\.x\.bounds: Nothing in \[contribution\] limits"):
        ln.Release(**spec_of(contribution={"l2": 3}))


@pytest.mark.dense
def test_a_query_of_ones_own_may_find_them(tmp_path: Path) -> None:
    query = {"name": "mine", "statistics": ["quantile(x, 0.9)"], "filter": "plan = 2"}
    bounds = {"find": True, "low": -1, "query": "mine"}
    raw = spec_of(columns={"x": {"bounds": bounds, "candidates": CANDIDATES}}, output={"path": "o"})
    raw["query"].append(query)
    released = written(tmp_path, raw).run()
    (high,) = released.tables["mine"].columns["quantile_x_0.9"]
    assert released.plan.spec.columns["x"].limits == (-1, high)
    ln.verify_directory(tmp_path / "o")


@pytest.mark.dense
def test_what_is_clipped_is_counted_by_the_bounds_that_were_found(tmp_path: Path) -> None:
    privacy = {"unit": "person", "epsilon": 1000}
    raw = spec_of(privacy=privacy, output={"path": "o", "format": "csv"})
    raw["query"] = [{"name": "q", "statistics": ["mean(x)"], "clipping": "0.1"}]
    release, rows = written(tmp_path, raw), rows_of()
    counted = "count_outside_x counts values outside the bounds that the release finds."
    assert counted in str(release.plan())
    released = release.run()
    low, high = released.plan.spec.columns["x"].limits or (0, 0)
    away = ((rows["x"] < float(low)) | (rows["x"] > float(high))).sum()
    counted = released.tables["q_clipping"].columns["count_outside_x"]
    assert counted == pytest.approx([away], abs=1)
    assert f"count_outside_x counts values below {low} or above {high}." in str(released.plan)
    ln.verify_directory(tmp_path / "o")


def test_a_builder_finds_them() -> None:
    built = ln.release(rows_of(), unit="person", epsilon=1, max_rows=2)
    built = built.mean("x", bounds=FIND).sum("x", by="plan", keys={"plan": [1, 2]})
    assert [query.name for query in built.spec.query] == ["all", "by_plan", "x_bounds"]
    assert [*built.run().tables] == ["all", "by_plan", "x_bounds"]


def test_the_command_plans_releases_and_verifies(tmp_path: Path) -> None:
    release = written(tmp_path, spec_of(output={"path": "out", "format": "csv"}))
    (tmp_path / "spec.toml").write_text(release.to_toml())
    for more, text in (((), 4), (("--verbose",), 14)):  # of three sizes of a group
        shown = run("release", "spec.toml", "--plan", *more, cwd=tmp_path)
        assert shown.stdout.count("(widest bounds)") == text, shown.stderr
    process = run("release", "spec.toml", "--json", cwd=tmp_path)
    record = json.loads(process.stdout)
    assert record["tables"] == ["q", "all", "x_bounds"]
    low, high = record["plan"]["found_bounds"]["x"]["found"]
    checked = run("verify", "out", cwd=tmp_path)
    assert checked.returncode == 0, checked.stderr
    assert "Bounds that the release found itself follow from the published tables" in " ".join(
        checked.stdout.split()
    )
    assert f"found = [\n    {low},\n    {high},\n]" in (tmp_path / "out/spec.toml").read_text()


@pytest.mark.dense
def test_limits_and_differences_are_not_of_found_bounds(
    published: dict[str, bytes], tmp_path: Path
) -> None:
    release = written(tmp_path, _published(), rows_of(2990))
    (tmp_path / "spec.toml").write_text(release.to_toml())

    def attempt(name: str, values: list[str]) -> object:
        sample = tmp_path / "rows.parquet"
        spec = tmp_path / "spec.toml"
        return try_limits(spec, name=name, values=values, sample=sample, progress=lambda _: None)

    with pytest.raises(Refused, match=r"finds columns\.x\.bounds itself each time"):
        attempt("max_rows", ["1"])
    assert attempt("bounds.x", ["0..10"])
    release.run()
    (tmp_path / "one").mkdir()
    with pytest.raises(Refused, match="'x_bounds': the error of a difference"):
        ln.subtract_releases(_restored(published, tmp_path / "one"), tmp_path / "out")


@pytest.mark.dense
def test_a_mean_counts_missing_values_at_the_middle_of_what_is_found(tmp_path: Path) -> None:
    raw = spec_of(columns={"x": {"bounds": FIND, "missing": "none"}}, output={"path": "out"})
    release = written(tmp_path, raw)
    (text,) = (
        noisy_part.layout.missing[0]
        for noisy_part in release.plan().noisy_parts
        if noisy_part.name == "q"
    )
    assert "counts as the middle of the bounds that are found" in text
    released = release.run()
    low, high = released.plan.spec.columns["x"].limits or (0, 0)
    (text,) = (
        noisy_part.layout.missing[0]
        for noisy_part in released.plan.noisy_parts
        if noisy_part.name == "q"
    )
    assert f"counts as {float((low + high) / 2):.6g}, the middle of its bounds" in text
    ln.verify_directory(tmp_path / "out")


@pytest.mark.parametrize(
    "other", [{"share": "0.5"}, {"levels": ["0.2", "0.8"]}, {"candidates": [0, 1]}]
)
def test_a_builder_is_told_of_bounds_once(other: dict[str, Any]) -> None:
    built = ln.release(rows_of(0), unit="person", epsilon=1, max_rows=2).mean("x", bounds=FIND)
    built.sum("x", bounds=FIND)
    with pytest.raises(InvalidArgument, match="the value given before for the column 'x'"):
        built.sum("x", bounds=FIND | other)


def test_bounds_that_nothing_rests_on_are_not_found(tmp_path: Path) -> None:
    raw = spec_of(query=[{"name": "q", "statistics": ["count"]}])
    with pytest.raises(SpecError, match=r"columns\.x\.bounds: Not used: no sum"):
        written(tmp_path, raw).plan()


@pytest.mark.dense
def test_what_is_found_at_the_end_of_the_candidates_is_said(tmp_path: Path) -> None:
    bounds = FIND | {"low": -1, "candidates": [0, 50, 60]}
    privacy = {"unit": "person", "epsilon": 1000}
    release = written(tmp_path, spec_of(columns={"x": {"bounds": bounds}}, privacy=privacy))
    plan = release.plan()
    assert "The release first finds the upper bound of x between 0 and 60, from quantile" in str(
        plan
    )
    errors = [item for part in plan.to_record()["noisy_parts"] for item in part["errors"]]
    marks = {(error["statistic"], error.get("bounds")) for error in errors}
    assert {("count", None), ("mean_x", "widest"), ("sum_x", "widest")} <= marks
    text = str(release.run().plan)
    assert "The upper bound of x was found between 0 and 60" in text
    assert "The upper bound is the last candidate, so values of x may lie above the bound." in text
    assert "first candidate" not in text


def test_a_query_finds_them_among_candidates_of_the_bounds(tmp_path: Path) -> None:
    bounds = {"find": True, "query": "mine", "candidates": CANDIDATES}
    raw = spec_of(columns={"x": {"bounds": bounds}})
    raw["query"].append({"name": "mine", "statistics": ["median(x)", "quantile(x, 0.9)"]})
    assert len(ln.Release(**raw).spec.columns["x"].ends) == 101


@pytest.mark.parametrize("name", ["_é" * 3 + "x", "x" * 100])
def test_a_column_of_any_name_has_a_table(name: str) -> None:
    raw = spec_of(columns={name: {"bounds": FIND}})
    raw["query"] = [{"name": "q", "statistics": [f"mean({name})"]}]
    assert ln.Release(**raw).spec.query[1].name in {"x_bounds", "x" * 64}
