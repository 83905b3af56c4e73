"""A private constant's name has one value in a package, so that it misleads no reader.

Constants are names in capitals with numbers as values, or with objects made of numbers only, such
as a Fraction or a solver with its tolerance.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import leastnoise

_SOURCE = Path(leastnoise.__file__).parent


def _constants(text: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the value, as code, of each private constant of a module."""
    for node in ast.parse(text).body:
        if not isinstance(node, ast.Assign):
            continue
        target, value = node.targets[0], node.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=True))
        for name, number in pairs:
            if re.fullmatch("_[A-Z][A-Z0-9_]*", ast.unparse(name)) and _is_number(number):
                yield ast.unparse(name), ast.unparse(number)


def _is_number(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and all(
            map(_is_number, (*value.args, *(keyword.value for keyword in value.keywords)))
        )
    if isinstance(value, ast.BinOp):
        return _is_number(value.left) and _is_number(value.right)
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand)
    if isinstance(value, ast.Tuple | ast.List | ast.Set):
        return all(map(_is_number, value.elts))
    return isinstance(value, ast.Constant) and isinstance(value.value, int | float)


def _values_of(folder: Path) -> dict[str, dict[str, list[str]]]:
    """Return by name and value the modules of a package in which the name has the value."""
    result: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted(folder.glob("*.py")):
        for name, value in _constants(path.read_text(encoding="utf-8")):
            result[name][value].append(path.name)
    return result


def _with_two_values(folder: Path) -> list[str]:
    return [
        f"{folder.name}: {name} is "
        + ", ".join(f"{value} in {' and '.join(files)}" for value, files in values.items())
        for name, values in _values_of(folder).items()
        if len(values) > 1
    ]


def test_no_private_constant_has_two_values_in_a_package() -> None:
    folders = sorted({path.parent for path in _SOURCE.rglob("*.py")})
    assert not [line for folder in folders for line in _with_two_values(folder)]


def test_a_second_value_is_found(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("_BITS, _SAME = 64, 2.0**-9\n_ROOT = Root(tolerance=1e-9)\n")
    (tmp_path / "other.py").write_text("_BITS, _SAME = 96, 2.0**-9\n_ROOT = Root(tolerance=1e-6)")
    package = tmp_path.name
    assert _with_two_values(tmp_path) == [
        f"{package}: _BITS is 64 in one.py, 96 in other.py",
        f"{package}: _ROOT is Root(tolerance=1e-09) in one.py, Root(tolerance=1e-06) in other.py",
    ]
