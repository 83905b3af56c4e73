"""Check a release of leastnoise without leastnoise: one file, the standard library, no network.

    python leastnoise_check.py FOLDER              # a release: certificate, plan, tables, seal
    python leastnoise_check.py certificate.json    # one certificate

Exit codes: 0 all is proved; 1 something is false; 2 wrong usage, or no JSON; 3 nothing that was
checked is false, but there are draws or sums for which this program has no proof. It names them.

The mathematics
===============
Two inputs are *neighbours* if they differ in the rows of one person. A release is (ε, δ)-private
if P(Y ∈ S) <= e^ε P(Y' ∈ S) + δ for its outputs Y, Y' on any two neighbours and any set S.

A *draw* adds noise X with density (or mass function) f to exact numbers, which one person moves by
a *shift* s. It is (ε, δ)-private if for every possible shift

    δ(ε) = ∫ (f(x) − e^ε f(x − s))₊ dx <= δ,    y₊ = max(y, 0).

Five facts are used. The first four find δ(ε) of one step, the last adds steps up.

1. *Pure noise.* Let f(x) = c·e^(−η(x)) with |η(x − s) − η(x)| <= ε₀ for all x and all shifts s.
   Then δ(ε) = 0 for ε >= ε₀, as the integrand is never above 0. For η = N/b with a norm N this is
   the triangle inequality: ε₀ = max N(s)/b. A *body* is the unit ball of a norm, N(s) <= 1 in it.
   A *staircase* rises by h, its `decay`, at each step: η = h·⌊N/b + u⌋, 0 <= u < 1. N/b moves by
   at most t = max N(s)/b, so it crosses at most ⌈t⌉ steps: ε₀ = h·⌈t⌉.
2. *The worst shift.* δ(ε) = 1 − J(s), J(s) = ∫ min(f(x), e^ε f(x − s)) dx. If all level sets of f
   are balls (intervals) around 0, the longest shift is the worst: J(s) is the integral over u > 0
   of the volume where both f(x) > u and e^ε f(x − s) > u. Two balls intersect there, and less if
   their centres 0 and s are further apart. If f is log-concave, J is log-concave (Prékopa 1973), so
   that a corner of the hull of all shifts is the worst: for Laplace noise, a shift of one number.
3. *Lattices.* Where X has finitely many values, δ(ε) is a finite sum. Fact 2 holds for sums, too.
4. *Choices.* Permute-and-flip publishes the candidate j with the largest λ·s_j + E_j, s_j its score
   and E_j independent, P(E_j > t) = e^−t. If one person changes s_j by c_j, then δ(ε) = 0 for
   ε >= λ·max (c_j − c_i). Proof: given the other E_i, j wins with probability e^−(m − λ·s_j)₊,
   m the largest other λ·s_i + E_i, and m − λ·s_j moves by no more than that.
5. *Composition.* Budgets add up (Dwork & Roth 2014, Theorem 3.16). Several Gaussian draws are like
   one with (Δ/σ)² = Σ (Δ_i/σ_i)², since a Gaussian is alike in all directions.

Whole numbers decide everything. A number is an exact fraction, or a `Ball`: two whole numbers with
low/2^512 <= x <= high/2^512, rounded outward at every step. What is accepted holds for the whole
ball. Floats serve only to print, and to compare standard deviations.

Not proved here: that one person moves the numbers by no more than is stated (see `NOT_PROVED`).
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import sys
from fractions import Fraction
from pathlib import Path


class Rejected(Exception):
    """A statement is false or malformed."""


class NotChecked(Exception):
    """The statement may be true, but this program has no proof for it."""


def require(holds: object, why: str, error: type[Exception] = Rejected) -> None:
    """Raise an error unless a condition holds."""
    if not holds:
        raise error(why)


# 1. Reading. A field has the same meaning and range wherever it stands in a certificate.

# fmt: off
BASIC = "basic composition: epsilons and deltas add up"
TIGHT = "tight composition: all draws of noise together, their laws fixed in advance"
BODIES = {
    "interval": "bound", "box": "bounds", "ball": "bound coordinates", "cells": "bodies copies",
    "at-most": "most cells of", "together": "bodies radii exponent", "signed": "of",
    "differences": "of", "polygon": "",
}
ADDED = {  # sets of what one person can add
    "counts": "queries most bound", "counted": "of bound", "counted-sums": "cells bounds",
    "jointly": "parts radii exponent",
}
SENSITIVITIES = {
    "l1": "bound", "l2": "bound", "integer": "bound", "linf": "bound l0 whole", "within": "hull",
    "row-counts": "bound neighbours", "added": "of", "groups": "", "vertices": "",
    "sums-of-cells": "", "counting-queries": "bound dimension max_nonzero neighbours with_total",
}
GEOMETRIES = {
    "cells": "count", "count-ellipse": "queries shared offset total", "blocks": "", "matrix": "",
}
STEP = "version epsilon delta neighbours assumptions "
STATEMENTS = {
    "certificate": "version epsilon delta noise dimension sensitivity geometry compositions "
                   "sampling_rate delta_interval grid assumptions",
    "threshold-certificate": STEP + "noise threshold reach chance_below coordinate",
    "quantile-certificate": STEP + "levels rates nested candidates parts groups reach",
    "selection-certificate": STEP + "rate rounds candidates",
    "keys-certificate": STEP + "groups chances bits",
    "limit-certificate": STEP + "rate candidates noise plans",
}
"""Kinds of records and their fields beside the kind; no fields if there is no proof here."""
SMALLEST, ANY = Fraction(1, 10**300), (-(10**300), 10**300)
LENGTH, COUNT = (Fraction(1, 10**140), 10**140), (1, 10**6)
NUMBERS = {
    **dict.fromkeys("scale bound bounds radii reach rates rate".split(), LENGTH),
    **dict.fromkeys("delta sampling_rate chance_below shares levels atom".split(), (0, 1)),
    **dict.fromkeys("delta_interval threshold offset limits amounts".split(), ANY),
    "epsilon": (0, 10**5), "gamma": (LENGTH[0], 1), "decay": (Fraction(1, 1000), 10**6),
    "radius": (Fraction(1, 10**12), 10**5), "shared": (-1, 10**9), "total": (0, 10**9),
    "rho": (0, 10**4),
}
WHOLES = {
    **dict.fromkeys("dimension cells copies coordinates queries most l0 groups".split(), COUNT),
    **dict.fromkeys("branches count max_nonzero rounds".split(), COUNT), "coordinate": (0, 10**6),
    **dict.fromkeys("compositions candidates".split(), (1, 2**53)), "releases": (2, 2**53),
    "masses": (0, 2**20_000), "chances": (0, 2**52), "bits": (0, 14),
}
WORDS = {
    **dict.fromkeys("whole with_total nested".split(), (True, False)), "rule": (BASIC, TIGHT),
    "version": (1,), "neighbours": ("add-remove", "replace-one"),
}
LISTS = {
    *"bounds radii masses branches shares copies levels rates delta_interval draws".split(),
    *"chances limits amounts plans".split(),
}
MEANINGS = {
    "limit-certificate": {"candidates": "limits", "noise": "amounts"},
    "quantile-certificate": {"parts": "count", "groups": "candidates"},
}
"""Fields with another sense in some kinds of records: the names by which `read` knows them."""
# fmt: on


def show(value: object) -> str:
    """The start of a value's JSON, in ASCII: no control character reaches a terminal."""
    return json.dumps(value)[:300]


def number(text: object) -> Fraction:
    """The exact number that a text spells: a decimal, a ratio, or a float in hex."""
    spelled = text if isinstance(text, str) and len(text) <= 1300 else "no number"
    try:
        if "0x" in spelled and float.fromhex(spelled).hex() == spelled:
            return Fraction(float.fromhex(spelled))
        exponent = spelled.lower().partition("e")[2].lstrip("+-")
        require(set(spelled) <= set("+-.0123456789eE/") and len(exponent) <= 4, "")
        value = Fraction(spelled)
        longest = max(value.numerator.bit_length(), value.denominator.bit_length())
        require(longest <= 2000 and (not value or SMALLEST <= abs(value) <= 1 / SMALLEST), "")
    except (ValueError, OverflowError, ZeroDivisionError, Rejected):
        raise Rejected(f"Expected a quoted number, got {show(text)}.") from None
    return value


def read(name: str, value, *, item: bool = False):
    """The value of a field or of a list's item; unchanged, if other functions read the field."""
    if name in LISTS and not item:
        require(isinstance(value, list) and value, f"Expected a list for {name}.")
        require(len(value) <= 50_000, f"a list of {len(value)} items", NotChecked)
        return tuple(read(name, part, item=True) for part in value)
    if name in NUMBERS:
        exact, (low, high) = number(value), NUMBERS[name]
        # a sign, or a probability above 1, makes no sense; other limits are limits of work
        fits = (exact > 0 if low > 0 else exact >= low) and (exact <= high or high > 1)
        require(fits, f"{name} = {show(value)} is no such number.")
        require(low <= exact <= high, f"{name} = {show(value)}, too small or too large", NotChecked)
        return exact
    of_sum = name == "coordinate" and value == "sum"
    require(not of_sum, "a threshold for the sum of a group's numbers", NotChecked)
    if name in WHOLES:
        low, high = WHOLES[name]
        require(type(value) is int and value >= low, f"{name} = {show(value)} is no such number.")
        require(value <= high, f"{name} = {show(value)}, which is too large", NotChecked)
    if name in WORDS:
        same = any(value == word and type(value) is type(word) for word in WORDS[name])
        require(same, f"{name} = {show(value)} is not in {show(WORDS[name])}.")
    return shape(value, BODIES) if name in {"body", "hull"} else value


KINDS = {"text": str, "list": list, "JSON object": dict, "whole number": int}


def field(record, name: str, kind: str, other: object = None):
    """The value of an object's field, of a kind in `KINDS`; `other` if there is no such field."""
    require(isinstance(record, dict), "Expected a JSON object.")
    value = record.get(name, other)
    require(type(value) is KINDS[kind], f"Expected a {kind} for {name}, got {show(value)}.")
    return value


def fields(record, names: str | dict, optional: str = "") -> dict:
    """Read a record with the fields `names` (a dict: by kind), and perhaps `optional` ones."""
    require(isinstance(record, dict), "Expected a JSON object.")
    meant = {}
    if isinstance(names, dict):
        kind = record.get("kind")
        require(isinstance(kind, str) and kind in names, f"Unknown kind {show(kind)}.")
        require(names[kind], f"the kind {kind}", NotChecked)
        names, meant = "kind " + names[kind], MEANINGS.get(kind, {})
    missing, more = set(names.split()) - set(record), set(record) - set(names.split())
    require(not missing and more <= set(optional.split()), f"Expected the fields {names}.")
    return {name: read(meant.get(name, name), value) for name, value in record.items()}


def shape(record: object, kinds: dict, deepest: int = 6) -> tuple:
    """Read a set: (kind, dimension, *fields). Proofs test equality only (docs/theory/bodies.md)."""
    require(deepest, "shapes nested too deep", NotChecked)
    r = fields(record, kinds)
    require(r.get("exponent", "infinity") == "infinity", "shapes with an exponent", NotChecked)
    kind, parts = r["kind"], ()
    for name in {"of", "parts", "bodies"} & set(r):
        inner = BODIES if kind in {"cells", "at-most", "together"} else ADDED
        listed = [r[name]] if name == "of" else r[name]
        require(isinstance(listed, list) and listed, "Expected a list of parts.")
        parts = r[name] = tuple(shape(part, inner, deepest - 1) for part in listed)
    copies, radii = r.get("copies", (1,) * len(parts)), r.get("radii", (1,) * len(parts))
    cells, most = r.get("cells", r.get("queries", 1)), r.get("most", 1)
    fits = len(copies) == len(radii) == len(parts) and min(radii, default=1) >= 1 and most <= cells
    require(fits, f"The fields of {kind} do not fit each other.")
    numbers = sum(part[1] * n for part, n in zip(parts, copies, strict=True))
    numbers = numbers if parts else len(r.get("bounds", (1,)))
    dimension = numbers * cells * r.get("coordinates", 1) + (kind == "counted")
    small = dimension <= 10**6 and (most == cells or most * dimension <= 10**6)
    require(small, "shapes of too many numbers", NotChecked)
    if kind == "interval":
        return "box", 1, (r["bound"],)
    return kind, dimension, *(r[name] for name in kinds[kind].split())


def parse(text: bytes) -> dict:
    """Read a JSON object without duplicate fields; ValueError if the text isn't JSON."""

    def unique(pairs: list) -> dict:
        require(len(dict(pairs)) == len(pairs), "A field is duplicate.")
        return dict(pairs)

    record = json.loads(text.decode(), object_pairs_hook=unique)
    require(isinstance(record, dict), "Expected a JSON object.")
    return record


# 2. Balls.

UNIT = 1 << 512


class Ball:
    """A real number from low/2^512 to high/2^512; low and high are whole numbers."""

    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high

    @staticmethod
    def of(value: Fraction | int) -> Ball:
        """The smallest ball that contains an exact number."""
        return Ball(math.floor(value * UNIT), math.ceil(value * UNIT))

    def __add__(self, other: Ball) -> Ball:
        return Ball(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Ball) -> Ball:
        return Ball(self.low - other.high, self.high - other.low)

    def __mul__(self, other: Ball) -> Ball:
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Ball(min(ends) // UNIT, -(-max(ends) // UNIT))

    def __truediv__(self, other: Ball) -> Ball:
        require(other.low > 0, "a division by a number next to 0", NotChecked)
        ends = [(a * UNIT, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Ball(min(a // b for a, b in ends), max(-(-a // b) for a, b in ends))

    def over(self, n: int) -> Ball:
        """The quotient by a whole number n >= 1."""
        return Ball(self.low // n, -(-self.high // n))

    def sqrt(self) -> Ball:
        """The square root of a number that is not below 0."""
        return Ball(math.isqrt(self.low * UNIT), math.isqrt(self.high * UNIT) + 1)

    def size(self) -> int:
        """A bound on the absolute value, in units of 2^−512."""
        return max(-self.low, self.high)


ZERO, ONE, HALF = Ball(0, 0), Ball.of(1), Ball.of(Fraction(1, 2))


def exp(x: Ball) -> Ball:
    """The exponential: at each end Taylor's series at y = x/2^k, |y| <= 2^−8, squared k times.

    The sum of the omitted terms is less than twice the first of them, which is below one unit.
    """

    def at(end: int) -> Ball:
        if end < -1000 * UNIT:
            return Ball(0, 1)  # e^−1000 < 2^−512
        require(end <= UNIT << 17, "an exponent above 131,072", NotChecked)
        halvings = max(0, abs(end).bit_length() - 512 + 8)
        y, total, term, n = Ball(end >> halvings, -(-end >> halvings)), ONE, ONE, 0
        while term.size() > 1:
            term, n = (term * y).over(n + 1), n + 1
            total += term
        total += Ball(-2, 2)
        for _ in range(halvings):
            total *= total
        return total

    return Ball(max(at(x.low).low, 0), at(x.high).high)


def integral(x: Ball) -> Ball:
    """∫₀^x e^(−t²/2) dt = (x + x³/3 + x⁵/(3·5) + …)·e^(−x²/2), |x| <= 40."""
    require(x.size() <= 40 * UNIT, "a Gaussian law beyond 40 standard deviations", NotChecked)
    square, term, total, n = x * x, x, x, 3
    while term.size() > 1 or square.high > n // 2 * UNIT:  # then each term is below half the last
        term, n = (term * square).over(n), n + 2
        total += term
    return (total + Ball(-2, 2)) / exp(square * HALF)


MASS = integral(Ball.of(40)) + Ball(0, 1)  # from 0 to ∞: what is beyond 40 is below e^−800


def normal(x: Ball) -> Ball:
    """Φ(x), the part of the integral from −∞ to ∞ that is below x."""
    return HALF + integral(x) / (MASS + MASS)


# 3. How far one person moves the numbers.


class Shifts(dict):
    """Known facts about all shifts s; a missing fact raises NotChecked.

    l1: max Σ|s_i|, if a shift of one number attains it. square: max Σ s_i². whole: max |s| of one
    whole number. hull: the body of all shifts. added: a set that holds s or −s. rows: a pair, how
    many steps of ±1 in a cell s consists of, and True if steps may go from cell to cell.
    """

    def __missing__(self, name: str):
        raise NotChecked("this noise for shifts that are described in this way")


def hull_of(bound: Fraction, most: int, cells: int) -> tuple:
    """The hull of all shifts of at most `most` of the cells, each by at most `bound`."""
    if most >= cells:
        return "box", cells, (bound,) * cells
    segment = hull_of(bound, 1, 1)
    if most == 1:
        return "cells", cells, (segment,), (cells,)
    return "at-most", cells, most, cells, (segment,)


def rounded_up(square: Fraction) -> Fraction:
    """The square of a fraction that is √square, or exceeds it by at most 2^−60 (relative).

    A certificate's interval contains δ at this fraction, which may be above δ at √square.
    """
    product, q = square.numerator * square.denominator, square.denominator
    if math.isqrt(product) ** 2 == product:
        return square
    return Fraction(math.isqrt(product << 128) + 1, q << 64) ** 2


def shifts_of(r: dict, d: int) -> Shifts:
    """The facts that a sensitivity, with the fields r, implies about the shifts of d numbers."""
    kind, b, about = r["kind"], r.get("bound", Fraction(1)), r.get("neighbours")
    replaced, s, numbers = about == "replace-one", Shifts(neighbours=about), d
    if kind == "within":
        s["hull"], numbers = r["hull"], r["hull"][1]
    elif kind == "added":
        added = shape(r["of"], ADDED)
        numbers = added[1]
        s |= {"neighbours": "add-remove", "added": added, "hull": ("signed", numbers, (added,))}
    elif kind == "counting-queries":
        q, k, n = r["dimension"], r["max_nonzero"], int(r["with_total"])
        numbers, moved = q + n, min(2 * k, q) if replaced else k  # at most `moved` queries by ±b
        fits = k <= q and not (replaced and n)
        require(fits, "More queries than there are, or a replaced total.")
        counts = ("counts", q, q, k, b)
        counts = ("counted", q + 1, (counts,), Fraction(1)) if n else counts
        s |= {"square": b * b * moved + n, "hull": hull_of(b, k, q)}
        s |= {"l1": b} if moved + n == 1 else {}
        s |= {} if replaced else {"added": counts}
        if n or (k < q if replaced else k > 1):
            s["hull"] = "differences" if replaced else "signed", q + n, (counts,)
    else:
        moved, numbers = min(r.get("l0", 1), d), 1 if kind == "integer" else d
        whole = kind in {"integer", "row-counts"} or r.get("whole", False)
        between = kind == "row-counts" and replaced and d > 1  # rows go from cell to cell
        require(b.denominator == 1 or not whole, "Whole shifts have a whole bound.")
        s |= {"square": b * b * (2 if between else moved), "hull": hull_of(b, moved, d)}
        s |= {"rows": (b * moved, replaced)} if whole else {}
        s |= {"whole": b} if whole and d == 1 else {}
        s |= {"l1": b} if moved == 1 and not between and (kind != "l2" or d == 1) else {}
        if kind == "l2" and d > 1:
            s["hull"] = "ball", d, b, d
        if between:
            s["hull"] = "differences", d, (("counts", d, d, 1, b),)
    require(numbers == d, "The sensitivity is of another number of numbers.")
    if "square" in s:
        s["square"] = rounded_up(s["square"])
    return s


def longest_image(r: dict, w: dict) -> Fraction:
    """The max ‖W(v, n)‖² of counting queries, W(v, n) = (v + shared·Σv + offset·n, total·n).

    A convex function is largest at a corner: i entries of v are b, j are −b, the others 0. An added
    record has i <= k and j = 0. For a replaced one i, j <= k and n = 0. The square is b²(i + j) +
    b²·shared·(2 + q·shared)·(i − j)²: at each m = i + j an extreme t of i − j is the worst.
    """
    q, b, k, n = r["dimension"], r["bound"], r["max_nonzero"], int(r["with_total"])
    require(q <= 20_000, "more than 20,000 counting queries", NotChecked)
    corners = [(i, 0) for i in range(k + 1)]
    if r["neighbours"] == "replace-one":
        pairs = ((m, t) for m in range(min(2 * k, q) + 1) for t in (min(m, 2 * k - m), m % 2))
        corners = [((m + t) // 2, (m - t) // 2) for m, t in pairs]
    squares = []
    for i, j in corners:
        lean = w["shared"] * b * (i - j) + w["offset"] * n
        entries = (i, b + lean), (j, lean - b), (q - i - j, lean), (n, w["total"])
        squares.append(sum(times * x * x for times, x in entries))
    return max(squares)


def shifts_to_hide(claim: dict) -> tuple[Shifts, int, int]:
    """The shifts that the noise has to hide, its dimension, and how many draws one person reaches.

    With a geometry, W⁻¹(W v + X) is released, so that X has to hide W s; W⁻¹ exists if q·shared >
    −1. In `cells` each cell has noise of its own. One person moves l0 cells.
    """
    r = fields(claim["sensitivity"], SENSITIVITIES)
    d, draws = claim["dimension"], claim["compositions"]
    s = shifts_of(r, d)
    if claim["geometry"] is None:
        return s, d, draws
    g = fields(claim["geometry"], GEOMETRIES)
    if g["kind"] == "cells":
        require(r["kind"] == "linf" and g["count"] == d, "Other cells than the shifts have.")
        alone = {"kind": "integer" if r["whole"] else "l2", "bound": r["bound"]}
        return shifts_of(alone, 1), 1, draws * min(r["l0"], d)
    fits = r["kind"] == "counting-queries" and g["queries"] == r["dimension"]
    fits = fits and (g["total"] > 0) == r["with_total"] and (g["total"] or not g["offset"])
    require(fits and g["queries"] * g["shared"] > -1, "The geometry does not fit the shifts.")
    return Shifts(square=longest_image(r, g), neighbours=r["neighbours"]), d, draws


# 4. Laws of noise. notation: p the parameters, b the scale; s the shifts, Δ the longest.

# fmt: off
FAMILIES = {
    "laplace": "scale", "staircase": "scale gamma decay", "geometric": "scale cells core decay",
    "k-norm": "scale body", "k-staircase": "scale body gamma decay",
    "agreeing": "scale branches shares", "two-sided-laplace": "scale of core",
    "two-sided-staircase": "scale of core decay", "gaussian": "scale", "l2": "scale",
    "truncated-laplace": "scale radius", "truncated-staircase": "scale gamma radius decay atom",
    "tulap": "scale radius decay", "discrete-staircase": "scale cells masses",
}
OF_ONE_NUMBER = {
    "staircase", "geometric", "tulap", "truncated-laplace", "truncated-staircase",
    "discrete-staircase",
}
# fmt: on


def on_tree(p: dict, s: Shifts, d: int) -> Fraction:
    """ε₀ = max Σ_v w_v|s_v|/b, s_v the sum of the cells below a node v, w_v the share of its level.

    η(x) = Σ_v w_v|x_v|/b is a norm. A step in a cell moves one node of each level. A step between
    cells moves two of each level below the node that holds both, at worst of all that have two.
    """
    shares, branches, nodes = p["shares"], p["branches"], [1]
    require(1 < len(shares) <= 13, "No levels, or too many.")
    if len(branches) == len(shares) - 1 and math.prod(branches) <= 1 << 16:  # one a level
        branches = sum(((b,) * math.prod(branches[:i]) for i, b in enumerate(branches)), ())
    for _ in shares[1:]:
        first = sum(nodes[:-1])
        nodes.append(sum(branches[first : first + nodes[-1]]))
    fits = nodes[-1] == d <= 1 << 16 and sum(nodes[:-1]) == len(branches)
    fits = fits and sum(shares) <= 1 and shares[-1] > 0
    fits = fits and not any(0 < share * 2**32 < p["scale"] for share in shares)
    require(fits, "The branches are no tree of these numbers, or the shares are more than 1.")
    steps, moved = s["rows"]
    apart = next((level for level, n in enumerate(nodes) if n > 1), len(nodes))
    return steps * max(sum(shares), 2 * sum(shares[apart:]) if moved else 0) / p["scale"]


def loss_of(name: str, p: dict, s: Shifts, d: int) -> Fraction | None:
    """ε₀ of pure noise (fact 1); None for other noise.

    Two-sided noise has η = (P/b − core)₊ + (Q/b − core)₊, or h·(⌈(P/b − core)₊⌉ + ⌈(Q/b − core)₊⌉),
    P and Q gauges. An added person raises P by 0 to 1 and lowers Q by 0 to 1: the staircase hides
    the set and its negative. P(s) + Q(s) is the norm of their hull (docs/theory/bodies.md §3).
    """
    if name in {"laplace", "staircase"}:
        moved = s["l1"] / p["scale"]
    elif "cells" in p:  # a lattice of multiples of b/cells
        fits = (p["cells"] / p["scale"]).denominator == 1 and p.get("core", 1) <= p["cells"]
        require(fits, "A shift by 1 leaves the lattice of the noise.")
        moved = s["whole"] / p["scale"]
    elif "body" in p or "of" in p:
        form = p.get("body") or shape(p["of"], ADDED)
        require(form[1] == d, "The dimension of the noise does not fit.")
        hidden = ("signed", d, (form,)) if "core" in p and "decay" not in p else form
        known = s["added"] if "of" in p and "decay" in p else s["hull"]
        require(hidden == known, "noise in another shape than the shifts", NotChecked)
        moved = 1 / p["scale"]
    else:
        return on_tree(p, s, d) if name == "agreeing" else None
    if "masses" in p:
        return None
    return p["decay"] * math.ceil(moved) if "decay" in p else moved


def gaussian(square: Fraction, epsilon: Fraction) -> Ball:
    """δ(ε) = Φ(r/2 − ε/r) − e^ε Φ(−r/2 − ε/r), r = Δ/σ (Balle & Wang 2018); `square` is r²."""
    r = Ball.of(square).sqrt()
    away = Ball.of(epsilon) / r
    return normal(r * HALF - away) - exp(Ball.of(epsilon)) * normal(ZERO - r * HALF - away)


def truncated_laplace(t: Fraction, a: Fraction, epsilon: Fraction) -> Ball:
    """δ(ε) of Laplace noise cut off at ±a under a shift by t, in units of its scale b.

    F(x) = (e^x − e^−a)/(2(1 − e^−a)) for −a <= x <= 0, and F(x) = 1 − F(−x). The loss
    ln(f(x)/f(x − t)) is ∞ for x < t − a. From there on it is t up to x = 0, t − 2x up to x = t, and
    −t beyond. So it is above ε for x < y, and δ(ε) = F(y) − e^ε F(y − t).
    """
    low = exp(Ball.of(-a))

    def below(x: Fraction) -> Ball:
        if x > 0:
            return ONE - below(-x)
        return ZERO if x <= -a else (exp(Ball.of(x)) - low) * HALF / (ONE - low)

    y = max(t - a, (t - epsilon) / 2) if t > epsilon else t - a
    return below(y) - exp(Ball.of(epsilon)) * below(y - t)


def truncated_steps(t: Fraction, p: dict, epsilon: Fraction) -> Ball:
    """δ(ε) of steps q^k, q = e^−decay, from γ + k − 1 to γ + k, cut off at R; and an atom w at 0.

    Under a shift by t <= 1 step the loss is ∞ with P(∞) = P(X > R − t), else decay, 0 or −decay.
    As δ(0) = P(∞) + P(decay)·(1 − q) is also P(|X| < t/2), this gives P(decay). An atom has the
    loss ∞: δ(ε) = w + (1 − w)·(P(∞) + P(decay)·(1 − e^(ε − decay))₊).
    """
    gamma, radius, decay = p.get("gamma", Fraction(1, 2)), p["radius"], p["decay"]
    q, w = exp(Ball.of(-decay)), Ball.of(p.get("atom", 0))
    fits = t <= 1 and radius > t / 2
    require(fits, "shifts of more than a step, or beyond the noise", NotChecked)

    def mass(x: Fraction) -> Ball:
        """∫₀^x = γ + q + … + q^n + (x − γ − n) q^(n+1), n = ⌊x − γ⌋."""
        n = math.floor(x - gamma)
        last = exp(Ball.of(-decay * (n + 1)))
        steps = (q - last) / (ONE - q) + Ball.of(x - gamma - n) * last
        return Ball.of(x) if x <= gamma else Ball.of(gamma) + steps

    half, side = mass(radius), mass(abs(radius - t))
    delta = infinite = (half - side if radius >= t else half + side) * HALF / half
    if epsilon < decay:
        finite = (mass(t / 2) / half - infinite) / (ONE - q)
        delta += finite * (ONE - exp(Ball.of(epsilon - decay)))
    return w + (ONE - w) * delta


def lattice(shift: Fraction, p: dict, epsilon: Fraction) -> Ball:
    """δ(ε) = max_j Σ_k (w_k − e^ε w_(k−j))₊/Σ_k w_k over the shifts by j = cells/b, 2·cells/b etc.

    If the weights fall with |k|, the longest shift is the worst (fact 2). If w_k = 0, a term is 0.
    """
    w, step, factor = p["masses"], int(p["cells"] / p["scale"]), exp(Ball.of(epsilon))
    require(w[0] > 0, "The first weight is 0.")
    weights, shifts = [*w[:0:-1], *w], [step * int(shift)]
    if list(w) != sorted(w, reverse=True):
        require(shift * len(w) <= 3 * 10**5, "a long list of weights that rise", NotChecked)
        shifts = [step * i for i in range(1, int(shift) + 1)]

    def above(j: int, e: int) -> int:
        """Σ_k (w_k − e·w_(k−j))₊ times 2^512, for e·2^512."""
        moved = [0] * min(j, len(weights)) + weights
        return sum(max(0, a * UNIT - e * c) for a, c in zip(weights, moved, strict=False))

    low, high = (max(above(j, e) for j in shifts) for e in (factor.high, factor.low))
    return Ball(low, high).over(sum(weights))


def bessel_k(z: Ball) -> tuple[Ball, Ball]:
    """K₀(z) and K₁(z), K_ν(z) = ∫₀^∞ e^(−z cosh t) cosh νt dt, by the trapezoidal rule, h = 1/64.

    On |Im t| <= 1 the integrand is at most e^(−(z/2) cosh t) cosh t, whose integral over all real t
    is 2K₁(z/2) <= 4/z. So the rule is off by at most (4/z)/(e^(128π) − 1) (Trefethen & Weideman
    2014, Theorem 5.1), less than a unit for z > 2^−50. When e^(−z cosh t) is below a unit, all
    terms fall to less than a half each, as z <= 300, so that the rest is below 2·cosh t units.
    """
    up, value, zeroth = exp(Ball.of(Fraction(1, 64))), ONE, exp(ZERO - z) * HALF
    rise, fall, first, cosh = up, ONE / up, zeroth, ONE
    while value.size() > 1:
        cosh = (rise + fall) * HALF
        value = exp(ZERO - z * cosh)
        zeroth, first = zeroth + value, first + value * cosh
        rise, fall = rise * up, fall / up
    rest = Ball(0, 2 * (cosh.high // UNIT + 1))
    return (zeroth + rest).over(64) + Ball(-1, 1), (first + rest).over(64) + Ball(-1, 1)


def cap(m: Fraction, c: Ball, w: Ball) -> Ball:
    """∫₀^w e^(cy) (y(2 − y))^m dy, 0 < w <= 1, 2m whole: w^(m+1) Σ g_n w^n/(m + n + 1).

    g(y) = e^(cy) (2 − y)^m has (2 − y) g' = (c(2 − y) − m) g, so 2(n + 1) g_(n+1) =
    (n + 2c − m) g_n − c g_(n−1). For n >= 2(3|c| + |m|) each |g_n| is at most ¾ of the larger of
    the two before. Once g_(n−1) and g_n are at most 16 units, the rest from g_n on is at most
    16 + 2·16·(¾ + ¾² + …) = 112 units.
    """
    half = m.denominator == 2
    before, g = ZERO, Ball.of(Fraction(2) ** math.floor(m)) * (Ball.of(2).sqrt() if half else ONE)
    power, total, n = ONE, ZERO, 0
    while max(before.size(), g.size()) > 16 or n * UNIT < 6 * c.size() + 2 * abs(m) * UNIT:
        total += g * power * Ball.of(1 / (m + n + 1))
        before, g = g, ((Ball.of(n - m) + c + c) * g - c * before).over(2 * n + 2)
        power, n = power * w, n + 1
    total += Ball(-112, 112)
    for _ in range(math.floor(m) + 1):
        total *= w
    return total * w.sqrt() if half else total


def l2(square: Fraction, d: int, epsilon: Fraction) -> Ball:
    """δ(ε) of noise e^(−‖x‖/b) in d >= 2 dimensions, r = Δ/b > ε, by series; `square` is r².

    notation: ξ = (‖x‖ + ‖x − s‖)/Δ, η = (‖x − s‖ − ‖x‖)/Δ, m = (d − 3)/2, z = r/2. The loss is rη,
    and (ξ, η) has a density ∝ e^(−z(ξ − η)) ((ξ² − 1)(1 − η²))^m (ξ² − 1 + 1 − η²). Integrated
    over ξ >= 1 (Basset's formula) it is v(η) ∝ e^(zη) (1 − η²)^m (ρ + 1 − η²), where
    ρ = (d − 1)/z·K_(d/2)(z)/K_(d/2−1)(z).
    δ(ε) = ∫ (1 − e^(ε − rη)) v(η) dη from ε/r to 1, over ∫ v(η) dη from −1 to 1.
    """
    r, m = Ball.of(square).sqrt(), Fraction(d - 3, 2)
    small = d <= 500 and UNIT >> 40 < r.low <= r.high < 300 * UNIT
    require(small, "l2 noise of very many numbers, or very small or large", NotChecked)
    z, end, ratio = r * HALF, ONE - Ball.of(epsilon) / r, ONE  # K_(1/2) = K_(−1/2)
    if d % 2 == 0:
        zeroth, first = bessel_k(z)
        ratio = first / zeroth
    for twice_nu in range(2 - d % 2, d - 1, 2):  # K_(ν+1)/K_ν = K_(ν−1)/K_ν + 2ν/z
        ratio = ONE / ratio + Ball.of(twice_nu) / z
    rho, e, up, down = Ball.of(d - 1) / z * ratio, exp(Ball.of(epsilon)), exp(z), exp(ZERO - z)
    above, whole = ZERO, ZERO
    for n, factor in ((m, rho), (m + 1, ONE)):  # y = 1 − η, and by symmetry 1 + η below 0
        above += factor * (up * cap(n, ZERO - z, end) - e * down * cap(n, z, end))
        whole += factor * (up * cap(n, ZERO - z, ONE) + down * cap(n, z, ONE))
    return above / whole


# 5. Certificates.

# fmt: off
ASSUMPTIONS = {
    "certificate": [
        "Between neighbouring inputs the query moves by at most the stated sensitivity.",
        "AES-256-CTR keyed by the operating system can't be told from fair bits.",
        "Running time and memory use are not observed.",
    ],
    "threshold-certificate": [(
        "a group's row is published only if its noisy count, as it is published, reaches the "
        "threshold, or by a fair coin of that chance if it is one step of the grid below; nothing "
        "is said of other groups, not even how many there are"
    )],
    "quantile-certificate": [(
        "candidates, groups and levels are public and fixed before the rows are read; what a unit "
        "adds to all cells of all groups depends on its own rows alone, is nowhere negative, and "
        "is at most the reach in all"
    )],
    "selection-certificate": [(
        "the candidates are public and fixed before the rows are read; what a unit adds to each "
        "candidate's score depends on its own rows alone, and is 0 or 1"
    )],
    "keys-certificate": [(
        "each key that a unit has is published by a fair coin of its own, of the chance that the "
        "table gives the number of its units; nothing is said of other keys, not even how many "
        "there are"
    )],
    "limit-certificate": [(
        "candidates, their noise and their plans are public and fixed before the rows are read; "
        "the number of a unit's rows or groups depends on its own rows alone"
    )],
}
# fmt: on


def read_claim(record: object, kinds: dict = STATEMENTS) -> dict:
    """Read a certificate; one of a draw also gets its law: name, p, s (the shifts), d, draws."""
    claim = fields(record, kinds, "neighbours")
    require(claim.get("sampling_rate", 1) == 1, "releases of samples", NotChecked)
    fits = claim["assumptions"] == ASSUMPTIONS[claim["kind"]] and claim["epsilon"] + claim["delta"]
    require(fits and claim["delta"] < 1, "Other assumptions than the proof has, or no budget.")
    if claim["kind"] != "certificate":
        return claim
    noise = fields(claim["noise"], "name parameters")
    name = noise["name"] if isinstance(noise["name"], str) else ""
    require(name in FAMILIES, f"{show(name)} noise", NotChecked)
    p, (s, d, draws) = fields(noise["parameters"], FAMILIES[name]), shifts_to_hide(claim)
    if "core" in p:
        p["core"] = read("most" if name == "geometric" else "total", p["core"])
        require(name in {"geometric", "two-sided-laplace"} or p["core"] * 10**6 >= 1, "No core.")
    fits = d == 1 if name in OF_ONE_NUMBER else d > 1 or name != "l2"
    require(fits, "The dimension of the noise does not fit.")
    grid = None if claim["grid"] is None else number(claim["grid"])
    fits = grid is None or (grid > 0 and not any(n & (n - 1) for n in grid.as_integer_ratio()))
    about = {claim.get("neighbours"), s["neighbours"]} - {None}
    require(fits and len(about) < 2, "The grid is no power of two, or the neighbours differ.")
    law = {"name": name, "p": p, "s": s, "d": d, "draws": draws, "grid": grid}
    return claim | law | {"neighbours": about.pop() if about else None}


def delta_of(claim: dict, draws: int, epsilon: Fraction) -> Ball:
    """δ(ε) of several draws of a claim's law."""
    name, p, s, d, loss = claim["name"], claim["p"], claim["s"], claim["d"], None
    if name in {"gaussian", "l2"}:
        square = s["square"] / p["scale"] ** 2
        if name == "gaussian":
            return gaussian(draws * square, epsilon)
        pure = draws**2 * square <= epsilon**2  # ε₀ = Δ/b
    else:
        loss = loss_of(name, p, s, d)
        pure = loss is not None and draws * loss <= epsilon
    if pure:
        return ZERO
    require(draws == 1, f"{draws} draws of {name} noise with δ above 0", NotChecked)
    if name == "l2":
        return l2(square, d, epsilon)
    if name == "laplace" and loss is not None:  # of one number: 1 − e^((ε − Δ/b)/2)
        return ONE - exp(Ball.of((epsilon - loss) / 2))
    if name == "truncated-laplace":
        return truncated_laplace(s["l1"] / p["scale"], p["radius"], epsilon)
    if name in {"truncated-staircase", "tulap"}:
        return truncated_steps(s["l1"] / p["scale"], p, epsilon)
    require(name == "discrete-staircase", f"{name} noise with δ above 0", NotChecked)
    return lattice(s["whole"], p, epsilon)


def check_draw(claim: dict) -> Ball:
    """δ of a draw of noise, which lies in the interval that the certificate states."""
    delta, ends = delta_of(claim, claim["draws"], claim["epsilon"]), claim["delta_interval"]
    require(delta.high <= claim["delta"] * UNIT, f"δ is up to {delta.high / UNIT:.9g}.")
    fits = len(ends) == 2 and ends[0] * UNIT <= delta.low <= delta.high <= ends[1] * UNIT
    require(fits, "δ is not in the stated interval.")
    return delta


def tail(claim: dict, t: Fraction, i: int) -> Ball:
    """P(X_i > t), t >= 0.

    k-norm noise on a box of q numbers has ½e^(−c) Σ_(j<q) (1 − j/q) c^j/j!, c = t/(b·bound_i):
    X is uniform in r·b·box, r ~ Gamma(q + 1), so that it is E ½(1 − c/r)₊. Laplace noise has q = 1.
    """
    name, p, c = claim["name"], claim["p"], t / claim["p"]["scale"]
    if name == "gaussian":
        return normal(Ball.of(-c))
    if name == "discrete-staircase":
        w = p["masses"]
        return Ball.of(Fraction(sum(w[math.floor(c * p["cells"]) + 1 :]), 2 * sum(w) - w[0]))
    q, total, term = 1, ZERO, ONE
    if name == "k-norm" and p["body"][0] == "box":
        c, q = c / p["body"][2][i], claim["d"]
    else:
        require(name == "laplace", f"a threshold for {name} noise", NotChecked)
    for j in range(q):
        total, term = total + term * Ball.of(Fraction(q - j, q)), term * Ball.of(c / (j + 1))
    return total * HALF * exp(Ball.of(-c))


def added_or_replaced(claim: dict, delta) -> Ball:
    """δ(ε) for a person who is added or removed; for one who is replaced (1 + e^(ε/2))·δ(ε/2).

    The second is shown by way of the table without either person.
    """
    if claim["neighbours"] == "add-remove":
        return delta(claim["epsilon"])
    half = claim["epsilon"] / 2
    return delta(half) * (ONE + exp(Ball.of(half)))


def check_threshold(claim: dict) -> Ball:
    """δ of rows of unlisted groups, published if a noisy count reaches a threshold.

    p = P(reach + X, rounded to the grid, reaches the threshold, or by the coin one step below). Of
    k groups of a person j have nobody else: δ = max_j 1 − a + a·δ_(k−j)(ε), a = (1 − p)^j, as none
    of these is published with probability a. Proof, f and g the laws of the other groups with and
    without the person: a·f − e^ε·g <= a·(f − e^ε·g) and g − e^ε·a·f = a·(g − e^ε·f) + (1 − a)·g.
    """
    noise = read_claim(claim["noise"], {"certificate": STATEMENTS["certificate"]})
    check_draw(noise)
    grid, k, coin, i = noise["grid"], noise["draws"], claim["chance_below"], claim["coordinate"]
    fits = grid and noise["geometry"] is None and noise["neighbours"] == "add-remove"
    fits = fits and i < noise["d"] and coin < 1
    require(fits, "The certificate of the noise does not fit a threshold.")
    require(k <= 200, "more than 200 groups", NotChecked)
    # reach + X rounds up from half a step below, inclusive; 2^−40 more: `tail` leaves X = t out
    near = claim["threshold"] - claim["reach"] - grid * (Fraction(1, 2) + Fraction(1, 2**40))
    certain, tossed = (ONE if t < 0 else tail(noise, t, i) for t in (near, near - grid))
    p = Ball.of(1 - coin) * certain + Ball.of(coin) * tossed

    def delta(epsilon: Fraction) -> Ball:
        worst, hidden = 0, ONE  # hidden: (1 − p)^j
        for j in range(k + 1):
            rest = delta_of(noise, k - j, epsilon) if j < k else ZERO
            worst = max(worst, (ONE - hidden + hidden * rest).high)
            hidden *= ONE - p
        return Ball(0, worst)

    return added_or_replaced(claim, delta)


def check_keys(claim: dict) -> Ball:
    """δ of names of unlisted groups, published without counts, by a coin for each group.

    A group of n persons is named with probability π(n), π(0) = 0, and always if n is beyond the
    list. One person changes n by 1 in k groups at most: by basic composition δ(ε) <= k·max
    (P − e^(ε/k)·Q)₊, P and Q the probabilities of one side of a coin with and without the person.
    """
    chances, k, certain = claim["chances"], claim["groups"], 2**52
    require(chances[-1] == certain, "A group that is beyond the list is not always named.")
    steps = [*zip((0, *chances), chances, strict=False)]  # of n − 1 and of n persons
    sides = steps + [(q, p) for p, q in steps]
    sides += [(certain - p, certain - q) for p, q in sides]

    def delta(epsilon: Fraction) -> Ball:
        e = exp(Ball.of(epsilon / k))
        return Ball(0, k * max(p * UNIT - e.low * q for p, q in sides)).over(certain)

    bound = added_or_replaced(claim, delta)
    loose = bound.high > claim["delta"] * UNIT and k > 1
    require(not loose, "keys of several groups by tight composition", NotChecked)
    return bound


def check_quantiles(claim: dict) -> Ball:
    """Quantiles chosen by permute-and-flip: ε₀ = Σ 2λΔ; of nested draws the worst of each depth.

    A score moves by at most Δ = R·max(a, 1 − a), R the reach and a the level among the rows that
    are left. Draws of one depth have no rows in common, so they share R. A replaced person is two
    persons: in one group, among all rows, they move a score by at most R·a + R·(1 − a) = R.
    """
    levels, rates, nested = claim["levels"], claim["rates"], claim["nested"]
    ends, replaced = [Fraction(0), *levels, Fraction(1)], claim["neighbours"] == "replace-one"
    fits = ends == sorted(set(ends)) and len(rates) == len(levels) <= 1000
    require(fits, "Levels do not rise, or have no rates.")
    costs: dict = {}
    left = [(0, len(levels), 0)] if nested else [(i, i + 1, i) for i in range(len(levels))]
    while left:
        first, last, depth = left.pop()
        i = (first + last) // 2
        low, high = (ends[first], ends[last + 1]) if nested else (0, 1)
        a = (levels[i] - low) / (high - low)
        alone = replaced and claim["groups"] == 1 and (depth == 0 or not nested)
        shift = claim["reach"] * (1 if alone else max(a, 1 - a) * (1 + replaced))
        costs[depth] = max(costs.get(depth, 0), 2 * rates[i] * shift)
        left += [(x, y, depth + 1) for x, y in ((first, i), (i + 1, last)) if x < y]
    require(sum(costs.values()) <= claim["epsilon"], "The draws need a larger ε.")
    return ZERO


def check_selection(claim: dict) -> Ball:
    """δ of groups selected by permute-and-flip: ε₀ = λ a round, or 2λ if a person is replaced.

    A person who is added moves all scores by 0 or 1, so that c_j − c_i <= 1.
    """
    require(claim["rounds"] < claim["candidates"], "There are as many rounds as candidates.")
    spent = claim["rounds"] * claim["rate"] * (1 + (claim["neighbours"] == "replace-one"))
    require(spent <= claim["epsilon"], "The rounds need a larger ε.")
    return ZERO


def check_limit(claim: dict) -> Ball:
    """δ of a limit chosen by permute-and-flip, then its plan: ε₀ is 2λ plus the plan's ε.

    The score of a limit c_j is max_i (f(j) − f(i))/|c_j − c_i|, f(j) = N_j + Σ_u max(0, n_u − c_j)
    over all persons u with n_u rows. A person adds to each quotient 0 to 1 where c_j < c_i, and −1
    to 0 where c_j > c_i. So a score moves by at most 1, also for a person who is replaced.
    """
    limits, plans, known = claim["candidates"], claim["plans"], True
    fits = list(limits) == sorted(set(limits)) and 2 <= len(limits) <= 12
    fits = fits and len(limits) == len(plans) == len(claim["noise"])
    require(fits, "Limits do not rise, or have no plans.")
    for limit, record in zip(limits, plans, strict=True):
        print(f"With the limit {float(limit):.6g}:")
        fits = isinstance(record, dict) and record.get("kind") == "plan-certificate"
        require(fits, "A limit has no plan.")
        claims = check_certificate(record) or []
        known = known and claims
        about = {c["neighbours"] for c in claims} - {None, claim["neighbours"]}
        again = any(c["kind"] == "limit-certificate" for c in claims)
        require(not again and not about and "releases" not in record, "No plan after a limit.")
        spent = 2 * claim["rate"] + number(record["epsilon"])
        fits = spent <= claim["epsilon"] and number(record["delta"]) <= claim["delta"]
        require(fits, "A plan and the choice of its limit need more than the budget.")
    require(known, "a plan of a limit", NotChecked)
    return Ball(0, Ball.of(claim["delta"]).low)  # compared above, as fractions


# fmt: off
PROOFS = {
    "certificate": check_draw, "threshold-certificate": check_threshold,
    "quantile-certificate": check_quantiles, "selection-certificate": check_selection,
    "keys-certificate": check_keys, "limit-certificate": check_limit,
}
# fmt: on


# 6. What is printed: of a certificate, of a plan of several, of a release.

# fmt: off
SENTENCES = {
    "l1": "by at most {bound} in all", "l2": "by a vector of length at most {bound}",
    "integer": "by a whole number of at most {bound}", "within": "within the body {hull}",
    "linf": "by at most {bound} each, in at most {l0} of them",
    "row-counts": "as {bound} rows do, each of which counts in one of them",
    "counting-queries": "as records do that add 0 to {bound} to at most {max_nonzero} of them",
    "added": "by adding, or taking away, a point of the set {of}",
}
MORE_ASSUMED = {
    "threshold-certificate": "; the count is number {coordinate} (from 0), which one person "
                             "changes by at most {reach}",
    "quantile-certificate": "; at most {groups} groups; the reach is {reach}",
    "keys-certificate": "; one person has at most {groups} keys",
}
NEIGHBOURS = {
    "add-remove": " if a person is added or removed",
    "replace-one": " if a person is replaced by another", None: "",
}
# fmt: on


def plain(value: object) -> str:
    """The text of a part of a certificate; numbers are rounded."""
    return f"{float(number(value)):.6g}" if isinstance(value, str) else show(value)


def fill(text: str, record: dict) -> str:
    """Put the values of fields of a record into a sentence that names the fields."""
    return text.format(**{k: plain(v) for k, v in record.items() if f"{{{k}}}" in text})


def check_statement(title: str, record) -> dict | None:
    """Print what of a certificate is assumed and proved; return the claim, or None if unproved."""
    try:
        claim = read_claim(record)
        delta = PROOFS[claim["kind"]](claim)
    except NotChecked as reason:
        print(f"{title}: NOT CHECKED here: {reason}.")
        return None
    require(delta.high <= claim["delta"] * UNIT, f"{title}: δ is up to {delta.high / UNIT:.9g}.")
    draw = {"certificate": record, "threshold-certificate": record.get("noise")}.get(claim["kind"])
    print(f"{title}:")
    if draw:
        r, times = draw["sensitivity"], draw["compositions"]
        print(f"  {draw['noise']['name']} noise on {draw['dimension']} numbers, {times} time(s).")
        print(f"  ASSUMED: one person changes these {fill(SENTENCES[r['kind']], r)}.")
    if claim["kind"] != "certificate":
        more = fill(MORE_ASSUMED.get(claim["kind"], ""), record)
        print(f"  ASSUMED: {claim['assumptions'][0]}{more}.")
    where = f"at ε = {plain(record['epsilon'])}{NEIGHBOURS[claim['neighbours']]}"
    print(f"  PROVED: δ(ε) is at most {delta.high / UNIT:.9g} {where}.")
    return claim


def check_certificate(record: dict) -> list | None:
    """Check one certificate, or a plan of several; the claims, or None if not all is proved."""
    if record.get("kind") != "plan-certificate":
        claim = check_statement("This certificate", record)
        return [claim] if claim else None
    released = [fields(draw, "name certificate") for draw in read("draws", record.get("draws"))]
    names = [field(draw, "name", "text") for draw in released]
    require(len(set(names)) == len(names), "Two queries have the same name.")
    claims = [check_statement(f"Query {show(r['name'])}", r["certificate"]) for r in released]
    try:
        return check_sum(record, claims)
    except NotChecked as reason:
        print(f"The sum of the budgets: NOT CHECKED here: {reason}.")
        return None


def check_sum(record: dict, claims: list) -> list:
    """Check that a plan's queries spend no more than it promises; return their claims."""
    plan = fields(record, "kind version epsilon delta rule draws", "releases rho")
    releases, left = plan.get("releases", 1), {p: plan[p] for p in ("epsilon", "delta")}
    for c in (draw["certificate"] for draw in plan["draws"]):  # as they are stated, proved or not
        if plan["rule"] == BASIC or c["kind"] != "certificate":
            times = 1 if c["kind"] == "certificate" else releases  # a draw's is for all releases
            left = {part: rest - times * number(c[part]) for part, rest in left.items()}
    more = "The queries spend more than the plan promises."
    require(min(left.values()) >= 0 and plan["delta"] < 1, more)
    require(all(claims), "not all queries are proved", NotChecked)
    draws, square = [c for c in claims if c["kind"] == "certificate"], None
    fits = releases == 1 or all(c["compositions"] == releases for c in draws)
    fits = fits and len({c["neighbours"] for c in claims} - {None}) < 2
    require(fits, "Queries are about other numbers of releases, or different neighbours.")
    if all(c["name"] == "gaussian" for c in draws):
        square = sum(c["draws"] * c["s"]["square"] / c["p"]["scale"] ** 2 for c in draws)
    if "rho" in plan:
        fits = square is not None and len(draws) == len(claims)
        require(fits, "The plan has a rho, but noise that is not Gaussian.")
        require(square <= 2 * plan["rho"], "The queries spend more rho than the plan promises.")
    if plan["rule"] == TIGHT:
        if square is None:
            raise NotChecked("tight composition of several laws")
        require(draws and gaussian(square, left["epsilon"]).high <= left["delta"] * UNIT, more)
    total = f"({plain(record['epsilon'])}, {plain(record['delta'])})-private"
    print(f"PROVED: {len(claims)} queries in {releases} release(s) are {total}, by {plan['rule']}.")
    return claims


def deviations(claim: dict) -> list[float]:
    """Standard deviations of single numbers, rounded to the grid or not; [] if none is known here.

    U uniform in a box with bounds a has E U_i² = a_i²/3; in D numbers of cells of q each, it is
    (q + 1)(q + 2)/((D + 1)(D + 2)) times that. X in the shape of a body has E N² (D + 2)/D times
    the moments of U; steps have E N² = D/(D + 2)·Σ q^k (k + γ)^(D+2)/Σ q^k (k + γ)^D.
    """
    name, p, d, variances = claim.get("name"), claim.get("p", {}), claim.get("d", 0), []
    form = p.get("body", ("",))
    form = form[2][0] if form[0] == "cells" and len(form[2]) == 1 else form
    if name in {"gaussian", "laplace"} and claim["geometry"] is None:
        variances = [p["scale"] ** 2 * (2 if name == "laplace" else 1)]
    elif name == "discrete-staircase":
        w, unit = p["masses"], p["scale"] / p["cells"]
        variances = [unit**2 * sum(2 * k * k * x for k, x in enumerate(w)) / (2 * sum(w) - w[0])]
    elif form[0] == "box" and d <= 60 and p.get("decay", 1) > Fraction(1, 20):
        q, ratio = form[1], Fraction(1)
        if "decay" in p:
            steps = [(float(k + p["gamma"]), -float(p["decay"]) * k) for k in range(10_000)]
            low, high = (sum(r**n * math.exp(x) for r, x in steps) for n in (d, d + 2))
            ratio = high / low / ((d + 1) * (d + 2))
        variances = [p["scale"] ** 2 * ratio * (q + 1) * (q + 2) / 3 * a * a for a in form[2]]
    return [math.sqrt(v + g * g / 12) for v in variances for g in (0, claim["grid"] or 0)]


def check_deviations(folder: Path, plan: dict, claims: dict) -> None:
    """Compare the standard deviations that plan and tables state for counts with the noise's.

    Queries that share a draw are left out, as are sums, means, margins, levels and running sums.
    """
    names = [part["name"] for part in plan["noisy_parts"]]
    for part in plan["noisy_parts"]:
        name, texts = part["name"], []
        known = deviations(claims.get(name, {}))
        several = names.count(name) > 1 or {"margins", "cumulative", "levels"} & set(part)
        # with a mean, the count in a cell is the sum of two numbers that have noise
        dimension, cells = (field(part, n, "whole number", 0) for n in ("dimension", "cells"))
        mixed = len(known) <= 2 and dimension != cells
        if not known or several or mixed:
            continue
        for error in field(part, "errors", "list"):
            statistic = field(error, "statistic", "text")
            if statistic in {"count", "count_units"}:
                stated = [error.get("std"), *stated_in(rows_of(folder, name), statistic)]
                texts += [x if isinstance(x, str) else json.dumps(x) for x in stated]
        stated = [float(number(x)) for x in set(texts)]
        fits = all(any(math.isclose(x, y, rel_tol=1e-6) for y in known) for x in stated)
        require(fits, f"A standard deviation of {show(name)} does not fit its noise.")
        print(f"CHECKED: {len(texts)} standard deviations of counts in {show(name)}.")


def rows_of(folder: Path, name: str) -> list:
    """The rows of a table in CSV or JSON; none if there is no such file."""
    if (path := folder / f"{name}.csv").is_file():
        return list(csv.DictReader(content(path, 1 << 30).decode().splitlines()))
    path = folder / f"{name}.json"
    rows = json.loads(content(path, 1 << 30)) if path.is_file() else []
    fits = isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
    require(fits, f"{show(path.name)} is no list of rows.")
    return rows


def stated_in(rows: list, statistic: str) -> list:
    """The standard deviations in a table's rows; names of columns may end with a label."""
    if rows and list(rows[0])[:3] == ["STRUCTURE", "STRUCTURE_ID", "ACTION"]:  # SDMX-CSV
        return [row.get("STD_DEV") for row in rows if row.get("STATISTIC") == statistic]
    name = f"{statistic}_std"
    fields = [field for field in rows[0] if field.startswith(f"{name}: ")] if rows else []
    return [row.get(fields[0] if fields else name) for row in rows]


def content(path: Path, most: int = 10**7) -> bytes:
    """The bytes of a plain file; ValueError for links, devices, and missing or larger files."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > most:
        raise ValueError(f"{show(path.name)} is missing, no plain file, or too large.")
    return path.read_bytes()


def law_of(name: str, record: dict, grid: object) -> tuple:
    """The name, the scale and the grid of a draw's noise; the record has the scale."""
    return name, number(record.get("scale")), number(grid)


def laws_of(certificate: dict) -> list[tuple]:
    """The laws of all draws in a plan's certificate: names, scales and grids."""

    def claims_of(plan: object) -> list:
        return [field(draw, "certificate", "JSON object") for draw in field(plan, "draws", "list")]

    claims = claims_of(certificate)
    plans = [plan for claim in claims for plan in field(claim, "plans", "list", [])]
    claims += [claim for plan in plans for claim in claims_of(plan)]  # of limits to be found
    kinds = [field(claim, "kind", "text") for claim in claims]
    laws = []
    for kind, claim in zip(kinds, claims, strict=True):
        draw = field(claim, "noise", "JSON object") if kind.startswith("thr") else claim
        if field(draw, "kind", "text") == "certificate":
            noise = field(draw, "noise", "JSON object")
            name = field(noise, "name", "text")
            parameters = field(noise, "parameters", "JSON object")
            laws.append(law_of(name, parameters, draw.get("grid")))
    return laws


def check_release(folder: Path) -> bool:
    """Check a release's seal, certificate and plan; False if something isn't proved."""
    seal = parse(content(folder / "release.json"))
    seal = fields(seal, "kind version files entry", "release chain")
    files = seal["files"]
    index, entry = seal.get("release"), seal["entry"]
    fits = seal["kind"] == "release-record" and isinstance(files, dict)
    fits = fits and all(n is None or (type(n) is int and n > 0) for n in (index, entry))
    require(fits, "release.json is no seal.")
    for name, digest in files.items():
        inside = name and not set(name) & set("/\\:\0") and name not in {".", ".."}
        require(inside, f"The seal names {show(name)}, which is not in the folder.")
        same = hashlib.sha256(content(folder / name, 1 << 30)).hexdigest() == digest
        require(same, f"{show(name)} was changed: its SHA-256 is another.")
    print(f"SEAL: {len(files)} files have the SHA-256 that release.json states.")
    texts = {"certificate.json", "plan.json", "spec.toml"}
    certificate, plan = (parse(content(folder / f"{n}.json")) for n in ("certificate", "plan"))
    parts = field(plan, "noisy_parts", "list")
    several = [parts, *(field(plan, key, "list", []) for key in ("quantiles", "keys"))]
    names = {field(part, "name", "text") for some in several for part in some}
    tables = {name.rpartition(".")[0] for name in set(files) - texts}
    workbook = set(files) - texts == {"tables.xlsx"}
    fits = texts <= set(files) and (workbook or tables == names)
    require(fits, "The seal is about other files than the plan's tables.")
    laws = laws_of(certificate)
    fits = all(law_of(field(p, "noise", "text"), p, p.get("grid")) in laws for p in parts)
    require(fits, "plan.json states other noise than the certificate.")
    ruled = ("version", "rule", "rho")  # repr: True is no version
    fits = all(repr(plan.get(name)) == repr(certificate.get(name)) for name in ruled)
    budgets = [[number(r.get(n)) for n in ("epsilon", "delta")] for r in (plan, certificate)]
    fits = fits and budgets[0] == budgets[1]
    require(fits, "plan.json states another budget or rule than the certificate.")
    series = field(plan, "series", "JSON object", {"releases": 1})
    planned = field(series, "releases", "whole number")
    composed = field(certificate, "releases", "whole number", 1)
    fits = 1 <= composed <= planned
    fits = fits and (index is None if planned == 1 else index is not None and index <= planned)
    require(fits, "The seal names a release that the series does not have.")
    neighbours, unit = read("neighbours", plan.get("neighbours")), field(plan, "unit", "text")
    require(unit, "plan.json has an empty unit.")
    print(f'ASSUMED: "one person" below means one {show(unit)}, as plan.json says.')
    if composed < planned:
        print(f"ASSUMED: it is in {composed} of the {planned} releases at most.")
    if workbook:
        print("NOT CHECKED here: the tables in tables.xlsx.")
    claims = check_certificate(certificate)
    if claims:
        about = {neighbours, *(c["neighbours"] for c in claims)} - {None}
        require(len(about) < 2, "plan.json states other neighbours than the certificate.")
        names = (draw["name"] for draw in certificate["draws"])
        check_deviations(folder, plan, dict(zip(names, claims, strict=True)))
    return bool(claims)


NOT_PROVED = """NOT CHECKED here: that one person moves the numbers by no more than is assumed
above, and that tables, plan and specification agree in all else (`leastnoise verify` derives both
from spec.toml); that the noise was drawn as stated; signatures and ledgers; that nobody saw how
long anything took."""


def main() -> int:
    """Check the file or folder, and print all that is assumed, proved, and not checked."""
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__.partition("The mathematics")[0])
        return 2
    path = Path(sys.argv[1])
    try:
        release = path.is_dir()
        proved = check_release(path) if release else bool(check_certificate(parse(content(path))))
    except NotChecked as reason:
        print(f"NOT CHECKED here: {reason}.")
        proved = None
    except Rejected as error:
        print(f"REJECTED: {error}")
        return 1
    except Exception as error:  # noqa: BLE001 (whatever a hostile file breaks, it is not accepted)
        print(f"This is no certificate and no release: {type(error).__name__}, {show(str(error))}")
        return 2
    print(NOT_PROVED)
    if proved is None:
        print("The rest was not checked.")
    elif proved:
        print("All draws are proved.")
    else:
        print("Nothing that was checked is false, but not all draws are proved.")
    return 0 if proved else 3


if __name__ == "__main__":
    sys.exit(main())
