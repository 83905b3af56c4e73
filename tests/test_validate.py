"""Every public name × arguments that aren't what it takes: an error that names the argument.

`SUBJECTS` lists callables with arguments that work; one argument at a time becomes something
hostile. Nothing but our own errors may come out, and no number.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any, cast, final

import numpy as np
import pytest

import leastnoise as ln
from leastnoise import _validate
from leastnoise.accounting import conversions
from leastnoise.certify.composed import Releases
from leastnoise.design.body_bound import BodyWitness
from leastnoise.design.lower_bound import Witness
from leastnoise.errors import InvalidArgument, InvalidInput, LeastnoiseError
from leastnoise.guarantees.geometry import Blocks, Cells, CountEllipse, Matrix
from leastnoise.guarantees.hidden import Hidden
from leastnoise.guarantees.sensitivity import sensitivity_of_kind
from leastnoise.interop import from_plds, to_dp_event, to_opendp, to_pld
from leastnoise.ledger.preregistered import Preregistered
from leastnoise.noise.loss import Loss
from leastnoise.noise.registry import FAMILIES, family_named
from leastnoise.release.mechanism import Released
from leastnoise.release.values import ScaledIntegers

NOTHING = object()
BIG = 10**400  # no float, and its decimal is longer than Python prints
ANY_KIND: tuple[Any, ...] = (
    object(), 1j, np.complex64(1), b"1", np.ma.masked, np.array(["x"]), len, int, {"a": 1}, {1},
    np.datetime64("2020-01-01"),
)  # fmt: skip
NO_NUMBER = (
    *ANY_KIND, True, np.True_, " 1 ", "x", "", math.nan, np.float32("nan"), np.longdouble(1), [],
    [1], np.array(1), np.ma.array(1, mask=True), np.timedelta64(1), Decimal("sNaN"),
)  # fmt: skip
HOSTILE: Mapping[str, tuple[Any, ...]] = {
    "whole": (*NO_NUMBER, None, 1.0, 200.0, np.float64(2), 1.5, "1", Fraction(1), Decimal(1), -1,
              math.inf, BIG, -BIG, float(2**63)),
    "exact": (*NO_NUMBER, None, math.inf, -math.inf, BIG, "1e999", "1,5", Fraction(1, BIG)),
    "flag": (*ANY_KIND, None, 0, 1, "false", "", np.array(True), [], 1.0, np.int64(1), -1),
    "text": (*ANY_KIND, None, 1, True, math.nan, [], ["l2"], BIG),
    "word": (*ANY_KIND, None, 1, True, math.nan, [], ["l2"], "nonsense", "", BIG),
    "float": (*NO_NUMBER, None, "0.5", BIG, Fraction(1, 3), Decimal(1)),
    "exacts": (*ANY_KIND, None, 1, "12", [None], [True], [[1]], [" 1 "], np.array(1), math.nan),
    "wholes": (*ANY_KIND, None, 1, "12", [None], [True], [1.0], ["1"], [[1]], np.array([1.0])),
    "rows": (*ANY_KIND, None, 1, "12", [1], ["12"], [[None]], [[True]], [[math.nan]], [], BIG),
    "pairs": (*ANY_KIND, None, 1, "12", [1], [(1,)], ["ab"], [(1, 2)], [], BIG),
    "object": (*ANY_KIND, None, 1, True, "x", math.nan, [1], BIG),
    "table": (*ANY_KIND[:-3], ANY_KIND[-1], 1, True, "x", [1], [("modes", 1)], {1: 2}, BIG),
    "path": (*ANY_KIND, None, 1, True, math.nan, [], BIG),
}  # fmt: skip


@final
@dataclass(frozen=True, kw_only=True)
class Subject:
    """`call` with arguments that work, each as (its kind above, a value); how errors name it."""

    call: Callable[..., Any]
    given: Mapping[str, tuple[str, Any]]
    named: Mapping[str, str]

    def arguments(self, **instead: Any) -> dict[str, Any]:
        return {name: value for name, (_, value) in self.given.items()} | instead


def subject(
    call: Callable[..., Any], named: Mapping[str, str] | None = None, /, **given: tuple[str, Any]
) -> Subject:
    return Subject(call=call, given=given, named=named or {})


NOISE: Mapping[str, dict[str, tuple[str, Any]]] = {
    "cactus": {"cells": ("whole", 1), "masses": ("wholes", (2, 1))},
    "discrete-staircase": {"cells": ("whole", 1), "masses": ("wholes", (2, 1))},
    "flipped-huber": {"alpha": ("exact", 0), "gamma": ("exact", 2)},
    "gaussian": {"dimension": ("whole", 3)},
    "gaussian-mixture": {"modes": ("whole", 1), "spacing": ("exact", 1), "decay": ("exact", 1)},
    "generalized-gamma": {"alpha": ("exact", 1), "p": ("exact", 1), "dimension": ("whole", 3)},
    "laplace": {"dimension": ("whole", 3)},
    "optimal": {"cells": ("whole", 1), "masses": ("wholes", (2, 1))},
    "optimal-radial": {
        "dimension": ("whole", 2), "cells": ("whole", 2), "edges": ("wholes", (1, 3)),
        "weights": ("wholes", (4, 1)),
    },
    "quasi-gaussian": {"spacing": ("exact", 1), "decay": ("exact", 1)},
    "l2": {"dimension": ("whole", 3)},
    "spherical-staircase": {
        "dimension": ("whole", 3), "gamma": ("exact", "0.5"), "radius": ("exact", 2),
        "decay": ("exact", 1),
    },
    "staircase": {"gamma": ("exact", "0.5"), "decay": ("exact", 1)},
    "truncated-laplace": {"radius": ("exact", 2)},
    "truncated-staircase": {
        "gamma": ("exact", "0.5"), "radius": ("exact", 2), "decay": ("exact", 1),
        "atom": ("exact", "0.1"),
    },
    "tulap": {"radius": ("exact", 2), "decay": ("exact", 1)},
}  # fmt: skip


@cache
def gaussian() -> ln.Mechanism:
    return ln.Mechanism(certificate())


@cache
def certificate() -> ln.Certificate:
    budget = ln.Budget(epsilon=1, delta="0.1")
    return ln.Certificate.prove(
        budget=budget, noise=ln.Gaussian(scale=4), sensitivity=ln.L2(1), compositions=2
    )


@cache
def plan() -> ln.PlanCertificate:
    budget = ln.Budget(epsilon=1, delta="0.1")
    return ln.PlanCertificate.prove(budget=budget, blocks=(("a", certificate()),))


@cache  # nothing that is refused is written
def ledger() -> ln.Ledger:
    return ln.Ledger(Path(tempfile.mkdtemp()) / "visits.ledger")


@cache
def opened() -> ln.Ledger:
    budget = ln.Budget(epsilon=5, delta="0.5")
    ledger().open_account("visits", unit="person", budget=budget)
    return ledger()


def ledger_call(method: str, **arguments: Any) -> Any:
    return getattr(opened(), method)(**arguments)


WITNESS = Witness(cells=1, reach=1, bits=1, multipliers=((1, 1),), prices=((1,),))
PART = Releases(noise=ln.Gaussian(scale=4), hidden=Hidden.of(ln.L2(1)), count=2)
BUDGET = {"epsilon": ("exact", 1), "delta": ("exact", "0.1")}
PROBLEM = {
    **BUDGET, "sensitivity": ("object", ln.L2(1)), "dimension": ("whole", 1),
    "loss": ("word", "mse"), "compositions": ("whole", 2), "sampling_rate": ("exact", 1),
}  # fmt: skip
RATES = {"sampling_rate": "sampling-rate"}
CHARGED = {"release": ("object", certificate()), "unit": ("text", "person")}
NAMED = {"neighbours": ("text", "add-remove"), "dataset": ("text", "visits")}
CONVERSIONS = {
    "delta_of_pure": {"pure": 1, "epsilon": 1},
    "delta_of_approximate": {"pure": 1, "leak": "0.1", "epsilon": 1},
    "epsilon_of_pure": {"pure": 1, "delta": "0.1"},
    "rdp_of_pure": {"pure": 1, "order": 2},
    "zcdp_of_pure": {"pure": 1},
    "gdp_of_pure": {"pure": 1},
    "delta_of_gdp": {"mu": 1, "epsilon": 1},
    "epsilon_of_gdp": {"mu": 1, "delta": "0.1"},
    "zcdp_of_gdp": {"mu": 1},
    "rdp_of_zcdp": {"rho": 1, "order": 2},
    "delta_of_rdp": {"tau": 1, "order": 2, "epsilon": 1},
    "epsilon_of_rdp": {"tau": 1, "order": 2, "delta": "0.1"},
    "delta_of_zcdp": {"rho": 1, "epsilon": 1},
    "epsilon_of_zcdp": {"rho": 1, "delta": "0.1"},
}
BOUND = {"bound": ("exact", 1)}
AS_SENSITIVITY = {"bound": "sensitivity"}

SUBJECTS: dict[str, Subject] = {
    **{
        name: subject(FAMILIES[name], scale=("exact", 1), **given) for name, given in NOISE.items()
    },
    **{
        name: subject(getattr(conversions, name), {"leak": "delta"}, **{
            key: ("exact", value) for key, value in given.items()
        })
        for name, given in CONVERSIONS.items()
    },
    "scaled": subject(ln.Gaussian(scale=1).scaled, factor=("exact", 2)),
    "log_density": subject(ln.Gaussian(scale=1, dimension=2).log_density, x=("object", [1, 2])),
    "Budget": subject(ln.Budget, **BUDGET),
    "share": subject(ln.Budget(epsilon=1).share, fraction=("exact", "0.5")),
    "Interval": subject(ln.Interval, lower=("float", 0.1), upper=("float", 0.5)),
    "certainly_at_most": subject(ln.Interval(0.1, 0.5).certainly_at_most, bound=("exact", 1)),
    "contains": subject(ln.Interval(0.1, 0.5).contains, value=("object", 1)),
    "L1": subject(ln.L1, AS_SENSITIVITY, **BOUND),
    "L2": subject(ln.L2, AS_SENSITIVITY, **BOUND),
    "Integer": subject(ln.Integer, AS_SENSITIVITY, **BOUND),
    "of_kind": subject(
        sensitivity_of_kind, {"kind": "norm", **AS_SENSITIVITY}, kind=("word", "l2"), **BOUND
    ),
    "Linf": subject(ln.Linf, AS_SENSITIVITY, l0=("whole", 2), whole=("flag", False), **BOUND),
    "CountingQueries": subject(
        ln.CountingQueries, AS_SENSITIVITY, dimension=("whole", 3), max_nonzero=("whole", 2),
        neighbours=("word", "add-remove"), with_total=("flag", False), **BOUND,
    ),
    "Groups": subject(
        ln.Groups, AS_SENSITIVITY, groups=("whole", 2), dimension=("whole", 3),
        neighbours=("word", "add-remove"), **BOUND,
    ),
    "Vertices": subject(ln.Vertices, points=("rows", [[1, 0], ["0.6", "0.8"]])),
    "radius": subject(ln.Linf(1, l0=2).radius, norm=("word", "l2"), dimension=("whole", 200)),
    "CountEllipse": subject(
        CountEllipse, queries=("whole", 3), shared=("exact", 1), offset=("exact", 1),
        total=("exact", 1),
    ),
    "Blocks": subject(
        Blocks, groups=("whole", 2), queries=("whole", 3), shared=("exact", 1),
        offset=("exact", 1), total=("exact", 1),
    ),
    "Matrix": subject(Matrix, rows=("rows", [[1, 0], [0, 1]])),
    "Cells": subject(Cells, count=("whole", 3)),
    "Releases": subject(
        Releases, {"count": "compositions", "rate": "sampling-rate"},
        noise=("object", ln.Gaussian(scale=1)), hidden=("object", Hidden.of(ln.L2(1))),
        count=("whole", 2), rate=("exact", 1),
    ),
    "Hidden": subject(Hidden, inner=("object", ln.L2(1)), outer=("object", ln.L2(1))),
    "Composition": subject(
        ln.Composition, parts=("object", (PART,)), fineness=("whole", 64)
    ),
    "Composition.delta": subject(ln.Composition(parts=(PART,)).delta, epsilon=("exact", 1)),
    "Composition.epsilon": subject(ln.Composition(parts=(PART,)).epsilon, delta=("exact", "0.1")),
    "profile": subject(ln.Composition(parts=(PART,)).profile, {"epsilons": "epsilon"},
                       epsilons=("exacts", [1])),
    "trade_off": subject(
        ln.Composition(parts=(PART,)).trade_off, {"epsilons": "epsilon"},
        alphas=("exacts", ["0.5"]), epsilons=("exacts", [1]),
    ),
    "compose": subject(
        ln.compose, RATES, releases=("pairs", [(gaussian(), 2)]), sampling_rate=("exact", "0.5")
    ),
    "compose a count": subject(
        lambda count: ln.compose([(gaussian(), count)]), {"count": "compositions"},
        count=("whole", 2),
    ),
    "Mechanism.compose": subject(
        gaussian().compose, {"count": "compositions", **RATES}, count=("whole", 2),
        sampling_rate=("exact", "0.5"),
    ),
    "Mechanism": subject(ln.Mechanism, certificate=("object", certificate())),
    "Mechanism.delta": subject(gaussian().delta, epsilon=("exact", 1)),
    "Mechanism.epsilon": subject(gaussian().epsilon, delta=("exact", "0.1")),
    "Mechanism.on_grid": subject(gaussian().on_grid, grid=("exact", "0.5")),
    "Released": subject(
        Released, values=("object", np.zeros(1)), certificate=("object", certificate())
    ),
    "ScaledIntegers": subject(
        ScaledIntegers, numerators=("object", np.array([1])), bits=("whole", 3)
    ),
    "Certificate": subject(
        ln.Certificate, RATES, budget=("object", ln.Budget(epsilon=1)),
        noise=("object", ln.Gaussian(scale=1)), sensitivity=("object", ln.L2(1)),
        delta=("object", ln.Interval(0.1, 0.5)), compositions=("whole", 2),
        sampling_rate=("exact", "0.5"),
    ),
    "Certificate.prove": subject(
        ln.Certificate.prove, RATES, budget=("object", ln.Budget(epsilon=1, delta="0.5")),
        noise=("object", ln.Gaussian(scale=9)), sensitivity=("object", ln.L2(1)),
        compositions=("whole", 2), sampling_rate=("exact", "0.5"),
    ),
    "Certificate.from_json": subject(
        ln.Certificate.from_json, text=("text", certificate().to_json())
    ),
    "PlanCertificate.from_json": subject(
        ln.PlanCertificate.from_json, text=("text", plan().to_json())
    ),
    "PlanCertificate": subject(
        ln.PlanCertificate, budget=("object", ln.Budget(epsilon=1)),
        blocks=("pairs", (("a", certificate()),)), rule=("word", plan().rule),
    ),
    "LowerBound": subject(
        ln.LowerBound, loss=("word", Loss.MSE), value=("float", 0.5), epsilon=("exact", 1),
        delta=("exact", "0.1"), witness=("object", WITNESS), scope=("word", "real"),
    ),
    "LowerBound.prove": subject(
        ln.LowerBound.prove, loss=("word", Loss.MSE), epsilon=("exact", 1),
        delta=("exact", "0.1"), witness=("object", WITNESS), scope=("word", "real"),
    ),
    "LowerBound.from_json": subject(
        ln.LowerBound.from_json,
        text=("text", ln.LowerBound.prove(
            loss=Loss.MSE, epsilon=1, delta="0.1", witness=WITNESS).to_json()),
    ),
    "Witness": subject(
        Witness, cells=("whole", 1), reach=("whole", 1), bits=("whole", 1),
        multipliers=("rows", ((1, 1),)), prices=("rows", ((1,),)),
    ),
    "BodyWitness": subject(
        BodyWitness, sensitivity=("object", ln.L2(1)), dimension=("whole", 2),
        coordinates=("whole", 2), times=("whole", 1), gamma=("exact", "0.5"),
    ),
    "Loss": subject(Loss.named, {"name": "loss"}, name=("word", "mse")),
    "family_named": subject(family_named, {"name": "noise"}, name=("word", "l2")),
    "calibrate": subject(
        ln.calibrate, RATES, noise=("word", "gaussian"), parameters=("table", {}), **PROBLEM
    ),
    "calibrate a shape": subject(
        lambda modes: ln.calibrate(
            "gaussian-mixture", epsilon=1, delta="0.1", sensitivity=ln.L2(1),
            parameters={"modes": modes},
        ),
        modes=("whole", 1),
    ),
    "calibrate a design": subject(
        partial(ln.calibrate, "optimal", epsilon=1, delta="0.5", sensitivity=ln.L2(1)),
        gap=("float", 0.2), time_limit=("float", 5.0),
    ),
    "compare": subject(ln.compare, RATES, bound=("flag", False), parameters=("table", {}),
                       **PROBLEM),
    "least_noise": subject(ln.least_noise, RATES, **PROBLEM),
    "privacy_profile": subject(
        ln.privacy_profile, {"epsilons": "epsilon", **RATES}, noise=("word", "gaussian"),
        scale=("exact", 1), epsilons=("exacts", [1]), sensitivity=("object", ln.L2(1)),
        dimension=("whole", 2), compositions=("whole", 2), sampling_rate=("exact", 1),
        parameters=("table", {}),
    ),
    "calibrate_together": subject(
        ln.calibrate_together, releases=("pairs", [(gaussian(), 2)]), **BUDGET
    ),
    "Ledger": subject(ln.Ledger, path=("path", "x.ledger")),
    "open_account": subject(
        lambda **arguments: ledger().open_account(**arguments), dataset=("text", "visits"),
        unit=("text", "person"), budget=("object", ln.Budget(epsilon=1)),
        neighbours=("word", "add-remove"),
    ),
    "afford": subject(partial(ledger_call, "afford"), **CHARGED, **NAMED),
    "charge": subject(partial(ledger_call, "charge"), label=("text", ""), **CHARGED, **NAMED),
    "register": subject(
        partial(ledger_call, "register"), releases=("pairs", [(certificate(), 2)]),
        budget=("object", ln.Budget(epsilon=2, delta="0.2")), label=("text", ""),
        unit=("text", "person"), **NAMED,
    ),
    "use": subject(
        partial(ledger_call, "use"), plan=("whole", 9), label=("text", ""), **CHARGED, **NAMED
    ),
    "Preregistered": subject(
        lambda count: Preregistered(
            budget=ln.Budget(epsilon=1), releases=((certificate(), count),)
        ),
        count=("whole", 2),
    ),
    "check_ledger": subject(ln.check_ledger, path=("path", "none")),
    "verify_directory": subject(ln.verify_directory, path=("path", "none")),
    "Release.from_toml": subject(ln.Release.from_toml, path=("path", "none")),
    "to_pld": subject(
        to_pld, releases=("object", gaussian()), interval=("float", 0.5), points=("whole", 20)
    ),
    "to_dp_event": subject(to_dp_event, releases=("object", gaussian())),
    "to_opendp": subject(
        to_opendp, mechanism=("object", gaussian()), measure=("word", "dp"), epsilon=("exact", 1)
    ),
    "from_plds": subject(from_plds, plds=("pairs", NOTHING)),
}  # fmt: skip

# Hostile values that mean something after all.
OPTIONAL = {
    ("CountingQueries", "max_nonzero"), ("compose", "sampling_rate"), ("to_opendp", "epsilon"),
    ("Mechanism.compose", "sampling_rate"), ("calibrate a design", "gap"), ("to_pld", "points"),
    ("calibrate a design", "time_limit"), ("afford", "dataset"), ("charge", "dataset"),
    ("register", "dataset"), ("use", "dataset"),
}  # fmt: skip
LEGAL: Mapping[tuple[str, str], Callable[[Any], bool]] = {
    ("ScaledIntegers", "bits"): lambda value: value == -1,
    ("ScaledIntegers", "numerators"): lambda value: value in (1, [1]),  # numpy makes int64 of them
    # an empty plan, or a witness that makes no sense, is refused when it is proved
    ("PlanCertificate", "blocks"): lambda value: value == [],
    ("Witness", "multipliers"): lambda value: value == [],
    ("Witness", "prices"): lambda value: value == [],
    **{("Witness", name): lambda value: type(value) is int for name in ("cells", "reach", "bits")},
    ("calibrate a shape", "modes"): lambda value: value == "1",  # as the command line gives it
    ("contains", "value"): lambda value: value == 1,
    ("certainly_at_most", "bound"): lambda value: type(value) is Fraction,  # however small
}
TRIED = [(name, argument) for name, one in SUBJECTS.items() for argument in one.given]


def _legal(name: str, argument: str, value: Any) -> bool:
    if value is None:
        return (name, argument) in OPTIONAL
    if not isinstance(value, int | str | list | Fraction) or value is True:
        return False
    return LEGAL.get((name, argument), lambda value: False)(value)


@pytest.mark.parametrize(("name", "argument"), TRIED, ids=[" ".join(one) for one in TRIED])
def test_what_is_hostile_is_refused_by_name(name: str, argument: str) -> None:
    one = SUBJECTS[name]
    kind, _ = one.given[argument]
    for value in HOSTILE[kind]:
        if _legal(name, argument, value):
            continue
        with pytest.raises(InvalidInput) as refused:
            one.call(**one.arguments(**{argument: value}))
        assert one.named.get(argument, argument) in str(refused.value), repr(value)[:80]
        assert len(str(refused.value)) < 400
        if isinstance(refused.value, InvalidArgument):
            assert refused.value.expected


def _numbers_in(value: Any) -> list[Any]:
    if is_dataclass(value) and not isinstance(value, type):
        found = [_numbers_in(getattr(value, one.name)) for one in fields(value)]
        return [number for numbers in found for number in numbers]
    if isinstance(value, tuple | list):
        return [number for one in value for number in _numbers_in(one)]
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
    one = SUBJECTS[name]
    plain = one.call(**one.arguments())
    friendly = {
        argument: FRIENDLY[kind](value)
        for argument, (kind, value) in one.given.items()
        if kind in FRIENDLY
    }
    converted = one.call(**one.arguments(**friendly))
    if name != "ScaledIntegers":
        assert converted == plain
    kept = [value for value in _numbers_in(converted) if type(value) is not np.ndarray]
    assert not [value for value in kept if type(value).__module__ == "numpy"]


def test_every_family_and_every_public_name_is_tried() -> None:
    assert set(NOISE) == set(FAMILIES)
    tried = {one.call for one in SUBJECTS.values()}
    for name in dir(ln):
        value = getattr(ln, name)
        if isinstance(value, type) and issubclass(value, LeastnoiseError):
            continue
        # a Comparison is what `compare` returns; what a Release takes is the spec's to check
        if name not in {"__version__", "Comparison", "Release"}:
            assert value in tried, name


# --- what the door was made for ------------------------------------------------------------------


def test_a_count_of_eight_bits_does_not_wrap() -> None:
    claim = ln.Certificate.prove(
        budget=ln.Budget(epsilon=1, delta="0.5"),
        noise=ln.Gaussian(scale=20),
        sensitivity=ln.Linf(1, l0=2),
        geometry=Cells(count=5),
    )
    one, eight_bits = ln.Mechanism(claim), cast("int", np.uint8(200))
    assert one.compose(eight_bits).delta(epsilon=1) == one.compose(200).delta(epsilon=1)
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
    with pytest.raises(ln.CertificateRejected, match="compositions"):
        ln.Certificate.from_record(record)


def test_records_of_python_objects_are_rejected_too() -> None:
    for record in (1, None, [], {1: 2, "a": 3}, {**certificate().to_record(), 1: 2}):
        with pytest.raises(ln.CertificateRejected):
            ln.Certificate.from_record(record)


def test_a_fix_is_in_the_message() -> None:
    with pytest.raises(InvalidArgument, match=r"compositions=200\.0.*Write compositions=200\."):
        gaussian().compose(200.0)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidArgument, match="Did you mean gaussian"):
        ln.calibrate("gausian", epsilon=1, delta="0.1", sensitivity=ln.L2(1))


def test_messages_hold_no_data() -> None:
    """What isn't a number or a text may be data: its type is named, and no more."""
    for value in ([54321], np.array([54321]), {"54321": 1}, (54321,)):
        assert "543" not in _validate.shown(value)
    assert _validate.shown(BIG) == "a number of very many digits"
    assert len(_validate.shown("x" * 10**6)) < 60


def test_a_log_density_needs_points_of_its_dimension() -> None:
    law = ln.Gaussian(scale=1, dimension=3)
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
    assert type(numpys.spec.contribution.max_rows) is int  # pyright: ignore[reportOptionalMemberAccess]


GOOD: dict[str, Any] = {
    "data": {"source": "a.parquet"},
    "privacy": {"unit": "row", "epsilon": 1},
    "query": [{"name": "a", "statistics": ["count"]}],
}


@pytest.mark.parametrize("version", [True, 1.0, "1", None, 2])
def test_versions_of_a_spec(version: Any) -> None:
    assert ln.Release(**GOOD).spec.version == 1
    with pytest.raises(ln.SpecError, match="version"):
        ln.Release(**GOOD, version=version)


@pytest.mark.parametrize("section", ["data", "privacy", "query", "contribution", "columns"])
def test_sections_that_are_none_are_problems_of_the_spec(section: str) -> None:
    wrong: list[Any] = [1, True, "x", 1j, object(), [1], np.ma.masked]
    for value in wrong:
        with pytest.raises(ln.SpecError, match=section):
            ln.Release(**GOOD | {section: value})
