"""Every noise family by its name: ours, which `families` lists, and those from outside.

A family from outside is added by `register`, or by an entry point of an installed package, group
"leastnoise.families" (docs/new-family.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from leastnoise import _validate
from leastnoise.errors import NotRegistered
from leastnoise.noise.base import Noise
from leastnoise.noise.families import OURS
from leastnoise.noise.family import Family, check_law

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


_families = {**OURS}

FAMILIES: Mapping[str, Family] = MappingProxyType(_families)
"""By the names that the command line and certificates use."""

GROUP = "leastnoise.families"
"""Of entry points: a family's name, and where its `Family` is."""


def family_named(name: str) -> type[Noise]:
    """Return the family called `name`; raises InvalidArgument, naming the nearest one.

    Raises NotRegistered for an entry point of that name at which there is no such family.
    """
    if isinstance(name, str) and name not in FAMILIES:
        _register_installed(name=name)
    return _law(FAMILIES[_validate.one_of(name, tuple(FAMILIES), name="noise")])


def register(family: Family) -> None:
    """Make a family from outside known by its law's name, in this process.

    It is as right as its proof is: nothing checks that the ball that it returns holds δ(ε). Raises
    InvalidArgument for what is no family, NotRegistered for a name that is taken and for a family
    without a name, a norm or a fit.
    """
    _validate.instance(family, Family, name="family", like="a Family")
    law = family.part("law")
    check_law(law)
    if issubclass(law, _laws()):
        why = "its law inherits from another family's, whose proofs would be taken for its own"
        raise NotRegistered(family=law.__name__, table=__name__, why=why)
    name = getattr(law, "name", None)
    if not (isinstance(name, str) and hasattr(law, "norm")):
        why = "it has no name, or no norm"
        raise NotRegistered(family=law.__name__, table=__name__, why=why)
    if name in FAMILIES:
        raise NotRegistered(family=name, table=__name__, why="another family has that name")
    if family.fit is None and family.design is None:
        raise NotRegistered(family=name, table=__name__, why="it has no fit, and no design")
    _families[name] = family


def all_families() -> tuple[type[Noise], ...]:
    """Return the class of every family: ours by their names, then those from outside.

    Raises NotRegistered for an entry point at which there is no family.
    """
    _register_installed()
    return _laws()


def _laws() -> tuple[type[Noise], ...]:
    return tuple(_law(family) for family in FAMILIES.values())


def _register_installed(*, name: str | None = None) -> None:
    """Register what installed packages offer as entry points, the one of that `name` or all."""
    for entry in _installed():
        if entry.name in FAMILIES or name not in {None, entry.name}:
            continue
        try:
            family = entry.load()
        except Exception as error:  # whatever a package that we don't know raises on import
            why = f"the entry point {entry.value} can't be imported"
            raise NotRegistered(family=entry.name, table=__name__, why=why) from error
        if entry.name not in FAMILIES:  # unless that module registers it itself
            register(family)
        if entry.name not in FAMILIES:
            why = f"the law at the entry point {entry.value} has another name"
            raise NotRegistered(family=entry.name, table=__name__, why=why)


@cache
def _installed() -> tuple[EntryPoint, ...]:
    from importlib.metadata import entry_points  # noqa: PLC0415 (30 ms, where it is needed)

    return tuple(entry_points(group=GROUP))


def registered(family: type[Noise]) -> Family:
    """Return where the parts of `family` are; raises NotRegistered."""
    found = FAMILIES.get(family.name)
    if found is None:
        raise NotRegistered(family=family.name, table=__name__)
    if (other := _law(found)) is not family:
        why = f"{family.__name__} and {other.__name__} both have that name"
        raise NotRegistered(family=family.name, table=__name__, why=why)
    return found


def part_of(family: type[Noise], name: str) -> Any:
    """Return the part of `family` that a `Family` calls `name`; raises NotRegistered."""
    found = registered(family).part(name)
    if found is None:
        raise NotRegistered(family=family.name, table=__name__, why=f"it has no {name}")
    return found


def _law(family: Family) -> type[Noise]:
    return family.part("law")
