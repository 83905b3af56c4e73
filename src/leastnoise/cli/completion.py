"""What a shell completes the value of an option with. Files are left to the shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def one_of(*names: str) -> Callable[[str], list[str]]:
    """Return a function that returns those of `names` that go on from what is typed."""

    def going_on(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return going_on


def noise_names(incomplete: str) -> list[str]:
    """Return the noise families, those of installed packages too, that go on from what is typed."""
    from importlib.metadata import entry_points

    from leastnoise.noise.registry import FAMILIES, GROUP

    names = {*FAMILIES, *(one.name for one in entry_points(group=GROUP))}
    return sorted(name for name in names if name.startswith(incomplete))
