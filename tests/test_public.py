"""The public interface is what `docs/api` shows, and the documentation uses nothing else."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import leastnoise as ln
from leastnoise import interop, learn, noise

ROOT = Path(__file__).parents[1]
API = ROOT / "docs/api"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROMISED = {
    name: page.name
    for page in sorted(API.glob("*.md"))
    for name in re.findall(r"^::: (\S+)$", page.read_text(), re.MULTILINE)
}
MODULES = {"errors", "noise"}  # that `import leastnoise` has beside names
IMPORT = re.compile(r"^(?:>>> )?from (leastnoise[\w.]*) import ([\w, ]+)$", re.MULTILINE)
PATH = re.compile(r"`(leastnoise\.(?!schema)[\w.]+)`")
USE = re.compile(r"\bln\.(\w+(?:\.[A-Z]\w*)?)")


def _find(path: str) -> Any:
    """Return the object with a dotted path: a module, or something in a module."""
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        try:
            result: Any = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for name in parts[end:]:
            result = getattr(result, name)
        return result
    raise ModuleNotFoundError(path)


def _listed(package: ModuleType) -> set[str]:
    return set(vars(package)["__all__"])


def _promised() -> Iterator[Any]:
    """Yield the objects that the API's pages show: for a module, all its public names, too."""
    for name in PROMISED:
        yield (result := _find(name))
        if isinstance(result, ModuleType):
            listed = getattr(result, "__all__", [var for var in vars(result) if var[0] != "_"])
            yield from (getattr(result, item) for item in listed)


@cache
def _things() -> list[Any]:
    return list(_promised())


def _is_promised(thing: Any) -> bool:
    """True if a page of the API shows the object, or for a module anything in it."""
    if isinstance(thing, ModuleType):
        return any(name.startswith(thing.__name__) for name in PROMISED)
    return any(thing is item for item in _things())


def _tell(page: Path) -> Iterator[str]:
    """Yield the dotted paths that a page's examples import or use, or that its text names."""
    text = page.read_text()
    for module, names in IMPORT.findall(text):
        yield from (f"{module}.{name.strip()}" for name in names.split(","))
    yield from (f"leastnoise.{name}" for name in USE.findall(text))
    yield from PATH.findall(text)


@pytest.mark.parametrize("name", sorted(PROMISED))
def test_what_is_promised_can_be_imported(name: str) -> None:
    assert _find(name).__doc__


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_the_documentation_imports_is_promised(page: Path) -> None:
    assert [name for name in _tell(page) if not _is_promised(_find(name))] == []


@pytest.mark.parametrize(
    ("package", "names"),
    [
        (ln, _listed(ln) - MODULES),
        (noise, _listed(noise)),
        (interop, _listed(interop)),
        (learn, _listed(learn)),
    ],
    ids=lambda item: getattr(item, "__name__", ""),
)
def test_what_a_package_exports_is_promised(package: ModuleType, names: set[str]) -> None:
    assert names
    assert {name for name in names if not _is_promised(getattr(package, name))} == set()


def test_the_contents_name_each_promise_and_its_page() -> None:
    of_all = {name.removeprefix("leastnoise.") for name in PROMISED}
    top = {f"{PROMISED[f'leastnoise.{name}']}#leastnoise.{name}" for name in of_all & _listed(ln)}
    linked = set(re.findall(r"\]\((\w+\.md#leastnoise\.\w+)\)", (API / "index.md").read_text()))
    assert linked == {
        text for text in top if not text.endswith(tuple(f".{name}" for name in MODULES))
    }


def test_no_package_hides_a_public_name() -> None:
    """Importing a package of that name would put it in place of the function."""
    inside = {path.stem for path in Path(ln.__file__).parent.iterdir() if path.stem.isidentifier()}
    assert {*ln.__all__} & inside == MODULES
