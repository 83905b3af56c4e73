"""Logarithms and exponentials: their errors, proved in balls, and exact results.

For each step of a program, the tests keep its exact value in balls and a bound on its float's
error.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import duckdb
import pytest
from flint import arb, ctx

from leastnoise.tables.expressions.duckdb_sql import SqlColumns
from leastnoise.tables.expressions.language import parse
from leastnoise.tables.expressions.logarithms import _logarithm
from leastnoise.tables.expressions.tree import Call, ColumnRef, Constant, Expression, Type
from tests.tables.expressions.oracle_logarithms import exponential, logarithm, natural, power

_U = arb(2) ** -53
"""Half a unit in the last place, relative to the result of an operation of float64."""
_HIGH, _LOW = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
_TYPES: dict[str, Type] = {"x": "float", "y": "float"}


class Step(NamedTuple):
    """The exact result of a step, and a bound on how far its float is from it."""

    exact: arb
    error: arb


def _rounded(exact: arb, error: arb) -> Step:
    return Step(exact, error + _U * (abs(exact) + error))


def _plus(first: Step, second: Step) -> Step:
    return _rounded(first.exact + second.exact, first.error + second.error)


def _times(first: Step, second: Step) -> Step:
    error = abs(first.exact) * second.error + abs(second.exact) * first.error
    return _rounded(first.exact * second.exact, error + first.error * second.error)


def _constant(value: float) -> Step:
    return Step(arb(value), arb(0))


def _polynomial(value: Step, coefficients: list[float]) -> Step:
    *others, total = map(_constant, coefficients)
    for term in reversed(others):
        total = _plus(_times(total, value), term)
    return total


def _between(low: float, high: float) -> arb:
    return arb(low).union(arb(high))


def _upper(value: arb) -> float:
    return math.nextafter(float(abs(value).upper()), math.inf)


@pytest.fixture(autouse=True)
def _precision() -> Iterator[None]:
    before, ctx.prec = ctx.prec, 200
    yield
    ctx.prec = before


def _mantissas() -> Iterator[tuple[arb, Step]]:
    """Balls that cover |s| ≤ (√2 - 1)/(√2 + 1), each with the computed s; s = 0 is exact.

    m - 1 is exact, so that s has the errors of m + 1 and of the quotient. The smallest |s| is of
    the float next to 1.
    """
    most = 0.1715728752538100
    edges = [most * 0.97**k for k in range(1200) if most * 0.97**k > 2.0**-55] + [2.0**-55]
    for high, low in itertools.pairwise(edges):
        s = _between(low, high)
        yield s, Step(s, abs(s) * ((1 + _U) / (1 - _U) - 1))


def _tail(s: arb) -> arb:
    """A bound on what the float coefficients and the 11 terms leave out of 2 artanh(s)/s."""
    z = s * s
    left = 2 * z**11 / (23 * (1 - z))
    return left + sum(
        (abs(arb(2) / (2 * k + 1) - arb(2 / (2 * k + 1))) * z**k for k in range(11)), arb(0)
    )


def _logarithm_error() -> float:
    """A bound on the relative error of ln x before it is rounded, for all floats x > 0."""
    worst = 0.0
    terms = [2 / (2 * k + 1) for k in range(11)]
    for s, computed in _mantissas():
        series = _times(computed, _polynomial(_times(computed, computed), terms))
        error = series.error + abs(s) * _tail(s)
        exact = 2 * s.atanh()
        worst = max(worst, _upper(error / exact))
        # beside another exponent |ln x| ≥ |e| ln 2 - ln(m), whatever the sign of s
        for e in (1, 2, 3, 1074):
            product = _constant(e * _HIGH)  # exact: 11 bits by 33
            low = _times(_constant(e), _constant(_LOW))
            for sign in (1, -1):
                signed = Step(sign * series.exact, series.error)
                whole = _plus(product, _plus(low, signed))
                split = abs(e * (arb.const_log2() - arb(_HIGH) - arb(_LOW)))
                value = e * arb.const_log2() + sign * exact
                worst = max(worst, _upper((whole.error + abs(s) * _tail(s) + split) / value))
    return worst


def _exponential_error() -> float:
    """A bound on the relative error of the mantissa of exp x, for |r| ≤ (ln 2)/2 and more."""
    worst = 0.0
    terms = [1 / math.factorial(n) for n in range(14)]
    split = abs(arb.const_log2() - arb(_HIGH) - arb(_LOW)) * 1024
    for index in range(-360, 360):
        r = _between(index / 1000, (index + 1) / 1000)
        # x - k high has a rounding, as have k low and the last difference
        reduced = Step(r, _U * (arb("0.361") + arb("1e-6")) * 3 + split)
        series = _polynomial(reduced, terms)
        # the true polynomial at r, and at the computed r
        left = abs(r) ** 14 / math.factorial(14) * 2
        left += sum(
            (abs(1 / arb(math.factorial(n)) - arb(terms[n])) * abs(r) ** n for n in range(14)),
            arb(0),
        )
        worst = max(worst, _upper((series.error + left) / r.exp()))
    return worst


def test_errors_before_the_rounding_are_proved_to_be_small() -> None:
    of_logarithm, of_exponential = _logarithm_error(), _exponential_error()
    assert of_logarithm < 2.0**-50
    assert of_exponential < 2.0**-50
    # y ln x has the error of ln x and a rounding; exp takes it up to 710
    for largest, bound in ((math.log(1e150), 2.0**-41), (711, 2.0**-40)):
        assert largest * (of_logarithm + 2.0**-53) * 1.01 + of_exponential < bound
    assert (1 + of_logarithm) * (1 + 2.0**-53) ** 2 - 1 < 2.0**-49  # of log2 and log10


def test_a_fused_product_would_be_noticed() -> None:
    """DuckDB rounds a product before it adds; a fused operation would keep its last bits."""
    rng = random.Random(1)
    rows = [tuple(rng.uniform(-2, 2) for _ in range(3)) for _ in range(1000)]
    fused = [float(Fraction(a) * Fraction(b) + Fraction(c)) for a, b, c in rows]
    assert sum(item != a * b + c for item, (a, b, c) in zip(fused, rows, strict=True)) > 100
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE given (place INTEGER, a DOUBLE, b DOUBLE, c DOUBLE)")
        listed = [[index, *row] for index, row in enumerate(rows)]
        connection.executemany("INSERT INTO given VALUES (?, ?, ?, ?)", listed)
        results = connection.sql("SELECT a * b + c FROM given ORDER BY place").fetchall()
    assert [value for (value,) in results] == [a * b + c for a, b, c in rows]


def evaluate(texts: list[str], rows: list[tuple[float, float]]) -> list[tuple[float | None, ...]]:
    """The values of expressions of x and y on DuckDB."""
    return _evaluate_trees([parse(text, _TYPES) for text in texts], rows)


def _evaluate_trees(
    trees: list[Expression], rows: list[tuple[float, float]]
) -> list[tuple[float | None, ...]]:
    columns = {ColumnRef(name, kind): name for name, kind in _TYPES.items()}
    compiled = SqlColumns(trees, columns)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE given (place INTEGER, x DOUBLE, y DOUBLE)")
        listed = [[index, *row] for index, row in enumerate(rows)]
        connection.executemany("INSERT INTO given VALUES (?, ?, ?)", listed)
        query = compiled.wrap("SELECT * FROM given")
        wanted = ", ".join(compiled.names)
        return connection.sql(f"SELECT {wanted} FROM ({query}) ORDER BY place").fetchall()


def near_turns() -> list[tuple[float, float]]:
    rng = random.Random(2)
    ends = [5e-324, 2.0**-1022, 2.0**-960, 0.5, math.nextafter(1, 0), 1.0, math.nextafter(1, 2)]
    ends += [2.0**64, 1.7976931348623157e308, 0.0, -1.0, 10.0, 1000.0]
    turns = [math.sqrt(0.5) * 2.0**k for k in (-900, -51, -1, 0, 1, 64, 700)]
    ends += [math.nextafter(turn, end) for turn in turns for end in (0.0, math.inf)]
    exponents = [0.0, 1.0, 3.0, 0.5, 709.78, 709.79, 710.5, -708.0, -708.1, 1e308, -1e308, 2.0**-60]
    rows = [(x, y) for x in ends for y in exponents]
    rows += [(math.exp(rng.uniform(-740, 709)), rng.uniform(-3, 3)) for _ in range(500)]
    return rows + [(rng.uniform(0, 3), rng.uniform(-715, 715)) for _ in range(500)]


@pytest.mark.dense
def test_results_are_those_of_python_to_the_bit_and_near_the_exact_ones() -> None:
    rows = near_turns()
    words = ["ln(x)", "log2(x)", "log10(x)", "exp(y)", "power(x, y)"]
    for (x, y), values in zip(rows, evaluate(words, rows), strict=True):
        expected = [logarithm(x, word) for word in ("ln", "log2", "log10")]
        assert [*values] == [*expected, exponential(y), power(x, y)], (x, y)
        if x > 0:
            exact = arb(x).log()
            assert abs(arb(values[0]) - exact) <= abs(exact) * 2.0**-39
            assert abs(arb(natural(x)) - exact) <= abs(exact) * 2.0**-50
            assert _is_near(values[4], (arb(y) * exact).exp())
        assert _is_near(values[3], arb(y).exp())


@pytest.mark.dense
def test_logarithms_before_the_rounding_have_the_bits_whose_error_is_proved() -> None:
    rows = [(x, y) for x, y in near_turns() if x > 0]
    values = _evaluate_trees([_logarithm(ColumnRef("x", "float"))], rows)
    assert values == [(natural(x),) for x, _ in rows]


def _is_near(value: float | None, exact: arb) -> bool:
    if value is None:
        return bool(exact > 1.797e308) or not exact.is_finite()
    return abs(arb(value) - exact) <= exact * 2.0**-39 or (value == 0 and exact < 1e-307)


SHORT: dict[str, float | None] = {
    "power(4, 0.5)": 2.0,
    "power(8, 1 / 3)": 2.0,
    "power(-2, 3)": -8.0,
    "power(7, 20)": 7.0**20,
    "power(0, 0)": 1.0,
    "power(0, -1)": None,
    "power(-8, 1 / 3)": None,
    "ln(0)": None,
    "ln(-1)": None,
    "exp(0)": 1.0,
    "exp(-1000)": 0.0,
    "exp(1000)": None,
    "floor(log10(999))": 2.0,
}


@pytest.mark.dense
def test_short_results_are_exact() -> None:
    (values,) = evaluate([*SHORT], [(1.0, 1.0)])
    assert dict(zip(SHORT, values, strict=True)) == SHORT


def test_logarithms_and_powers_of_ten_and_two_are_exact() -> None:
    tens = [(float(f"1e{k}"), 0.0) for k in range(23)]
    assert evaluate(["log10(x)"], tens) == [(float(k),) for k in range(23)]
    exponents = [(10.0, float(k)) for k in range(17)]
    assert evaluate(["power(x, y)"], exponents) == [(10.0**k,) for k in range(17)]
    assert evaluate(["log2(x)"], [(2.0**k, 0.0) for k in (0, 1, 10, 52)]) == [
        (0.0,), (1.0,), (10.0,), (52.0,),
    ]  # fmt: skip


def test_a_step_function_takes_the_value_from_its_threshold_on() -> None:
    steps = [3.0, 1.0, 4.0, 2.0, 5.0, 3.0, 6.0]
    node: Expression = Call(
        "let",
        (Call("step", (ColumnRef("x", "float"), *(Constant(v, "float") for v in steps)), "float"),),
        "float",
    )
    compiled = SqlColumns([node], {ColumnRef("x", "float"): "x"})
    query = compiled.wrap("SELECT unnest([0, 1, 1.5, 2, 3, 9]::DOUBLE[]) AS x")
    values = duckdb.sql(f"SELECT {compiled.names[0]} FROM ({query})").fetchall()
    assert [value for (value,) in values] == [3, 4, 4, 5, 6, 6]
