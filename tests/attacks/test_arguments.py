"""Every public function with hostile arguments raises our errors or has the right answer."""

from __future__ import annotations

import inspect
import os
import tempfile
import warnings
from collections.abc import Callable
from fractions import Fraction
from numbers import Integral
from random import Random
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from tests.attacks import hostile, public
from tests.attacks.guard import PARTS, Guard

Case = tuple[str, dict[str, str]]

# These search every family or plan a release: seconds a call where nothing is refused.
_COSTLY = (
    "ln.compare",
    "ln.least_noise",
    "ln.Release.run",
    "ln.Release.plan",
    "ln.ReleaseBuilder.run",
    "ln.ReleaseBuilder.plan",
    "ln.calibrate_jointly",
    "ln.audit_mechanism",
)
_COSTLY_SHARE = 0.02
_RANDOM = ("release_chunks", "release", "run", "share")  # answers that differ each time


def draw_case(random: Random) -> Case:
    costly = random.random() < _COSTLY_SHARE
    names = _COSTLY if costly else [target for target in public.targets() if target not in _COSTLY]
    while True:
        target = random.choice(names)
        parameters = [*public.parameters(target).values()]
        slots = [
            parameter.name
            for parameter in parameters
            if parameter.kind is not parameter.VAR_POSITIONAL
        ]
        if slots:
            break
    chosen = random.sample(slots, min(len(slots), random.choice((1, 1, 1, 2))))
    return target, {name: random.choice(hostile.NAMES) for name in sorted(chosen)}


def attack(case: Case) -> None:
    target, slots = case
    # int("Planning") fails by itself, as any caller's function
    if "type" in map(slots.get, ("progress", "mechanism", "score")):
        return
    os.chdir(tempfile.mkdtemp())  # a file that is made is made there
    result, signature = public.found(target)
    values = {slot: hostile.made(name) for slot, name in slots.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            answer = result(**public.arguments(signature, values))
            answer = list(answer) if inspect.isgenerator(answer) else answer
        except ln.errors.LeastnoiseError:
            return
        _check_kinds(signature, slots)
        _check_twins(case, answer)
        if inspect.isclass(result):
            _use(answer)


def _check_kinds(signature: inspect.Signature, slots: dict[str, str]) -> None:
    """Raise where a parameter took what its own annotation excludes."""
    for slot, name in slots.items():
        item, value = signature.parameters[slot], hostile.made(name)
        takes = _KINDS.get(str(item.annotation))
        if takes and value is not item.default:
            assert takes(value), f"{slot}: {item.annotation} took {name}"


def _whole(value: Any) -> bool:
    return (isinstance(value, Integral) or hasattr(value, "__index__")) and not isinstance(
        value, bool | np.bool_
    )


def _exact(value: Any) -> bool:
    return not isinstance(
        value, bool | np.bool_ | bytes | complex | type(None) | list | tuple | dict
    )


_KINDS: dict[str, Callable[[Any], bool]] = {
    "bool": lambda value: isinstance(value, bool | np.bool_),
    "int": _whole,
    "int | None": _whole,
    "str": lambda value: isinstance(value, str),
    "Exact": _exact,
}


def _check_twins(case: Case, answer: Any) -> None:
    """Raise where another spelling of a plain value has another answer."""
    target, slots = case
    if target.rpartition(".")[2] in _RANDOM or not all(map(hostile.has_twin, slots.values())):
        return
    result, signature = public.found(target)
    plain = {slot: hostile.twin(name) for slot, name in slots.items()}
    kinds = {slot: str(signature.parameters[slot].annotation) for slot in slots}
    if any(isinstance(plain[slot], str) and "float" in kinds[slot] for slot in slots):
        return  # it takes no text for a number: `Interval.contains` compares floats as they are
    wanted = result(**public.arguments(signature, plain))
    if isinstance(answer, str | int | float | Fraction | ln.Interval | ln.Budget | tuple):
        assert answer == wanted, f"{answer!r} where the plain value gives {wanted!r}"


def _use(built: Any) -> None:
    """Use an object that a constructor let pass: its properties, and its methods rightly."""
    for name in dir(type(built)):
        if name.startswith("_") or name in (*_RANDOM, *public.INTERNAL):
            continue
        if isinstance(built, ln.Release | ln.Ledger | ln.Comparison):
            continue
        try:
            value = getattr(built, name)
            if inspect.ismethod(value):
                value(**public.arguments(inspect.signature(value), {}))
        except ln.errors.LeastnoiseError:
            continue
        except Exception as error:  # whatever comes out is what was looked for
            raise AssertionError(f"then .{name}: {type(error).__name__}: {error}") from error


@pytest.mark.attack
@pytest.mark.parametrize("part", range(PARTS))
def test_long(guard: Guard, part: int) -> None:
    guard.part("arguments", part)


def test_for_each_public_function_there_are_arguments_that_are_good() -> None:
    """Else the attacks would all stop at an argument that was not theirs."""
    result = public.targets()
    assert {"ln.compose", "ln.Mechanism.compose", "interop.to_pld", "ln.Ledger.charge"} <= {*result}
    unknown = {
        (target, slot)
        for target in result
        for slot, item in public.parameters(target).items()
        if item.default is item.empty and not public.knows(slot, str(item.annotation))
    }
    assert not unknown
