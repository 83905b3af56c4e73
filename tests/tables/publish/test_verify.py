"""Released directories: true ones verify, and every false edit is rejected without a crash."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from leastnoise.certificate.plan import PlanCertificate
from leastnoise.errors import CertificateRejected, InvalidInput, SourceError
from leastnoise.mechanism import accuracy
from leastnoise.selection.public import calibrate
from leastnoise.tables.answers.plain.answer import Drawn
from leastnoise.tables.noise import errors as noise_error
from leastnoise.tables.noise.errors import measure_error
from leastnoise.tables.publish.verify import verify_directory
from tests.tables.resealed import verify_resealed
from tests.tables.test_release import folder, make_rows, release

__all__ = ["folder"]  # the fixture

EDITS = {
    "epsilon down": ("certificate.json", '"epsilon": "1"', '"epsilon": "0.9"'),
    "spec's epsilon down": ("spec.toml", "epsilon = 1", 'epsilon = "0.9"'),
    "spec's delta down": ("spec.toml", "1e-6", "1e-7"),
    "more rows a person": ("spec.toml", "max_rows = 4", "max_rows = 5"),
    "another weight": ("spec.toml", "importance = 2", "importance = 3"),
    "one more key": ("spec.toml", "    9,", "    9,\n    10,"),
    "another statistic": ("spec.toml", '    "count",\n', ""),
    "another unit": ("spec.toml", "[contribution]\nmax_rows = 4", ""),
    "another name": ("spec.toml", '"bins"', '"bin"'),
    "a column renamed": ("bins.csv", "count_std", "count_sd"),
    "a row missing": ("bins.csv", "2.0,5.0", ""),
    "the plan's scale": ("plan.json", '"scale": "', '"scale": "0.'),
    "the plan's budget": ("plan.json", '"epsilon": "1"', '"epsilon": "0.5"'),
    "the plan's errors": ("plan.json", '"std": ', '"std": 1'),
    "the plan's plain noise": ("plan.json", '"plain_gaussian_std": ', '"plain_gaussian_std": 1'),
    "what the geometry saves": (
        "plan.json",
        '"saved_by_geometry": ',
        '"saved_by_geometry": 1',
    ),
    "what joint accounting saves": (
        "plan.json",
        '"error_relative_to_split": 0.',
        '"error_relative_to_split": 0.1',
    ),
    "the plan's rule": ("plan.json", '"rule": "tight', '"rule": "basic'),
    "the rule": (
        "certificate.json",
        "tight composition: all draws of noise together, their laws fixed in advance",
        "basic composition: epsilons and deltas add up",
    ),
    "the plan's notes": ("plan.json", "cover the noise alone", "cover all"),
    "what is missing": ("plan.json", "are left out of the", "are in the"),
    "a second field in the plan": ("plan.json", '"unit": "who"', '"unit": "x", "unit": "who"'),
    "a third field in the plan": ("plan.json", '"unit": "who"', '"unit": "who", "more": 1'),
    "the plan's version": ("plan.json", '"version": 1', '"version": true'),
    "a key": ("by_plan.csv", "\n9,", "\n8,"),
    "a key's spelling": ("by_plan.csv", "\n9,", "\n9.0,"),
    "an edge": ("bins.csv", "2.0,5.0", "2.0,4.0"),
    "no grid": ("certificate.json", '"grid": "', '"grid": null, "other": "'),
    "no plan": ("plan.json", "", None),
    "no table": ("by_plan.csv", "", None),
    "not a spec": ("spec.toml", "version = 1", "version = 7"),
    "unknown field": ("certificate.json", '"rule"', '"fine": 1, "rule"'),
    "a part's exponent": ("certificate.json", '"exponent": "', '"exponent": "1'),
}


OF_JOINT = ("what joint accounting saves", "the plan's rule", "the rule")


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with releases in each format, made once because they take seconds."""
    folder = make_rows(tmp_path_factory.mktemp("originals"))
    for kind in ("csv", "json", "parquet"):
        release(folder, output={"path": kind, "format": kind}).run()
        verify_directory(folder / kind)
    sums = [{"name": "all", "statistics": ["count", "sum(x)"]}]
    privacy = {"unit": "row", "epsilon": "1e-3"}
    small = {"query": sums, "privacy": privacy, "contribution": None}
    release(folder, output={"path": "sums", "format": "csv"}, **small).run()
    balls, together = {"l2": 6}, {"path": "together", "format": "csv"}
    release(folder, output=together, contribution=balls).run()
    return folder


@pytest.fixture
def releases(originals: Path, tmp_path: Path) -> Path:
    """A folder with true releases to spoil: "csv", "json", "parquet" and, in csv, "together"."""
    return shutil.copytree(originals, tmp_path / "made")


@pytest.mark.dense
@pytest.mark.parametrize("edit", EDITS)
def test_every_false_edit_is_rejected(releases: Path, edit: str) -> None:
    name, old, new = EDITS[edit]
    directory = releases / ("together" if edit in OF_JOINT else "csv")
    file = directory / name
    text = file.read_text()
    assert old in text
    if new is None:
        file.unlink()
    elif edit == "a row missing":
        file.write_text("".join(line for line in text.splitlines(True) if not line.startswith(old)))
    else:
        file.write_text(text.replace(old, new))
    with pytest.raises(CertificateRejected):
        verify_resealed(directory)


@pytest.mark.dense
@pytest.mark.parametrize("moved", [-3e-8, 3e-8])
def test_floats_of_another_machine_verify(
    originals: Path, monkeypatch: pytest.MonkeyPatch, moved: float
) -> None:
    def half_width(*asked: Any) -> float:
        return accuracy.half_width(*asked) * (1 + moved)

    monkeypatch.setattr(noise_error, "half_width", half_width)
    verify_directory(originals / "csv")
    verify_directory(originals / "sums")


@pytest.mark.dense
@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"sampling_rate": "0.1"}, "random samples"),
        ({"compositions": 2}, "is for 2 releases, but the spec is for 1"),
    ],
)
def test_noise_for_another_use_is_rejected(folder: Path, other: dict[str, Any], why: str) -> None:
    """All of the directory agrees with the certificate, which isn't about one whole table."""
    query = [{"name": "all", "statistics": ["count"]}]
    builder = release(folder, query=query, output={"path": "csv", "format": "csv"})
    builder.run()
    plan = builder.plan()
    [part] = plan.noisy_parts
    known = part.mechanism.certificate
    less = calibrate(
        "gaussian",
        epsilon=part.budget.epsilon,
        delta=part.budget.delta,
        sensitivity=known.sensitivity,
        dimension=known.dimension,
        **other,
    )
    proof = PlanCertificate.prove(budget=plan.budget, draws=(("all", less.certificate),))
    (drawn,) = plan.answered
    assert isinstance(drawn, Drawn)
    answered = (replace(drawn, certificate=less.certificate),)
    forged = replace(plan, answered=answered, certificate=proof)
    target = folder / "csv"
    (target / "plan.json").write_text(forged.to_json())
    (target / "certificate.json").write_text(forged.certificate.to_json())
    rows = pd.read_csv(target / "all.csv").assign(count_std=measure_error(less.certificate).std)
    rows.to_csv(target / "all.csv", index=False)
    with pytest.raises(CertificateRejected, match=why):
        verify_resealed(target)


@pytest.mark.grid
@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_deviations_that_the_noise_does_not_have_are_rejected(releases: Path, kind: str) -> None:
    true = pd.read_parquet(releases / "parquet" / "bins.parquet")
    for std in (1.0, float("nan"), -true["count_std"][0]):
        frame = true.copy()
        frame.loc[1, "count_std"] = std
        file = releases / kind / f"bins.{kind}"
        if kind == "json":
            file.write_text(json.dumps(frame.to_dict("records")))
        elif kind == "csv":
            frame.to_csv(file, index=False)
        else:
            frame.to_parquet(file)
        with pytest.raises(CertificateRejected, match=r"bins\."):
            verify_resealed(releases / kind)


@pytest.mark.dense
@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_keys_of_every_type_verify(folder: Path, kind: str) -> None:
    frame = pd.read_parquet(folder / "rows.parquet").assign(town="a", old=True)
    frame.to_parquet(folder / "rows.parquet")
    keys = {"town": ['a,"b"', "1", " ", "\u00fc\n"], "old": [False, True], "plan": [-1, 2]}
    query = [{"name": "q", "statistics": ["count", "sum(x)"], "group_by": keys}]
    released = release(folder, query=query, output={"path": "out", "format": kind}).run()
    assert verify_directory(folder / "out").certificate == released.certificate


OPEN_ENDS = {
    "csv": [("-inf,2.0", "-9.0,2.0"), ("7.5,inf", "7.5,8.0"), ("2.0,7.5", "2.0,7.500000001")],
    "json": [
        ('"x_from": null', '"x_from": 0.0'),
        ('"x_from": null', '"x_from": -Infinity'),
        ('"x_to": 7.5', '"x_to": null'),
        ('"x_to": 7.5', '"x_to": 7.500000001'),
    ],
}


@pytest.mark.dense
@pytest.mark.parametrize("kind", OPEN_ENDS)
def test_bands_and_open_ends_verify_and_false_edges_do_not(folder: Path, kind: str) -> None:
    groups = {"x": {"edges": ["-inf", 2, 7.5, "inf"]}, "plan": {"edges": [0, 3]}}
    query = [{"name": "q", "statistics": ["count_units", "mean(x)"], "group_by": groups}]
    release(folder, query=query, output={"path": "out", "format": kind}).run()
    verify_directory(folder / "out")
    file = folder / "out" / f"q.{kind}"
    text = file.read_text()
    for old, new in OPEN_ENDS[kind]:
        assert old in text
        file.write_text(text.replace(old, new, 1))
        with pytest.raises(CertificateRejected, match="other keys"):
            verify_resealed(folder / "out")


def test_a_path_with_a_pattern_in_it_is_that_path(releases: Path) -> None:
    for name in ("out1", "out[12]", "out*"):
        shutil.copytree(releases / "parquet", releases / name)
    (releases / "out1" / "bins.parquet").write_bytes(b"no table")  # out[12] is a pattern for it
    verify_directory(releases / "out[12]")
    verify_directory(releases / "out*")
    with pytest.raises(CertificateRejected, match=r"bins\.parquet"):
        verify_resealed(releases / "out1")


DEEP = 100_000
MALFORMED: dict[str, tuple[str, str]] = {
    "deep plan": ("plan.json", '{"a":' * DEEP),
    "long number in the plan": ("plan.json", '{"a": ' + "9" * 5000 + "}"),
    "plan is no text": ("plan.json", "\udcff"),
    "deep certificate": ("certificate.json", '{"a":' * DEEP),
    "long number in the certificate": ("certificate.json", '{"a": ' + "9" * 5000 + "}"),
    "long number in the spec": ("spec.toml", "version = " + "9" * 5000),
    "deep spec": ("spec.toml", "version = " + "[" * DEEP),
    "deep table": ("bins.json", "[" * DEEP),
    "long number in a table": ("bins.json", '[{"x_from": ' + "9" * 5000 + "}]"),
    "a table of lists": ("bins.json", '[[["x_from", 1]]]'),
    "a table of numbers": ("bins.json", "[1]"),
    "a field twice": ("bins.json", '[{"x_from": 1, "x_from": 1}]'),
    "an object for a deviation": ("bins.json", '[{"count_std": {}}]'),
    "long field": ("bins.csv", "a\n" + "9" * 200_000),
    "empty": ("bins.csv", ""),
    "no utf-8": ("bins.csv", "\udcff"),
}


@pytest.mark.grid
@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_files_are_refused_and_crash_nothing(releases: Path, case: str) -> None:
    name, text = MALFORMED[case]
    kind = "json" if name == "bins.json" else "csv"
    (releases / kind / name).write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises((CertificateRejected, InvalidInput)):
        verify_resealed(releases / kind)


@pytest.mark.dense
def test_directories_that_are_no_releases(folder: Path) -> None:
    with pytest.raises(SourceError, match="found none"):
        verify_directory(folder / "none")
    with pytest.raises(SourceError, match=r"has no spec.toml"):
        verify_directory(folder)
    release(folder).run()
    (folder / "out" / "certificate.json").unlink()
    with pytest.raises(SourceError, match=r"no certificate.json"):
        verify_directory(folder / "out")


@pytest.mark.dense
def test_verification_needs_nothing_but_the_directory(folder: Path) -> None:
    release(folder).run()
    (folder / "rows.parquet").unlink()
    shutil.move(folder / "out", folder / "elsewhere")
    assert verify_directory(folder / "elsewhere").spec == release(folder).spec


FILES = ["spec.toml", "plan.json", "certificate.json", "bins.csv"]


@pytest.mark.grid
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("what", ["pipe", "device", "link", "folder", "huge"])
def test_hostile_files_are_refused_at_once(releases: Path, name: str, what: str) -> None:
    file = releases / "csv" / name
    content = file.read_bytes()
    file.unlink()
    if what == "pipe":
        os.mkfifo(file)
    elif what == "device":
        file.symlink_to("/dev/zero")
    elif what == "link":  # to what would verify: but then it isn't all in the directory
        (releases / "true").write_bytes(content)
        file.symlink_to(releases / "true")
    elif what == "folder":
        file.mkdir()
    else:
        with file.open("wb") as sparse:
            sparse.truncate(2**41)
    why = (
        "bytes"
        if what == "huge"
        else "a pipe or device|is a folder|is a symbolic link|missing or unread"
    )
    with pytest.raises((SourceError, CertificateRejected), match=why):
        verify_resealed(releases / "csv")


def test_a_link_to_the_directory_is_followed(releases: Path) -> None:
    (releases / "latest").symlink_to(releases / "csv")
    verify_directory(releases / "latest")


@pytest.mark.parametrize("changed", ["x + 2", "x"])
def test_another_meaning_of_a_derived_column_is_rejected(folder: Path, changed: str) -> None:
    query = [{"name": "moved", "statistics": ["mean(y)"]}]
    columns = {"y": {"bounds": [0, 11]}}
    release(folder, query=query, derive={"y": "x + 1"}, columns=columns).run()
    spec = folder / "out" / "spec.toml"
    text = spec.read_text()
    assert 'y = "x + 1"' in text
    spec.write_text(text.replace('y = "x + 1"', f'y = "{changed}"'))
    with pytest.raises(CertificateRejected, match=r"plan\.json differs from the plan that follows"):
        verify_resealed(folder / "out")
