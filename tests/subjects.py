"""A public callable with valid arguments, and small proved objects that some callables take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, final

import leastnoise as ln


@final
@dataclass(frozen=True, kw_only=True)
class Subject:
    """A callable and valid arguments, each as (its kind, a value).

    `named` has the names of arguments in error messages, where they differ.
    """

    call: Callable[..., Any]
    given: Mapping[str, tuple[str, Any]]
    named: Mapping[str, str]

    def arguments(self, **instead: Any) -> dict[str, Any]:
        return {name: value for name, (_, value) in self.given.items()} | instead


def subject(
    call: Callable[..., Any], named: Mapping[str, str] | None = None, /, **given: tuple[str, Any]
) -> Subject:
    return Subject(call=call, given=given, named=named or {})


@cache
def gaussian() -> ln.Mechanism:
    return ln.Mechanism(certificate())


@cache
def certificate() -> ln.Certificate:
    budget = ln.Budget(epsilon=1, delta="0.1")
    return ln.Certificate.prove(
        budget=budget, noise=ln.noise.Gaussian(scale=4), sensitivity=ln.L2(1), compositions=2
    )


@cache
def plan() -> ln.PlanCertificate:
    budget = ln.Budget(epsilon=1, delta="0.1")
    return ln.PlanCertificate.prove(budget=budget, draws=(("a", certificate()),))
