"""Every public callable with valid arguments, and the kind of hostile values for each argument.

`SUBJECTS` holds the callables by name; tests/test_validate.py checks that none is missing.
"""

from __future__ import annotations

from functools import partial

import numpy as np

import leastnoise as ln
from leastnoise.accounting import conversions
from leastnoise.design.bounds.body_bound import BodyWitness
from leastnoise.design.bounds.lower_bound import Witness
from leastnoise.guarantees.bodies.cells import AtMost, Cells
from leastnoise.guarantees.bodies.counts import Counted, CountedSums, Counts
from leastnoise.guarantees.bodies.plain import Ball, Box, Polygon, Segment
from leastnoise.guarantees.bodies.signed import Differences, Signed
from leastnoise.guarantees.bodies.together import Jointly, Together
from leastnoise.guarantees.geometry import Blocks, CellGeometry, CountEllipse, Matrix
from leastnoise.guarantees.sensitivity import ShiftBounds, sensitivity_of_kind
from leastnoise.interop import from_plds, to_dp_event, to_opendp, to_pld
from leastnoise.mechanism.mechanism import Released
from leastnoise.mechanism.values import ScaledIntegers
from leastnoise.noise.question import Loss, Releases
from leastnoise.noise.registry import FAMILIES, family_named
from tests.ledger_calls import LEDGER
from tests.noise_calls import COUNTS, NOISE
from tests.subjects import Subject, certificate, gaussian, plan, subject

NOTHING = object()


COUNTING = ln.CountingQueries(dimension=3)


WITNESS = Witness(cells=1, reach=1, bits=1, multipliers=((1, 1),), prices=((1,),))
PART = Releases(noise=ln.noise.Gaussian(scale=4), shifts=ShiftBounds.of(ln.L2(1)), compositions=2)
BUDGET = {"epsilon": ("exact", 1), "delta": ("exact", "0.1")}
PROBLEM = {
    **BUDGET, "sensitivity": ("object", ln.L2(1)), "dimension": ("whole", 1),
    "loss": ("word", "mse"), "compositions": ("whole", 2), "sampling_rate": ("exact", 1),
}  # fmt: skip
RATES = {"sampling_rate": "sampling-rate"}
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
        name: subject(family_named(name), scale=("exact", 1), **given)
        for name, given in NOISE.items()
    },
    **{
        name: subject(getattr(conversions, name), {"leak": "delta"}, **{
            key: ("exact", value) for key, value in given.items()
        })
        for name, given in CONVERSIONS.items()
    },
    "scaled": subject(ln.noise.Gaussian(scale=1).scaled, factor=("exact", 2)),
    "log_density": subject(
        ln.noise.Gaussian(scale=1, dimension=2).log_density, x=("object", [1, 2])
    ),
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
    "RowCounts": subject(
        ln.RowCounts, AS_SENSITIVITY, neighbours=("word", "add-remove"), **BOUND
    ),
    "CountingQueries": subject(
        ln.CountingQueries, AS_SENSITIVITY, dimension=("whole", 3), max_nonzero=("whole", 2),
        neighbours=("word", "add-remove"), with_total=("flag", False), **BOUND,
    ),
    "Groups": subject(
        ln.Groups, AS_SENSITIVITY, groups=("whole", 2), dimension=("whole", 3),
        neighbours=("word", "add-remove"), **BOUND,
    ),
    "Vertices": subject(ln.Vertices, points=("rows", [[1, 0], ["0.6", "0.8"]])),
    "body": subject(ln.Linf(1).body, dimension=("whole", 3)),
    "additions": subject(COUNTING.additions, dimension=("whole", 3)),
    "holds": subject(Ball(bound=1, coordinates=2).holds, x=("exacts", [1, 0]),
                     times=("exact", 1)),
    "body Interval": subject(Segment, **BOUND),
    "Box": subject(Box, bounds=("exacts", [1, 2])),
    "Ball": subject(Ball, coordinates=("whole", 3), **BOUND),
    "Polygon": subject(Polygon, points=("rows", [[1, 0], [0, 1]])),
    "body Cells": subject(
        Cells, bodies=("objects", (Segment(bound=1),)), copies=("wholes", [2])
    ),
    "AtMost": subject(
        AtMost, most=("whole", 1), cells=("whole", 2), of=("object", Segment(bound=1))
    ),
    "Together": subject(
        Together, bodies=("objects", (Segment(bound=1), Segment(bound=1))),
        radii=("exacts", [2, 2]), exponent=("exact", 1),
    ),
    "Signed": subject(Signed, of=("object", COUNTS)),
    "Differences": subject(Differences, of=("object", COUNTS)),
    "Counts": subject(Counts, queries=("whole", 3), most=("whole", 2), **BOUND),
    "CountedSums": subject(CountedSums, cells=("whole", 2), bounds=("exacts", [1, 2])),
    "Counted": subject(Counted, of=("object", COUNTS), **BOUND),
    "Jointly": subject(
        Jointly, parts=("objects", (COUNTS, COUNTS)), radii=("exacts", [2, 2]),
        exponent=("exact", 1),
    ),
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
    "Cells": subject(CellGeometry, count=("whole", 3)),
    "Releases": subject(
        Releases, {"sampling_rate": "sampling-rate"},
        noise=("object", ln.noise.Gaussian(scale=1)), shifts=("object", ShiftBounds.of(ln.L2(1))),
        compositions=("whole", 2), sampling_rate=("exact", 1),
    ),
    "Hidden": subject(ShiftBounds, inner=("object", ln.L2(1)), outer=("object", ln.L2(1))),
    "Composition": subject(
        ln.Composition, parts=("object", (PART,)), points_per_std=("whole", 64)
    ),
    "Composition.delta": subject(ln.Composition(parts=(PART,)).delta, epsilon=("exact", 1)),
    "Composition.epsilon": subject(
        ln.Composition(parts=(PART,)).epsilon, delta=("exact", "0.1"), accuracy=("exact", "0.01")
    ),
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
    "Shares": subject(
        ln.Shares, mechanism=("object", gaussian()), clients=("whole", 3), absent=("whole", 1)
    ),
    "release_vector": subject(  # a real vector is in tests/engines
        ln.release_vector, mechanism=("object", gaussian()), vector=("object", None),
        folder=("path", "made"),
    ),
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
        noise=("object", ln.noise.Gaussian(scale=1)), sensitivity=("object", ln.L2(1)),
        delta=("object", ln.Interval(0.1, 0.5)), compositions=("whole", 2),
        sampling_rate=("exact", "0.5"),
    ),
    "Certificate.prove": subject(
        ln.Certificate.prove, RATES, budget=("object", ln.Budget(epsilon=1, delta="0.5")),
        noise=("object", ln.noise.Gaussian(scale=9)), sensitivity=("object", ln.L2(1)),
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
        draws=("pairs", (("a", certificate()),)), rule=("word", plan().rule),
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
    "Family": subject(ln.Family, law=("object", ln.noise.Gaussian), proof=("function", len)),
    "Family's flags": subject(
        partial(ln.Family, proof=len), law=("object", ln.noise.Gaussian),
        lengthy=("flag", False), quick=("flag", True), longest_is_worst=("flag", True),
        enough_bits=("whole", 60), refinement=("float", 2.5),
    ),
    "register a family": subject(ln.register, family=("object", FAMILIES["gaussian"])),
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
    "Claim": subject(
        ln.Claim, sensitivity=("object", ln.L1(1)), noise=("object", ln.noise.Laplace(scale=1)),
        **BUDGET,
    ),
    "Claim of a distribution": subject(
        partial(ln.Claim, epsilon=1), distribution=("function", len)
    ),
    "Claim.of": subject(ln.Claim.of, mechanism=("object", gaussian())),
    "audit_mechanism": subject(
        ln.audit_mechanism, mechanism=("function", len), claim=("object", ln.Claim(epsilon=1)),
        inputs=("pairs", (0, 1)), draws=("whole", 1000), error=("exact", "1e-3"),
        detectors=("objects", ["noise"]), score=("function", len), batched=("flag", True),
    ),
    "calibrate_jointly": subject(
        ln.calibrate_jointly, releases=("pairs", [(gaussian(), 2)]), **BUDGET
    ),
    "workload": subject(
        ln.workload, queries=("rows", [[1, 1], [0, 1]]), neighbours=("word", "add-remove"),
        max_rows=("whole", 1), **BUDGET,
    ),
    **LEDGER,
    "verify_directory": subject(ln.verify_directory, path=("path", "none")),
    "subtract_releases": subject(
        ln.subtract_releases, before=("path", "none"), after=("path", "none")
    ),
    "standardise_rates": subject(
        ln.standardise_rates, directory=("path", "none"), query=("text", "rates"),
        weights=("table", {"age": [1]}),
    ),
    "release": subject(
        ln.release, data=("object", {"source": "a.parquet"}), unit=("text", "person"),
        max_rows=("whole", 2), neighbours=("word", "add-remove"), **BUDGET,
    ),
    "release's sum": subject(
        ln.release({"source": "a.parquet"}, unit="row", epsilon=1).sum,
        column=("text", "x"), bounds=("pairs", (0, 1)),
    ),
    "release's quantile": subject(
        partial(
            ln.release({"source": "a.parquet"}, unit="row", epsilon=1).quantile, candidates=[1, 2]
        ),
        column=("text", "x"), level=("exact", "0.5"),
    ),
    "Release.from_toml": subject(ln.Release.from_toml, path=("path", "none")),
    "to_pld": subject(
        to_pld, releases=("object", gaussian()), interval=("float", 0.5), points=("whole", 20)
    ),
    "to_dp_event": subject(to_dp_event, releases=("object", gaussian())),
    "to_opendp": subject(
        to_opendp, mechanism=("object", gaussian()), measure=("word", "dp"), epsilon=("exact", 1),
        numbers=("word", "f64"),
    ),
    "from_plds": subject(from_plds, plds=("pairs", NOTHING)),
}  # fmt: skip
