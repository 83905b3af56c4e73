"""All noise families by name: the built-in families of `families`, and families from outside.

A family from outside is added by `register`, or by an entry point of an installed package in the
group "leastnoise.families" (docs/new-family.md).
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
"""All families by their names on the command line and in certificates."""

GROUP = "leastnoise.families"
"""The group of entry points, which map a family's name to its `Family`."""


def family_named(name: str) -> type[Noise]:
    """The law class of the family called `name`.

    Raises InvalidArgument, with the nearest name, for an unknown name. Raises NotRegistered if an
    installed package announces a family of this name, but doesn't provide it.
    """
    if isinstance(name, str) and name not in FAMILIES:
        _register_installed(name=name)
    return _law(FAMILIES[_validate.one_of(name, tuple(FAMILIES), name="noise")])


def register(family: Family) -> None:
    """Add a family from outside under its law's name, in this process.

    Its guarantees are as right as its proof: nothing checks that the ball it returns contains δ(ε).

    Args:
        family: The record of the family.

    Raises:
        InvalidArgument: The argument is no family.
        NotRegistered: The name is taken, or the family has no name, no norm, or neither fit nor
            design. Also if its law inherits from the law of another family.
    """
    _validate.instance(family, Family, name="family", like="a Family")
    law = family.part("law")
    check_law(law)
    if issubclass(law, _laws()):
        why = "its law inherits from another family's law, whose proofs don't hold for it"
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
    """The classes of all families: the built-in ones by name, then those from outside.

    Raises NotRegistered if an entry point leads to no family.
    """
    _register_installed()
    return _laws()


def _laws() -> tuple[type[Noise], ...]:
    return tuple(_law(family) for family in FAMILIES.values())


def _register_installed(*, name: str | None = None) -> None:
    """Register the families that installed packages announce as entry points.

    These are all such families, or only the family called `name`. Raises NotRegistered if an entry
    point can't be imported, or if its law has another name.
    """
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


def registered_family(family: type[Noise]) -> Family:
    """The record of a registered family; raises NotRegistered for any other law class."""
    record = FAMILIES.get(family.name)
    if record is None:
        raise NotRegistered(family=family.name, table=__name__)
    if (other := _law(record)) is not family:
        why = f"{family.__name__} and {other.__name__} both have that name"
        raise NotRegistered(family=family.name, table=__name__, why=why)
    return record


def part_of(family: type[Noise], name: str) -> Any:
    """The function `name` of the record of `family`, such as "proof".

    Raises NotRegistered if the family has no such function.
    """
    part = registered_family(family).part(name)
    if part is None:
        raise NotRegistered(family=family.name, table=__name__, why=f"it has no {name}")
    return part


def _law(family: Family) -> type[Noise]:
    return family.part("law")
