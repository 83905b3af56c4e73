"""Every public function with a wrong argument raises an error that names the argument.

One argument at a time of the calls in tests/public_calls.py is replaced by something hostile. The
call must raise one of our errors, and return nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import leastnoise as ln
from leastnoise import _validate
from leastnoise.errors import InvalidArgument, InvalidInput, show_value
from leastnoise.guarantees.geometry import CellGeometry
from leastnoise.noise.registry import FAMILIES
from leastnoise.tables.parse import spec_file
from tests.attacks.public import RESULTS
from tests.hostile_values import BIG, HOSTILE
from tests.noise_calls import NOISE
from tests.public_calls import SUBJECTS
from tests.subjects import certificate, gaussian

# Hostile values that mean something after all.
OPTIONAL = {
    ("CountingQueries", "max_nonzero"), ("compose", "sampling_rate"), ("to_opendp", "epsilon"),
    ("Mechanism.compose", "sampling_rate"), ("calibrate a design", "gap"), ("to_pld", "points"),
    ("calibrate a design", "time_limit"), ("afford", "dataset"), ("charge", "dataset"),
    ("register", "dataset"), ("use", "dataset"), ("Counts", "most"), ("Together", "exponent"),
    ("Jointly", "exponent"), ("Claim", "sensitivity"), ("Claim", "noise"),
    ("Claim of a distribution", "distribution"), ("audit_mechanism", "inputs"),
    ("audit_mechanism", "detectors"), ("release", "neighbours"), ("release", "delta"),
    ("audit_mechanism", "score"),
}  # fmt: skip
LEGAL: Mapping[tuple[str, str], Callable[[Any], bool]] = {
    ("ScaledIntegers", "bits"): lambda value: value == -1,
    ("workload", "queries"): lambda value: value == [[True]],  # a table of who is counted
    ("ScaledIntegers", "numerators"): lambda value: value in (1, [1]),  # numpy makes int64 of them
    # an empty plan, or a witness that makes no sense, is refused when it is proved
    ("PlanCertificate", "draws"): lambda value: value == [],
    ("Witness", "multipliers"): lambda value: value == [],
    ("Witness", "prices"): lambda value: value == [],
    **{("Witness", name): lambda value: type(value) is int for name in ("cells", "reach", "bits")},
    ("release", "data"): lambda value: isinstance(value, str),  # a path
    ("calibrate a shape", "modes"): lambda value: value == "1",  # as the command line gives it
    ("contains", "value"): lambda value: value == 1,
    ("Family's flags", "enough_bits"): lambda value: type(value) is int,  # few are enough for some
    ("certainly_at_most", "bound"): lambda value: type(value) is Fraction,  # however small
}
TRIED = [(name, argument) for name, item in SUBJECTS.items() for argument in item.given]


def _legal(name: str, argument: str, value: Any) -> bool:
    if value is None:
        return (name, argument) in OPTIONAL
    if not isinstance(value, int | str | list | Fraction) or value is True:
        return False
    return LEGAL.get((name, argument), lambda value: False)(value)


@pytest.mark.parametrize(("name", "argument"), TRIED, ids=[" ".join(item) for item in TRIED])
def test_what_is_hostile_is_refused_by_name(name: str, argument: str) -> None:
    item = SUBJECTS[name]
    kind, _ = item.given[argument]
    for value in HOSTILE[kind]:
        if _legal(name, argument, value):
            continue
        with pytest.raises(InvalidInput) as refused:
            item.call(**item.arguments(**{argument: value}))
        assert item.named.get(argument, argument) in str(refused.value), repr(value)[:80]
        assert len(str(refused.value)) < 500
        if isinstance(refused.value, InvalidArgument):
            assert refused.value.expected


def _numbers_in(value: Any) -> list[Any]:
    if is_dataclass(value) and not isinstance(value, type):
        results = [_numbers_in(getattr(value, field.name)) for field in fields(value)]
        return [number for numbers in results for number in numbers]
    if isinstance(value, tuple | list):
        return [number for item in value for number in _numbers_in(item)]
    if isinstance(value, Fraction):
        return [value.numerator, value.denominator]
    return [value]


FRIENDLY: Mapping[str, Callable[[Any], Any]] = {
    "whole": np.uint8,
    "exact": lambda value: np.float32(value) if isinstance(value, str) else np.uint8(value),
    "flag": np.bool_,
    "text": np.str_,
    "word": np.str_,
    "float": np.float64,
    "exacts": np.array,
    "wholes": np.array,
    "rows": lambda rows: np.array(rows, dtype=float) if isinstance(rows, list) else np.array(rows),
}
RECORDS = [
    name for name in SUBJECTS
    if isinstance(SUBJECTS[name].call, type) and name not in {"Released", "from_plds"}
]  # fmt: skip


@pytest.mark.parametrize("name", RECORDS)
def test_no_numpy_scalar_is_kept(name: str) -> None:
    item = SUBJECTS[name]
    plain = item.call(**item.arguments())
    friendly = {
        argument: FRIENDLY[kind](value)
        for argument, (kind, value) in item.given.items()
        if kind in FRIENDLY
    }
    converted = item.call(**item.arguments(**friendly))
    if name != "ScaledIntegers":
        assert converted == plain
    kept = [value for value in _numbers_in(converted) if type(value) is not np.ndarray]
    assert not [value for value in kept if type(value).__module__ == "numpy"]


def test_every_family_and_every_public_name_is_tried() -> None:
    assert set(NOISE) == set(FAMILIES)
    tried = {subject.call for subject in SUBJECTS.values()}
    for name in dir(ln):
        # what a Release takes is the spec's to check
        if name not in {"errors", "noise", "Release", *RESULTS}:
            assert getattr(ln, name) in tried, name


# --- what the door was made for ------------------------------------------------------------------


def test_a_count_of_eight_bits_does_not_wrap() -> None:
    claim = ln.Certificate.prove(
        budget=ln.Budget(epsilon=1, delta="0.5"),
        noise=ln.noise.Gaussian(scale=20),
        sensitivity=ln.Linf(1, l0=2),
        geometry=CellGeometry(count=5),
    )
    mechanism, eight_bits = ln.Mechanism(claim), cast("int", np.uint8(200))
    assert mechanism.compose(eight_bits).delta(epsilon=1) == mechanism.compose(200).delta(epsilon=1)
    wrapping = ln.Linf(1, l0=eight_bits).radius("l1", dimension=eight_bits)
    assert wrapping == ln.Linf(1, l0=200).radius("l1", dimension=200)
    assert ln.Linf(1, l0=eight_bits).radius("l2", dimension=eight_bits) == ln.Linf(
        1, l0=200
    ).radius("l2", dimension=200)


def test_numpy_counts_calibrate_as_ints_do() -> None:
    problem: dict[str, Any] = {"epsilon": 1, "delta": "1e-5", "sensitivity": ln.L2(1)}
    counts: dict[str, Any] = {"compositions": np.int64(200), "dimension": np.int8(3)}
    plain = ln.calibrate("gaussian", compositions=200, dimension=3, **problem)
    numpys = ln.calibrate("gaussian", **counts, **problem)
    assert numpys.certificate == plain.certificate
    assert ln.Certificate.from_json(numpys.certificate.to_json()) == plain.certificate


def test_counts_end_where_floats_stop_telling_them_apart() -> None:
    most = gaussian().compose(2**53 // 2)
    assert most.delta(epsilon=1).upper <= 1
    for count in (2**53 + 1, 2**63, BIG):
        with pytest.raises(InvalidArgument, match="compositions"):
            gaussian().compose(count)


@pytest.mark.parametrize("count", [2**53 + 1, 2**63, BIG, True, 1.0, "1", 0, -1, None, [1]])
def test_certificates_with_counts_that_are_none_are_rejected(count: Any) -> None:
    record = certificate().to_record() | {"compositions": count}
    with pytest.raises(ln.errors.CertificateRejected, match="compositions"):
        ln.Certificate.from_record(record)


def test_records_of_python_objects_are_rejected_too() -> None:
    for record in (1, None, [], {1: 2, "a": 3}, {**certificate().to_record(), 1: 2}):
        with pytest.raises(ln.errors.CertificateRejected):
            ln.Certificate.from_record(record)


def test_a_fix_is_in_the_message() -> None:
    with pytest.raises(InvalidArgument, match=r"compositions=200\.0.*Write compositions=200\."):
        gaussian().compose(200.0)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidArgument, match="Did you mean gaussian"):
        ln.calibrate("gausian", epsilon=1, delta="0.1", sensitivity=ln.L2(1))


def test_messages_hold_no_data() -> None:
    """What isn't a number or a text may be data: its type is named, and no more."""
    for value in ([54321], np.array([54321]), {"54321": 1}, (54321,)):
        assert "543" not in show_value(value)
    assert show_value(BIG) == "a number of very many digits"
    assert len(show_value("x" * 10**6)) < 60


def test_a_log_density_needs_points_of_its_dimension() -> None:
    law = ln.noise.Gaussian(scale=1, dimension=3)
    for x in ([1.0], [[1.0, 2.0]], 1.0, [1, [2]], np.zeros(2)):
        with pytest.raises(InvalidArgument, match="x"):
            law.log_density(x)


def test_a_spec_of_numpy_scalars_is_the_same() -> None:
    plain = ln.Release(
        data={"source": "a.csv", "types": {"p": "int", "k": "int", "x": "float"}},
        privacy={"unit": "p", "epsilon": 1, "delta": "0.1"},
        contribution={"max_rows": 5},
        columns={"x": {"bounds": [0, 30]}},
        query=[{"name": "a", "statistics": ["count", "mean(x)"], "group_by": {"k": [1, 2]}}],
    )
    numpys = ln.Release(
        data={"source": np.str_("a.csv"), "types": {"p": "int", "k": "int", "x": "float"}},
        privacy={"unit": "p", "epsilon": np.int8(1), "delta": np.float32(0.1)},
        contribution={"max_rows": np.int64(5)},
        columns={"x": {"bounds": np.array([0, 30])}},
        query=[
            {"name": "a", "statistics": ["count", "mean(x)"], "group_by": {"k": np.array([1, 2])}}
        ],
    )
    assert numpys.spec == plain.spec
    raw = spec_file.to_dict(plain.spec)
    assert ln.Release(**raw | {"data": raw["data"] | {"source": Path("a.csv")}}).spec == plain.spec
    assert type(numpys.spec.contribution.max_rows) is int  # pyright: ignore[reportOptionalMemberAccess]


GOOD: dict[str, Any] = {
    "data": {"source": "a.parquet"},
    "privacy": {"unit": "row", "epsilon": 1},
    "query": [{"name": "a", "statistics": ["count"]}],
}


@pytest.mark.parametrize("version", [True, 1.0, "1", None, 2])
def test_versions_of_a_spec(version: Any) -> None:
    assert ln.Release(**GOOD).spec.version == 1
    with pytest.raises(ln.errors.SpecError, match="version"):
        ln.Release(**GOOD, version=version)


@pytest.mark.parametrize("section", ["data", "privacy", "query", "contribution", "columns"])
def test_sections_that_are_none_are_problems_of_the_spec(section: str) -> None:
    wrong: list[Any] = [1, True, "x", 1j, object(), [1], np.ma.masked]
    for value in wrong:
        with pytest.raises(ln.errors.SpecError, match=section):
            ln.Release(**GOOD | {section: value})


# --- numpy's scalars, wherever a number is exact --------------------------------------------------


def _exactly(value: Any) -> list[Any]:
    """Objects from all functions that take exact numbers; each number is `value`, which is 0.1."""
    profile: dict[str, Any] = {"sensitivity": ln.L1(1), "scale": value, "epsilons": [value]}
    return [
        ln.Budget(epsilon=value, delta=value),
        ln.Budget(epsilon=1).share(value),
        ln.L1(value), ln.L2(value), ln.Linf(value, l0=2), ln.Vertices([[value], [1]]),
        ln.CountingQueries(dimension=2, bound=value),
        ln.noise.Gaussian(scale=value),
        ln.calibrate("laplace", epsilon=value, delta=value, sensitivity=ln.L1(value)).certificate,
        ln.calibrate(
            "laplace", epsilon=value, sensitivity=ln.L1(1), sampling_rate=value
        ).certificate,
        ln.calibrate(
            "generalized-gamma", epsilon=1, delta="0.01", sensitivity=ln.L2(1), dimension=3,
            parameters={"alpha": value, "p": 1},
        ).certificate,
        ln.privacy_profile("laplace", **profile),
        gaussian().delta(epsilon=value),
        gaussian().epsilon(delta=value),
        gaussian().compose(2).delta(epsilon=value),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
def test_a_tenth_of_any_width_is_a_tenth(kind: Callable[[str], Any]) -> None:
    assert _exactly(kind("0.1")) == _exactly("0.1")


WHOLE = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)


@pytest.mark.parametrize("kind", WHOLE)
def test_whole_numbers_of_any_width(kind: Callable[[int], Any]) -> None:
    budget = ln.Budget(epsilon=kind(100), delta="0.1")
    assert budget == ln.Budget(epsilon=100, delta="0.1")
    assert type(budget.epsilon.numerator) is int
    assert ln.L2(kind(100)).bound * 10**9 == 10**11  # kept as it came it would wrap
    many = gaussian().compose(100).delta(epsilon=1)
    assert gaussian().compose(kind(100)).delta(epsilon=1) == many


@pytest.mark.parametrize("value", [np.True_, np.False_, np.timedelta64(1, "s"), np.array(1)])
def test_what_is_no_number_is_refused_in_words(value: Any) -> None:
    for takes in (lambda: ln.Budget(epsilon=value), lambda: ln.L2(value)):
        with pytest.raises(InvalidArgument, match="Expected a decimal number, got"):
            takes()
    with pytest.raises(InvalidArgument, match="compositions"):
        gaussian().compose(value)


def _least_slips(first: str, second: str) -> int:
    """The least number of slips that turn the first text into the second, by recursion."""
    if not first or not second:
        return len(first) + len(second)
    tried = [
        _least_slips(first[:-1], second) + 1,
        _least_slips(first, second[:-1]) + 1,
        _least_slips(first[:-1], second[:-1]) + (first[-1] != second[-1]),
    ]
    if len(first) > 1 and len(second) > 1 and first[-2:] == second[:-3:-1]:
        tried.append(_least_slips(first[:-2], second[:-2]) + 1)
    return min(tried)


def test_slips_of_typing_are_counted() -> None:
    words = ["".join(case) for size in range(4) for case in product("ab", repeat=size)]
    words += ["abab", "acba", "cab"]
    for first in words:
        for second in words:
            assert _validate._slips(first, second) == _least_slips(first, second), (first, second)


def test_names_of_up_to_40_letters_have_a_nearest_one() -> None:
    assert _validate.nearest_name("x" * 39 + "y", ["x" * 40]) == "x" * 40
    assert _validate.nearest_name("x" * 40 + "y", ["x" * 41]) is None


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("laplcae", "laplace"),
        ("Gausian", "gaussian"),
        ("meen", "mean"),
        ("moon", None),  # two errors in four letters
        ("lace", None),
        ("m", None),
    ],
)
def test_a_name_is_suggested_only_within_a_few_typing_errors(word: str, meant: str | None) -> None:
    assert _validate.nearest_name(word, ["laplace", "gaussian", "mean", "n"]) == meant
