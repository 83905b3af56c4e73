"""leastnoise: the least noise that a differential-privacy guarantee allows, proved.

>>> import leastnoise as ln
>>> best = ln.least_noise(epsilon="1", delta="1e-5", sensitivity=ln.L2(1), dimension=7)
>>> best.noise.name, round(best.mse, 3)
('generalized-gamma', 48.492)

The names below are all that is public; each is imported when it is first used, so that importing
leastnoise costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leastnoise.accounting.composition import Composition as Composition
    from leastnoise.certificate.certificate import Certificate as Certificate
    from leastnoise.certificate.plan import PlanCertificate as PlanCertificate
    from leastnoise.design.lower_bound import LowerBound as LowerBound
    from leastnoise.errors import (
        CertificateRejected as CertificateRejected,
    )
    from leastnoise.errors import (
        InvalidArgument as InvalidArgument,
    )
    from leastnoise.errors import (
        InvalidInput as InvalidInput,
    )
    from leastnoise.errors import (
        LeastnoiseError as LeastnoiseError,
    )
    from leastnoise.errors import (
        LedgerRejected as LedgerRejected,
    )
    from leastnoise.errors import (
        NotApplicable as NotApplicable,
    )
    from leastnoise.errors import (
        NotCertified as NotCertified,
    )
    from leastnoise.errors import (
        OverBudget as OverBudget,
    )
    from leastnoise.errors import (
        RandomnessError as RandomnessError,
    )
    from leastnoise.errors import (
        Refused as Refused,
    )
    from leastnoise.errors import (
        SourceError as SourceError,
    )
    from leastnoise.errors import (
        SpecError as SpecError,
    )
    from leastnoise.guarantees.budget import Budget as Budget
    from leastnoise.guarantees.interval import Interval as Interval
    from leastnoise.guarantees.sensitivity import L1 as L1
    from leastnoise.guarantees.sensitivity import L2 as L2
    from leastnoise.guarantees.sensitivity import Integer as Integer
    from leastnoise.guarantees.structured import CountingQueries as CountingQueries
    from leastnoise.guarantees.structured import Groups as Groups
    from leastnoise.guarantees.structured import Linf as Linf
    from leastnoise.guarantees.structured import Vertices as Vertices
    from leastnoise.ledger.check import check_ledger as check_ledger
    from leastnoise.ledger.ledger import Ledger as Ledger
    from leastnoise.noise.family import Family as Family
    from leastnoise.noise.gaussian.law import Gaussian as Gaussian
    from leastnoise.noise.laplace.law.laplace import Laplace as Laplace
    from leastnoise.noise.radial.law.spherical_laplace import SphericalLaplace as SphericalLaplace
    from leastnoise.noise.registry import register as register
    from leastnoise.noise.steps.law.truncated_staircase import (
        TruncatedStaircase as TruncatedStaircase,
    )
    from leastnoise.release.mechanism import Mechanism as Mechanism
    from leastnoise.release.mechanism import compose as compose
    from leastnoise.selection.comparison import Comparison as Comparison
    from leastnoise.selection.search import (
        calibrate as calibrate,
    )
    from leastnoise.selection.search import (
        compare as compare,
    )
    from leastnoise.selection.search import (
        least_noise as least_noise,
    )
    from leastnoise.selection.search import (
        privacy_profile as privacy_profile,
    )
    from leastnoise.selection.together import calibrate_together as calibrate_together
    from leastnoise.tables.release import Release as Release
    from leastnoise.tables.verify import verify_directory as verify_directory

__version__ = "0.1.0"

_HOME = {
    "L1": "guarantees.sensitivity",
    "L2": "guarantees.sensitivity",
    "Composition": "accounting.composition",
    "compose": "release.mechanism",
    "CountingQueries": "guarantees.structured",
    "Groups": "guarantees.structured",
    "Linf": "guarantees.structured",
    "Vertices": "guarantees.structured",
    "Budget": "guarantees.budget",
    "Certificate": "certificate.certificate",
    "CertificateRejected": "errors",
    "Comparison": "selection.comparison",
    "Family": "noise.family",
    "Gaussian": "noise.gaussian.law",
    "Integer": "guarantees.sensitivity",
    "Interval": "guarantees.interval",
    "InvalidArgument": "errors",
    "InvalidInput": "errors",
    "Laplace": "noise.laplace.law.laplace",
    "LeastnoiseError": "errors",
    "Ledger": "ledger.ledger",
    "LedgerRejected": "errors",
    "OverBudget": "errors",
    "check_ledger": "ledger.check",
    "LowerBound": "design.lower_bound",
    "Mechanism": "release.mechanism",
    "NotApplicable": "errors",
    "NotCertified": "errors",
    "PlanCertificate": "certificate.plan",
    "RandomnessError": "errors",
    "Refused": "errors",
    "Release": "tables.release",
    "SourceError": "errors",
    "SpecError": "errors",
    "SphericalLaplace": "noise.radial.law.spherical_laplace",
    "TruncatedStaircase": "noise.steps.law.truncated_staircase",
    "calibrate": "selection.search",
    "calibrate_together": "selection.together",
    "compare": "selection.search",
    "least_noise": "selection.search",
    "privacy_profile": "selection.search",
    "register": "noise.registry",
    "verify_directory": "tables.verify",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'leastnoise' has no attribute {name!r}")
    return getattr(import_module(f"leastnoise.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*_HOME, "__version__"])
