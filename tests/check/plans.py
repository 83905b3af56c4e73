"""Plans of two draws whose budget is exactly enough or slightly too small, and the verdicts."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import leastnoise as ln
from tests.check import calibrated

BASIC = "basic composition: epsilons and deltas add up"
TIGHT = "tight composition: all draws of noise together, their laws fixed in advance"
EXACTLY, LESS = Fraction(1), 1 - Fraction(1, 10**9)
KEYS = Path(__file__).parent.parent / "golden/releases/keys/certificate.json"
"""A release with keys of three groups, for which the checker has no proof: ε = .5, δ = 5e-6."""


def _draw(noise: str, releases: int = 1, **about: Any) -> dict[str, Any]:
    delta = "0" if noise == "laplace" else "1e-5"
    law = ln.calibrate(
        noise, epsilon="0.5", delta=delta, sensitivity=ln.L1(3), compositions=releases
    )
    return json.loads(law.certificate.to_json()) | about


def _plan(rule: str, *claims: dict[str, Any], **fields: Any) -> dict[str, Any]:
    draws = [{"name": f"q{i}", "certificate": claim} for i, claim in enumerate(claims)]
    head = {"kind": "plan-certificate", "version": 1, "epsilon": "1", "delta": "2e-5"}
    return head | {"rule": rule, "draws": draws} | fields


@cache
def plans() -> dict[str, tuple[dict[str, Any], str]]:
    """Plans and the verdicts on them, by name."""
    gaussian, laplace, twice = _draw("gaussian"), _draw("laplace"), _draw("gaussian", 2)
    there, replaced = ({"neighbours": about} for about in ("add-remove", "replace-one"))
    keys = calibrated.without_law()["keys of 1, add-remove"]
    unproved = json.loads(KEYS.read_text())["draws"][0]["certificate"]
    ratio = 3 / Fraction(float.fromhex(gaussian["noise"]["parameters"]["scale"]))
    two = (gaussian, gaussian)
    known: dict[str, tuple[dict[str, Any], str]] = {
        "sums": (_plan(BASIC, *two), "proved"),
        "no draws": (_plan(BASIC), "rejected"),
        "a sum of ε": (_plan(BASIC, *two, epsilon="0.9999999"), "rejected"),
        "a sum of δ": (_plan(BASIC, *two, delta="1.99999e-5"), "rejected"),
        "tight": (_plan(TIGHT, *two), "proved"),
        "tight, ε too small": (_plan(TIGHT, *two, epsilon="0.6"), "rejected"),
        "tight, δ too small": (_plan(TIGHT, *two, delta="1e-9"), "rejected"),
        "tight, of two laws": (_plan(TIGHT, gaussian, laplace), "not checked"),
        "tight, and keys": (_plan(TIGHT, gaussian, keys, epsilon="3.5", delta="1.02e-3"), "proved"),
        "tight, keys alone": (_plan(TIGHT, keys, epsilon="9", delta="0.99"), "rejected"),
        "tight, ε of keys": (_plan(TIGHT, gaussian, keys, delta="1.02e-3"), "rejected"),
        "tight, δ of keys": (_plan(TIGHT, gaussian, keys, epsilon="3.5"), "rejected"),
        "a δ of 1": (_plan(BASIC, *two, delta="1"), "rejected"),
        "a rho with another law": (_plan(BASIC, gaussian, laplace, rho="9"), "rejected"),
        "a rho with keys": (
            _plan(BASIC, gaussian, keys, epsilon="9", delta="0.99", rho="9"), "rejected",
        ),
        "one name": (_plan(BASIC, *two) | {"draws": [
            {"name": "a", "certificate": gaussian}, {"name": "a", "certificate": laplace},
        ]}, "rejected"),
        "a number as a name": (_plan(BASIC, gaussian) | {"draws": [
            {"name": 1, "certificate": gaussian},
        ]}, "rejected"),
        "two releases": (_plan(BASIC, twice, releases=2), "proved"),
        "two releases, not said": (_plan(BASIC, twice), "proved"),
        "three releases of two": (_plan(BASIC, twice, releases=3), "rejected"),
        "two releases of one": (_plan(BASIC, gaussian, releases=2), "rejected"),
        "keys in two releases": (
            _plan(BASIC, twice, keys, releases=2, epsilon="6.4", delta="0.99"), "rejected",
        ),
        "unproved keys": (_plan(BASIC, gaussian, unproved), "not checked"),
        "unproved keys, a sum of ε": (_plan(BASIC, gaussian, unproved, epsilon="0.9"), "rejected"),
        "unproved keys, a sum of δ": (_plan(BASIC, gaussian, unproved, delta="1e-5"), "rejected"),
        "unproved keys, tight": (_plan(TIGHT, *two, unproved), "not checked"),
        "unproved keys, tight, ε": (_plan(TIGHT, *two, unproved, epsilon="0.4"), "rejected"),
        "unproved keys, tight, δ": (_plan(TIGHT, *two, unproved, delta="4e-6"), "rejected"),
        "unproved keys in two releases": (
            _plan(BASIC, twice, unproved, releases=2, epsilon="1.5"), "not checked",
        ),
        "unproved keys in two releases, ε": (
            _plan(BASIC, twice, unproved, releases=2, epsilon="1.4"), "rejected",
        ),
        "neighbours": (_plan(BASIC, gaussian | there, gaussian), "proved"),
        "two neighbours": (_plan(BASIC, gaussian | there, laplace | replaced), "rejected"),
    }  # fmt: skip
    for factor, verdict in ((EXACTLY, "proved"), (LESS, "rejected")):
        rho = factor * ratio**2  # of two draws, each of ratio²/2
        text = f"{rho.numerator}/{rho.denominator}"
        known[f"a rho, {verdict}"] = _plan(BASIC, *two, rho=text), verdict
    return known
