"""Flaws that an audit says it would have found are found; centres of outputs are precise."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from leastnoise.audit import noise
from leastnoise.audit.claim import Subject
from leastnoise.audit.law import show_point

Generator = np.random.Generator
_SAID = r"that ([\d.e-]+) % of the outputs more than ([\d.]+) above"


def _subject(claim: ln.Claim, *outputs: Any) -> Subject:
    item, other = outputs
    return Subject(
        claim=claim, inputs=(0, 1), outputs=(item[:, None], other[:, None]),
        draw=lambda value, count: item[:count], error=Fraction(1, 10**9),
    )  # fmt: skip


def _geometric(generator: Generator, epsilon: float, count: int) -> Any:
    p = -np.expm1(-epsilon)
    return (generator.geometric(p, count) - generator.geometric(p, count)).astype(float)


def _thinned(
    generator: Generator, epsilon: float, count: int, *, share: float, above: float
) -> Any:
    """Return outputs; a `share` of those above `above` is replaced by outputs that aren't."""
    outputs = _geometric(generator, epsilon, count)
    others = _geometric(generator, epsilon, 4 * count)
    again = (outputs > above) & (generator.random(count) < share)
    outputs[again] = generator.choice(others[others <= above], int(again.sum()))
    return outputs


def _claim(epsilon: float) -> ln.Claim:
    return ln.Claim(epsilon=str(epsilon), sensitivity=ln.Integer(1), noise=ln.calibrate(
        "geometric", epsilon=str(epsilon), sensitivity=ln.Integer(1)
    ).noise)  # fmt: skip


def _said(claim: ln.Claim, epsilon: float, draws: int) -> tuple[str, float, float]:
    """Return the sentence of an honest audit, and its share and point."""
    generator = np.random.default_rng(23)
    honest = _subject(claim, *(_geometric(generator, epsilon, draws) + at for at in (0, 1)))
    result = noise.detect_noise(honest)
    assert result.verdict == "nothing found"
    match = re.search(_SAID, result.would_detect)
    assert match is not None, result.would_detect
    return result.would_detect, float(match[1]) / 100, float(match[2])


WHOLE = [(0.2, 5000), (0.1, 20_000)]


@pytest.mark.dense
@pytest.mark.parametrize(("epsilon", "draws"), WHOLE)
def test_a_thinner_tail_that_would_have_been_found_is_found(epsilon: float, draws: int) -> None:
    _check(epsilon, draws, audits=5)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "draws"), WHOLE)
def test_it_is_found_by_99_of_100_audits(epsilon: float, draws: int) -> None:
    _check(epsilon, draws, audits=60)


def _check(epsilon: float, draws: int, *, audits: int) -> None:
    """Audit outputs of which one input's are thinned as an honest audit says it would detect."""
    claim = _claim(epsilon)
    _, share, above = _said(claim, epsilon, draws)
    generator = np.random.default_rng([7, draws])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise, "least_thinning", lambda _: None)  # a second of each audit
        total = sum(
            noise.detect_noise(
                _subject(
                    claim,
                    _thinned(generator, epsilon, draws, share=share, above=above),
                    _geometric(generator, epsilon, draws),
                )
            ).verdict
            == "violation"
            for _ in range(audits)
        )
    assert total >= 0.99 * audits


@pytest.mark.dense
def test_it_does_not_depend_on_the_outputs() -> None:
    """The sentence of another audit therefore holds for this one, too."""
    claim = _claim(0.5)
    generator = np.random.default_rng(5)
    texts = {
        noise.detect_noise(
            _subject(claim, *(_geometric(generator, 0.5, 3000) + at for at in ends))
        ).would_detect
        for ends in ((0, 1), (10**6, 10**6 + 1))
    }
    assert len(texts) == 1


@pytest.mark.parametrize(
    ("anchor", "beyond", "near", "text"),
    [
        (3.25, 0.5, 0.1, "3.75"),
        (1e17, -8.0, 4.0, "1e+17 - 8"),
        (1e17, 8.0, 4.0, "1e+17 + 8"),
        (1000.5, 0.0097, 0.0001, "1000.5 + 0.0097"),
        (1234567.0, 2.5, 0.1, "1234567 + 2.5"),
        (-1e308, -1.0, 1.0, "-1e+308"),
    ],
)
def test_points_are_as_precise_as_they_have_to_be(
    anchor: float, beyond: float, near: float, text: str
) -> None:
    assert show_point(anchor, beyond, near=near) == text


def test_outputs_far_from_0_are_told_apart() -> None:
    claim = ln.Claim(epsilon="0.1", sensitivity=ln.L1(1), noise=ln.noise.Laplace(scale=10))
    two = np.where(np.arange(2000) % 2, 1e17, 1e17 + 32)
    (statement,) = {noise.detect_noise(_subject(claim, two, two)).statement}
    ends = re.findall(r"P\(Y <= (.*?)\)", statement)
    assert len(set(ends)) == 2, statement
