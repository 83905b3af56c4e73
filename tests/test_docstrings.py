"""Every public class, function and method has a docstring: its own, or that which it overrides."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import leastnoise


def _members() -> Iterator[tuple[str, Any]]:
    """Yield the classes and functions of every module, and the methods of these classes."""
    for module in pkgutil.walk_packages(leastnoise.__path__, "leastnoise."):
        if module.name.endswith("__main__"):
            continue
        loaded = importlib.import_module(module.name)
        for name, value in vars(loaded).items():
            if getattr(value, "__module__", None) != module.name or name.startswith("_"):
                continue
            if inspect.isclass(value):
                yield f"{module.name}.{name}", value
                computed = {
                    text: getattr(value, text) for text in vars(value) if not text.startswith("_")
                }
                for item, member in computed.items():
                    if callable(member) or isinstance(vars(value)[item], property):
                        yield f"{module.name}.{name}.{item}", member
            elif inspect.isfunction(value):
                yield f"{module.name}.{name}", value


def test_what_is_public_has_a_docstring_of_its_own_or_inherits_one() -> None:
    members = dict(_members())
    assert len(members) > 1_500
    assert [name for name, member in members.items() if not inspect.getdoc(member)] == []
