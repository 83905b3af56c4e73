"""Thresholds of groups that nobody listed, with the smallest provable δ, and the verdicts.

The δ comes from other formulas than the checker's: error functions and incomplete gamma functions
of Arb, and for noise on a lattice a sum over all outputs, in fractions.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from flint import arb, ctx

import leastnoise as ln
from leastnoise.certificate.unlisted import ThresholdCertificate
from leastnoise.guarantees.sensitivity import NEIGHBOURS

ASSUMPTION = ThresholdCertificate.assumption
MASSES = (4, 3, 2, 1)  # at 0, ±½, ±1, ±3/2, in sixteenths
COINS = (Fraction(0), Fraction(3, 8))
DIGITS = 60
Record = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Noise:
    """A certificate of noise, P(X > t) of the deciding number, and δ of several draws at ε."""

    record: Record
    beyond: Callable[[Fraction], arb]
    delta: Callable[[int, Fraction], arb]


def _real(x: Fraction | int) -> arb:
    return arb(Fraction(x).numerator) / Fraction(x).denominator


def _record(name: str, dimension: int, grid: str, draws: int, **changed: Any) -> Record:
    """A certificate of this noise with δ(9) <= .9, if one person changes numbers by 1 in all."""
    law = ln.calibrate("gaussian", epsilon=1, delta="1e-5", sensitivity=ln.L1(1))
    record: Record = json.loads(law.certificate.to_json()) | {"neighbours": "add-remove"}
    record |= {"epsilon": "9", "delta": "0.9", "delta_interval": ["0", "1"], "grid": grid}
    record |= {"dimension": dimension, "compositions": draws}
    return record | {"noise": {"name": name, "parameters": changed.pop("parameters")}} | changed


def _gaussian(draws: int) -> Noise:
    def normal(x: arb) -> arb:
        return (-x / arb(2).sqrt()).erfc() / 2

    def delta(k: int, epsilon: Fraction) -> arb:
        if not k:
            return arb(0)
        e, r = _real(epsilon), arb(k).sqrt() / 2
        return normal(r / 2 - e / r) - e.exp() * normal(-r / 2 - e / r)

    record = _record("gaussian", 1, "1", draws, parameters={"scale": "2"})
    return Noise(record=record, beyond=lambda t: normal(-_real(t) / 2), delta=delta)


def _laplace(draws: int) -> Noise:
    """Noise of scale 1 in two numbers; of several draws, δ is known to be 0 from ε = `draws` on."""

    def delta(k: int, epsilon: Fraction) -> arb:
        return 1 - _real(min(epsilon - k, Fraction(0)) / 2).exp()

    record = _record("laplace", 2, "1", draws, parameters={"scale": "1"})
    return Noise(record=record, beyond=lambda t: (-_real(t)).exp() / 2, delta=delta)


def _box(draws: int, bound: Fraction) -> Noise:
    """Noise of scale ½ in the shape of a box of three numbers, of which one has this bound.

    X is bound/2 times U·R, R of a gamma law with shape 4, U uniform from −1 to 1.
    """

    def beyond(t: Fraction) -> arb:
        c = _real(2 * t / bound)
        return (c.gamma_upper(4, regularized=1) - c / 3 * c.gamma_upper(3, regularized=1)) / 2

    box = {"kind": "box", "bounds": ["2", "1", "3/2"]}
    return Noise(
        record=_record(
            "k-norm", 3, "1/4", draws,
            parameters={"scale": "1/2", "body": box}, sensitivity={"kind": "within", "hull": box},
        ),
        beyond=beyond,
        delta=lambda _k, _epsilon: arb(0),
    )  # fmt: skip


def _lattice() -> Noise:
    """Noise on the multiples of ½, with δ at ε >= 2, where e^ε is above all ratios of masses."""

    def beyond(t: Fraction) -> arb:
        return _real(sum(p for x, p in _law().items() if x > t))

    def delta(k: int, _epsilon: Fraction) -> arb:
        shifted = {x + 1 for x in _law()}
        return _real(sum(p for x, p in _law().items() if x not in shifted)) if k else arb(0)

    parameters = {"scale": "1", "cells": 2, "masses": list(MASSES)}
    shifts = {"kind": "integer", "bound": "1"}
    record = _record("discrete-staircase", 1, "1", 1, parameters=parameters, sensitivity=shifts)
    return Noise(record=record, beyond=beyond, delta=delta)


@cache
def _law() -> dict[Fraction, Fraction]:
    """The probabilities of noise on the multiples of ½."""
    total = 2 * sum(MASSES) - MASSES[0]
    return {Fraction(n, 2): Fraction(MASSES[abs(n)], total) for n in range(-3, 4)}


def _bound(noise: Noise, record: Record) -> arb:
    """The smallest δ that the proof gives; if t < 0, the group counts as published."""
    epsilon, draws = Fraction(record["epsilon"]), noise.record["compositions"]
    coin, grid = Fraction(record["chance_below"]), Fraction(noise.record["grid"])
    t = Fraction(record["threshold"]) - Fraction(record["reach"])
    t -= grid * (Fraction(1, 2) + Fraction(1, 2**40))
    at, below = (noise.beyond(x) if x >= 0 else arb(1) for x in (t, t - grid))
    hidden = 1 - _real(1 - coin) * at - _real(coin) * below
    replaced = record["neighbours"] == "replace-one"
    epsilon /= 1 + replaced
    each = [1 - hidden**j * (1 - noise.delta(draws - j, epsilon)) for j in range(draws + 1)]
    worst = each[0]
    for delta in each:
        worst = worst.max(delta)
    return worst * (1 + _real(epsilon).exp()) if replaced else worst


def exact_delta(threshold: int, coin: Fraction) -> Fraction:
    """δ at ε >= 3 of counts with noise on the multiples of ½, by a sum over all outputs.

    A person is alone in a group, or one of many in it. Counts are rounded to whole numbers, halves
    up, and published from the threshold on, or by a coin one step below.
    """

    def published(count: int | None) -> dict[int | None, Fraction]:
        if count is None:  # nobody is in the group
            return {None: Fraction(1)}
        outputs = {None: Fraction(0)}
        for x, p in _law().items():
            value = (count + x + Fraction(1, 2)).__floor__()
            part = 1 if value >= threshold else coin if value == threshold - 1 else 0
            outputs[value] = outputs.get(value, Fraction(0)) + p * part
            outputs[None] += p * (1 - part)
        return outputs

    def above(one: dict, other: dict) -> Fraction:
        return sum((max(p - 20 * other.get(y, 0), 0) for y, p in one.items()), Fraction(0))

    pairs = [(published(None), published(1)), (published(98), published(99))]
    return max(max(above(a, b), above(b, a)) for a, b in pairs)


def _statement(noise: Noise, **fields: Any) -> Record:
    head = {"kind": "threshold-certificate", "version": 1, "delta": "0.9", "epsilon": "4"}
    head |= {"neighbours": "add-remove", "noise": noise.record, "reach": "1", "threshold": "4"}
    return head | {"chance_below": "0", "coordinate": 0, "assumptions": [ASSUMPTION]} | fields


def _series() -> dict[str, tuple[Noise, list[int | Fraction], dict[str, Any]]]:
    """Noise, thresholds, and the fields of their statements, by name; ε is for add-remove."""
    start = 1 + Fraction(1, 2) + Fraction(1, 2**40)
    return {
        "four gaussian": (_gaussian(4), [4, 5, 9], {"epsilon": "0.01"}),
        "a gaussian": (_gaussian(1), [1, start, 2, 3], {"epsilon": "0.5"}),
        "laplace": (_laplace(1), [2, 3, 6], {"epsilon": "0.25", "coordinate": 1}),
        "three laplace": (_laplace(3), [6], {"epsilon": "3"}),
        "two boxes": (_box(2, Fraction(2)), [6, 10], {"reach": "2"}),
        "two boxes, last": (_box(2, Fraction(3, 2)), [4, 8], {"reach": "3/2", "coordinate": 2}),
        "lattice": (_lattice(), [2, 3], {"epsilon": "3"}),
    }


@cache
def thresholds() -> dict[str, tuple[Record, str]]:
    """Statements whose δ is barely enough or too small, edited ones, and the verdicts, by name."""
    known: dict[str, tuple[Record, str]] = {}
    for name, (noise, several, fields) in _series().items():
        for neighbours, coin, threshold in (
            (n, c, t) for n in NEIGHBOURS for c in COINS for t in several
        ):
            epsilon = Fraction(fields.get("epsilon", "4")) * (1 + (neighbours == "replace-one"))
            more = {"epsilon": str(epsilon), "threshold": str(threshold), "neighbours": neighbours}
            record = _statement(noise, **fields | more, chance_below=str(coin))
            with ctx.workprec(500):
                digits = (_bound(noise, record) * 10**DIGITS).floor().unique_fmpz()
            # a ball around δ may reach a little above it, or be exact
            for ulps, verdict in ((-1, "rejected"), (1, "proved")):
                delta = Fraction(int(digits) + ulps, 10**DIGITS)
                title = f"{name} from {float(threshold)}, {float(coin)}, {neighbours}, {verdict}"
                if delta < 1:
                    known[title] = record | {"delta": str(delta)}, verdict
                elif verdict == "rejected":
                    known[title] = record | {"delta": "0.999999999"}, verdict
    for coin, threshold in ((Fraction(0), 2), (Fraction(0), 3), (Fraction(1, 2), 3)):
        delta = exact_delta(threshold, coin)
        for part, verdict in ((Fraction(0), "proved"), (Fraction(1, 10**100), "rejected")):
            record = _statement(_lattice(), epsilon="3", threshold=str(threshold))
            record |= {"delta": str(delta - part), "chance_below": str(coin)}
            known[f"lattice from {threshold}, {float(coin)}, exactly, {verdict}"] = record, verdict
    return known | _misfits()


def _misfits() -> dict[str, tuple[Record, str]]:
    """Statements that don't fit their noise, and the verdicts, by name."""
    true, several = _statement(_laplace(1)), _statement(_laplace(3))
    noise = true["noise"]
    cells = noise | {
        "geometry": {"kind": "cells", "count": 2},
        "sensitivity": {"kind": "linf", "bound": "1", "l0": 1, "whole": False},
    }
    steps = noise | {
        "noise": {"name": "staircase", "parameters": {"scale": "1", "gamma": "1/2", "decay": "1"}},
        "dimension": 1,
    }
    many = _gaussian(201).record | {"noise": {"name": "gaussian", "parameters": {"scale": "99"}}}
    return {
        "as it is": (true, "proved"),
        "the second number": (true | {"coordinate": 1}, "proved"),
        "no such number": (true | {"coordinate": 2}, "rejected"),
        "a coin that is always heads": (true | {"chance_below": "1"}, "rejected"),
        "noise for a person replaced": (
            true | {"noise": noise | {"neighbours": "replace-one"}}, "rejected",
        ),
        "noise for any neighbours": (
            true | {"noise": {k: v for k, v in noise.items() if k != "neighbours"}}, "rejected",
        ),
        "noise in cells": (true | {"noise": cells}, "rejected"),
        "noise without a grid": (true | {"noise": noise | {"grid": None}}, "rejected"),
        "a false statement of the noise": (
            true | {"noise": noise | {"epsilon": "0.5", "delta": "1e-9"}}, "rejected",
        ),
        "noise without a tail here": (true | {"noise": steps}, "not checked"),
        "201 groups": (true | {"noise": many}, "not checked"),
        "three draws, less ε": (several | {"epsilon": "2.9"}, "not checked"),
    }  # fmt: skip
