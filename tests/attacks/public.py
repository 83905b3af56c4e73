"""The public functions, listed from the package, and valid arguments by the names of parameters.

New functions are listed, too. A parameter whose name isn't known here always gets a hostile value.
"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable
from enum import Enum
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import leastnoise as ln
from leastnoise import interop
from leastnoise.accounting import conversions  # public: docs/accounting.md documents it

_HOMES = {"ln": ln, "interop": interop, "conversions": conversions}
_CSV = "person,x\n" + "".join(f"{i // 2},{i % 5}\n" for i in range(20))
_COLUMNS = {"x": {"bounds": [0, 5], "candidates": [0, 1, 2]}}
_SPEC = """version = 1
data = { source = "rows.csv", types = { person = "int", x = "int" } }
privacy = { unit = "row", epsilon = "1" }
query = [{ name = "n", statistics = ["count"] }]
output = { path = "out", format = "csv" }
"""


@cache
def targets() -> tuple[str, ...]:
    """The names of all public functions, constructors and methods."""
    results: list[str] = []
    for home, module, names in (
        ("ln", ln, dir(ln)),
        ("interop", interop, interop.__all__),
        ("conversions", conversions, vars(conversions)),
    ):
        for name in names:
            value = getattr(module, name)
            computed = str(getattr(value, "__module__", "")).startswith("leastnoise")
            if name.startswith("_") or not computed or _is_left_out(value):
                continue
            if home == "conversions" and value.__module__ != conversions.__name__:
                continue
            if name not in RESULTS:
                results.append(f"{home}.{name}")
            if inspect.isclass(value):
                results += [f"{home}.{name}.{method}" for method in _methods(value)]
    return tuple(results)


# Classes that users get as results and never construct, and a method with a private argument.
RESULTS = (
    "Account",
    "Audit",
    "BestPossible",
    "Candidate",
    "Charge",
    "CheckedLedger",
    "Comparison",
    "Converted",
    "Finding",
    "ImportedLosses",
    "JointNoise",
    "Plan",
    "Released",
    "ReleaseDifference",
    "ReleasedTables",
    "ReleaseBuilder",
    "Remaining",
    "Skipped",
    "VerifiedRelease",
    "WorkloadNoise",
)
INTERNAL = ("admit", "check_statement", "largest", "of", "one_release_at", "rule_for")


def _is_left_out(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, BaseException | Enum)


def _methods(kind: type) -> list[str]:
    names = [name for name in dir(kind) if not name.startswith("_") and name not in INTERNAL]
    return [name for name in names if callable(getattr(kind, name))]


def parameters(target: str) -> dict[str, inspect.Parameter]:
    """The parameters of a target by name, without self; a method needs no object."""
    home, name, *rest = target.split(".")
    value = getattr(_HOMES[home], name)
    if not rest:
        return dict(inspect.signature(value).parameters)
    bound = isinstance(inspect.getattr_static(value, rest[0]), (classmethod, staticmethod))
    listed = [*inspect.signature(getattr(value, rest[0])).parameters.items()]
    return dict(listed if bound else listed[1:])


def found(target: str) -> tuple[Callable[..., Any], inspect.Signature]:
    """The function that a target names, and its signature; a method is bound to a valid object."""
    home, name, *rest = target.split(".")
    value = getattr(_HOMES[home], name)
    if rest:
        static = isinstance(inspect.getattr_static(value, rest[0]), (classmethod, staticmethod))
        value = getattr(value if static else instance(name, value), rest[0])
    return value, inspect.signature(value)


def instance(name: str, kind: type) -> Any:
    """A valid object of a public class."""
    if name in _INSTANCES:
        return _INSTANCES[name]()
    return kind(**arguments(inspect.signature(kind), {}))


def arguments(signature: inspect.Signature, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments `given`, and a valid value for every other required parameter."""
    wanted = {
        name: good(name, str(item.annotation))
        for name, item in signature.parameters.items()
        if item.default is item.empty and item.kind not in (item.VAR_KEYWORD, item.VAR_POSITIONAL)
    }
    return wanted | given


def knows(name: str, annotation: str) -> bool:
    """True if a valid value is known for a parameter of this name and type."""
    return annotation in _BY_TYPE or name in _GOOD


def good(name: str, annotation: str = "") -> Any:
    """A valid value for a parameter of this name and type; None if no value is known."""
    value = _BY_TYPE.get(annotation, _GOOD.get(name))
    value = value() if callable(value) else value
    return Fraction(value) if annotation == "Fraction" and isinstance(value, str) else value


@cache
def mechanism() -> ln.Mechanism:
    """Proved Laplace noise for one number."""
    return ln.calibrate("laplace", epsilon=1, sensitivity=ln.L1(1))


@cache
def lower_bound() -> Any:
    """A proved lower bound on the loss of noise for one number, by a linear program."""
    comparison = ln.compare(
        epsilon=1,
        delta="1e-3",
        sensitivity=ln.L1(1),
        loss="mae",
        bound=True,
        gap=0.9,
        time_limit=60,
    )
    return comparison.best_possible.bound if comparison.best_possible else None


def _ledger() -> ln.Ledger:
    ledger = ln.Ledger(Path(tempfile.mkdtemp()) / "a.ledger")
    ledger.open_account("a", unit="person", budget=ln.Budget(epsilon=9, delta="1e-5"))
    return ledger


def _release() -> ln.Release:
    folder = Path(tempfile.mkdtemp())
    (folder / "rows.csv").write_text(_CSV)
    (folder / "spec.toml").write_text(_SPEC)
    return ln.Release.from_toml(folder / "spec.toml")


def _builder() -> ln.ReleaseBuilder:
    folder = Path(tempfile.mkdtemp())
    (folder / "rows.csv").write_text(_CSV)
    data = {"source": "rows.csv", "types": {"person": "int", "x": "int"}}
    return ln.release(data, unit="row", epsilon=1, folder=folder, columns=_COLUMNS).count()


def _ledger_file() -> Path:
    ledger = _ledger()
    ledger.charge(mechanism().certificate, unit="person")
    return Path(ledger.path)


def _audit() -> ln.Audit:
    return ln.audit_mechanism(mechanism(), draws=1000)


_INSTANCES: dict[str, Callable[[], Any]] = {
    "Audit": _audit,
    "Finding": lambda: _audit().findings[0],
    "Claim": lambda: ln.Claim(epsilon=1),
    "Mechanism": mechanism,
    "Certificate": lambda: mechanism().certificate,
    "PlanCertificate": lambda: ln.PlanCertificate.prove(
        budget=ln.Budget(epsilon=1), draws=(("a", mechanism().certificate),)
    ),
    "Comparison": lambda: ln.compare(epsilon=1, sensitivity=ln.L1(1)),
    "Composition": lambda: mechanism().compose(2),
    "Ledger": _ledger,
    "LowerBound": lower_bound,
    "Release": _release,
    "ReleaseBuilder": _builder,
    "CountingQueries": lambda: ln.CountingQueries(dimension=2),
    "Shares": lambda: ln.Shares(
        mechanism=ln.calibrate("gaussian", epsilon=1, delta="1e-5", sensitivity=ln.L2(1)),
        clients=2,
    ),
    "SphericalLaplace": lambda: ln.noise.SphericalLaplace(scale=1, dimension=2),
    "Groups": lambda: ln.Groups(groups=2, dimension=2),
    "WorkloadNoise": lambda: ln.workload([[1]], epsilon=1),
    "ImportedLosses": lambda: interop.from_pld(interop.to_pld(mechanism(), interval=0.1)),
}
_BY_TYPE: dict[str, Any] = {
    "Noise": lambda: ln.noise.Laplace(scale=1),
    "Interval": lambda: ln.Interval(0.0, 0.0),
    "Loss": lambda: lower_bound().loss,
    "Geometry | None": None,
    "Fraction | int": 1,
    "Fraction | float": 0.5,
    "Plan": lambda: _release().plan(),
    "Part": lambda: ln.noise.Laplace,
    "Family": lambda: ln.Family(law=ln.noise.Laplace, proof=ln.noise.Laplace, fit=ln.noise.Laplace),
}
_GOOD: dict[str, Any] = {
    "claim": lambda: ln.Claim(epsilon="1", sensitivity=ln.L1(1)),
    "epsilon": "1",
    "delta": "1e-5",
    "chunks": lambda: [[1.0]],
    "epsilons": lambda: ["1"],
    "alphas": lambda: ["0.5"],
    "sensitivity": lambda: ln.L1(1),
    "dimension": 1,
    "noise": "laplace",
    "family": "laplace",
    "scale": "1",
    "factor": "2",
    "x": lambda: [[1.0]],
    "bound": "1",
    "points": lambda: [["1", "0"]],
    "groups": 2,
    "radius": 2,
    "gamma": "0.5",
    "decay": "1",
    "lower": 0.1,
    "upper": 0.2,
    "value": Fraction(1, 2),
    "norm": "l2",
    "certificate": lambda: mechanism().certificate,
    "release": lambda: mechanism().certificate,
    "releases": lambda: [(mechanism(), 2)],
    "mechanism": mechanism,
    "count": 2,
    "grid": "0.125",
    "values": 1.0,
    "budget": lambda: ln.Budget(epsilon=1, delta="1e-5"),
    "draws": lambda: (("a", mechanism().certificate),),
    "parts": lambda: mechanism().compose(2).parts,
    "text": lambda: instance("Certificate", ln.Certificate).to_json(),
    "record": lambda: instance("Certificate", ln.Certificate).to_record(),
    "loss": "mse",
    "probability": 0.95,
    "neighbours": "add-remove",
    "half_width": 10,
    "dataset": "b",
    "column": "x",
    "by": "k",
    "level": "0.5",
    "section": None,
    "unit": "person",
    "plan": 1,
    "path": _ledger_file,
    **dict.fromkeys(("before", "after", "directory"), _ledger_file),
    "weights": {"region": [1]},
    "parameters": dict,
    "fraction": Fraction(1, 2),
    "sampling_rate": "0.5",
    "pure": "1",
    "leak": "1e-5",
    "mu": "1",
    "rho": "0.1",
    "tau": "1",
    "order": "2",
    "data": lambda: {"source": "rows.csv", "types": {"person": "int"}},
    "privacy": lambda: {"unit": "row", "epsilon": "1"},
    "queries": lambda: [[1.0]],
    "query": lambda: [{"name": "n", "statistics": ["count"]}],
    "pld": lambda: interop.to_pld(mechanism(), interval=0.1),
    "plds": lambda: [(interop.to_pld(mechanism(), interval=0.1), 1)],
    "of": mechanism,
    "witness": lambda: lower_bound().witness,
    "noises": lambda: [mechanism()],
    "law": lambda: ln.noise.Laplace(scale=1),
    "name": "law",
    "geometry": None,
    "clients": 2,
    "shares": lambda: [np.int64(1)] * 2,
    "added": np.int64(1),
    "folder": "made",
    "vector": 1.0,  # no dask array or Spark frame, which tests/engines has
}
