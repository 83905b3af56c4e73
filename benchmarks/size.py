"""The size of the program, by counts that a reader feels: `python -m benchmarks.size [COMMIT …]`.

It counts in the source of the working tree, and of each COMMIT. It also runs a release of two
queries with the working tree, and counts the functions that it enters. The counts are rules of
thumb, the same for every commit:

- numeric constants: module names in capitals whose value is made of numbers alone;
- searches by hand: functions outside `numerics` that look at the middle of an interval;
- readers of records: functions that turn a JSON field into a value of a declared kind;
- lines that ask which kind a query is: lines of `_ASKING` in which something is true or false
  because an attribute in `_KINDS` is (or is None), because a value is an instance of a class in
  `_OF_A_KIND`, or because it is a member of `Kind`. Reading a spec and its rows is left out: there
  the question is about a key or a column;
- fields of a class: those that it declares itself, without those of `TableShape`, its base.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from unittest.mock import patch

from benchmarks.timing import print_rows

ROOT = Path(__file__).parents[1]
_SOURCE = "src/leastnoise"
_NUMBERS = {"Fraction", "float", "arb", "range"}
_MIDDLE = re.compile(r"\b(middle|mid|golden)\b.* = .*(\(\w+ \+ \w+\) //? 2|sqrt\(5\))")
_READER = r"def _value(_of)?\(value: object, (kind|field)\b"
_KINDS = {
    "by_tree", "cumulative", "groups", "hierarchies", "hierarchy", "keys_alone", "keys_of_sums",
    "level", "margin", "margins", "quantiles", "running", "summed", "sums", "tree", "unlisted",
}  # fmt: skip
"""Attributes that state the kind of a query's answer."""
_OF_A_KIND = {
    "AnsweredSums", "ByChance", "ByThreshold", "ByTree", "Cumulative", "Drawn", "KeysAlone",
    "KeysCertificate", "KeysPlan", "Layout", "Levels", "Margins", "MeasuredSums", "NestedMargins",
    "ListedQuantiles", "Plain", "Quantile", "QuantileCertificate", "QuantileKind", "QuantileLayout",
    "QuantilePlan", "Quantiles", "QuantilesByChance", "QuantilesByTree", "QuantilesOfUnlisted",
    "Summed", "Sums", "ThresholdCertificate", "TreeSums", "UnlistedQuantiles", "WeighedQuantiles",
    "WeightedSums", "WholeRowQuantiles",
}  # fmt: skip
_STATIONS = ("answers", "layout", "noise", "plan", "publish", "query", "results")
_ASKING = ("cli", "report", *(f"tables/{folder}" for folder in _STATIONS))
_SPEC = """
version = 1
[data]
source = "rows.csv"
types = { who = "int", plan = "int", x = "float" }
[privacy]
unit = "who"
epsilon = "1"
delta = "1e-6"
[contribution]
max_rows = 4
[columns.x]
bounds = [0, 10]
[[query]]
name = "by_plan"
statistics = ["count", "mean(x)"]
group_by = { plan = [1, 2, 3] }
[[query]]
name = "bins"
histogram = { column = "x", edges = [0, 2, 5, 10] }
[output]
path = "out"
format = "csv"
"""


def files_of(commit: str | None) -> dict[Path, str]:
    """The text of each module of the source, by its path within the package."""
    if commit is None:
        root = ROOT / _SOURCE
        return {path.relative_to(root): path.read_text() for path in sorted(root.rglob("*.py"))}
    packed = subprocess.run(
        ["git", "archive", commit, _SOURCE], cwd=ROOT, capture_output=True, check=True
    ).stdout
    results: dict[Path, str] = {}
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            text = archive.extractfile(member) if member.name.endswith(".py") else None
            if text is not None:
                results[Path(member.name).relative_to(_SOURCE)] = text.read().decode()
    return results


def counts(files: Mapping[Path, str]) -> dict[str, int]:
    """The counts of the source, by name."""
    folders = Counter(path.parent for path in files)
    trees = {path: ast.parse(text) for path, text in files.items()}
    lengths = sorted(length for tree in trees.values() for length in _functions(tree))
    constants = Counter(
        (path.parts[0], name) for path, tree in trees.items() for name in _constants(tree)
    )
    return {
        "lines": sum(text.count("\n") for text in files.values()),
        "files": len(files),
        "files of noise/": sum(path.parts[0] == "noise" for path in files),
        "files of the largest folder": max(folders.values()),
        "median lines of a function": lengths[len(lengths) // 2],
        "object.__setattr__": _times(files, r"object\.__setattr__\("),
        "numeric constants": sum(constants.values()),
        "constants of one name in a package": sum(n - 1 for n in constants.values()),
        "docstrings that begin with See": _times(files, r'"""See '),
        "searches by hand": searches(files),
        "readers of records": _times(files, _READER),
        "lines that ask which kind a query is": sum(map(len, asking(files).values())),
        "in so many files": sum(map(bool, asking(files).values())),
        "fields of Layout": fields(files, "Layout"),
        "fields of TableShape": fields(files, "TableShape"),
        "fields of NoisyPart": fields(files, "NoisyPart"),
        "class names twice": len(repeated_classes(trees)),
    }


def asking(files: Mapping[Path, str]) -> dict[Path, set[int]]:
    """The lines of each file that ask which kind a query is."""
    return {
        path: {
            truth.end_lineno or truth.lineno
            for test in _tests(ast.parse(text))
            for truth in _truths(test)
            if _names_a_kind(truth)
        }
        for path, text in files.items()
        if path.as_posix().startswith(_ASKING)
    }


def _tests(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.IfExp | ast.While):
            yield node.test
        elif isinstance(node, ast.comprehension):
            yield from node.ifs
        elif isinstance(node, ast.BoolOp):
            yield from node.values
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"any", "all", "bool"}:
            yield from node.args


def _truths(test: ast.expr) -> Iterator[ast.expr]:
    """Yield the expressions that decide a condition."""
    if isinstance(test, ast.UnaryOp):
        yield from _truths(test.operand)
    elif isinstance(test, ast.GeneratorExp | ast.ListComp):
        yield from _truths(test.elt)
    elif isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is | ast.IsNot):
        yield from (test.left, *test.comparators)
    else:
        yield test


def _names_a_kind(truth: ast.expr) -> bool:
    if isinstance(truth, ast.Attribute):
        return truth.attr in _KINDS or getattr(truth.value, "id", "") == "Kind"
    if isinstance(truth, ast.Call) and getattr(truth.func, "id", "") == "isinstance":
        named = {item.id for item in ast.walk(truth.args[1]) if isinstance(item, ast.Name)}
        return bool(named & _OF_A_KIND)
    return False


def fields(files: Mapping[Path, str], name: str) -> int:
    """The number of fields that the dataclass `name` of tables declares; 0 if it doesn't exist."""
    return sum(
        sum(
            isinstance(item, ast.AnnAssign) and "ClassVar" not in ast.dump(item)
            for item in node.body
        )
        for path, text in files.items()
        if path.parts[0] == "tables"
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef) and node.name == name
    )


def repeated_classes(trees: Mapping[Path, ast.Module]) -> set[str]:
    """The names that several classes of the package share."""
    names = Counter(
        node.name for tree in trees.values() for node in tree.body if isinstance(node, ast.ClassDef)
    )
    return {name for name, count in names.items() if count > 1}


def _times(files: Mapping[Path, str], pattern: str) -> int:
    return sum(len(re.findall(pattern, text)) for text in files.values())


def _functions(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            first = node.body[0]
            text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            begin = first.end_lineno if text and first.end_lineno else node.lineno
            yield node.end_lineno - begin


def _constants(tree: ast.Module) -> Iterator[str]:
    """Yield the names of a module's numeric constants."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and _is_number(node.value):
            for target in node.targets:
                elements = target.elts if isinstance(target, ast.Tuple) else [target]
                yield from (element.id for element in elements if isinstance(element, ast.Name))


def _is_number(value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float) and not isinstance(value.value, bool)
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand)
    if isinstance(value, ast.BinOp):
        return _is_number(value.left) and _is_number(value.right)
    if isinstance(value, ast.Tuple):
        return all(map(_is_number, value.elts))
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return value.func.id in _NUMBERS and all(map(_is_number, value.args))
    return False


def searches(files: Mapping[Path, str]) -> int:
    """The number of computations of an interval's middle outside `numerics`."""
    others = (text for path, text in files.items() if path.parts[0] != "numerics")
    return sum(len(_MIDDLE.findall(text)) for text in others)


def release() -> dict[str, int]:
    """Counts of the functions and records of one release of two queries, which runs once."""
    import leastnoise as ln
    from leastnoise.certificate.certificate import Certificate
    from leastnoise.tables.answers.kinds import lay_out_query
    from leastnoise.tables.parse import spec_file

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "spec.toml").write_text(_SPEC)
        (folder / "rows.csv").write_text("who,plan,x\n1,1,2.5\n2,3,7\n")
        entered: Counter[CodeType] = Counter()
        ours = str(ROOT / _SOURCE)
        # A dataclass gets a generated __init__ that is in no file; records share all other code.
        init, constructed = Certificate.__init__.__code__, Counter[str]()

        def note(frame: FrameType, event: str, _: object) -> None:
            code = frame.f_code
            if event == "call" and code is init:
                constructed["certificates"] += 1
            named = code.co_flags & inspect.CO_NEWLOCALS and not code.co_name.startswith("<")
            if event == "call" and named and code.co_filename.startswith(ours):
                entered[code] += 1

        sys.setprofile(note)
        try:
            ln.Release.from_toml(folder / "spec.toml").run()
        finally:
            sys.setprofile(None)

    def times(function: FunctionType) -> int:
        return entered[function.__code__]

    return {
        "functions entered by a release": len(entered),
        "of so many files": len({code.co_filename for code in entered}),
        "specs parsed": times(spec_file.lay_out),
        "layouts of its two queries": times(lay_out_query),
        "certificates proved": times(Certificate.prove.__func__),
        "certificates constructed": constructed["certificates"],
    }


def checks_in_one_reading() -> int:
    """The number of checks of a spec while it is read, if one of its keys adds a query."""
    from leastnoise.tables.parse import checks, spec_file

    text = _SPEC.replace('name = "by_plan"', 'name = "by_plan"\nclipping = "0.05"')
    with patch.object(checks, "check", wraps=checks.check) as check:
        spec_file.loads(text)
    return check.call_count


def main(commits: list[str]) -> None:
    states = {commit: counts(files_of(commit)) for commit in commits}
    states["now"] = counts(files_of(None))
    rows = [(name, *(f"{state[name]:,}" for state in states.values())) for name in states["now"]]
    print_rows("The source", ("", *states), rows)
    entered = [(name, f"{count:,}") for name, count in release().items()]
    entered.append(("checks of a spec in one reading", f"{checks_in_one_reading()}"))
    print_rows("One release of two queries", ("", "now"), entered)


if __name__ == "__main__":
    main(sys.argv[1:])
