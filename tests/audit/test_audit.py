"""Each detector finds its kind of flaw, no other does, and sound mechanisms have no findings."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from leastnoise.audit import noise
from leastnoise.audit.audit import DETECTORS
from leastnoise.audit.claim import Subject
from leastnoise.errors import InvalidArgument
from tests.audit.scenarios import SCENARIOS, Scenario, two_sided_geometric

EACH = pytest.mark.parametrize("one", SCENARIOS, ids=lambda item: item.name)


def _audit(one: Scenario, *detectors: str) -> ln.Audit:
    return ln.audit_mechanism(
        one.mechanism, one.claim, inputs=one.inputs, draws=one.draws, detectors=detectors
    )


@pytest.mark.dense
@EACH
def test_what_breaks_a_claim_is_seen(one: Scenario) -> None:
    result = _audit(one, one.seen_by)
    assert result.violated
    (issue,) = result.findings
    assert issue.verdict == "violation"
    assert issue.statement


@pytest.mark.dense
@EACH
def test_with_its_detector_switched_off_nothing_is_seen(one: Scenario) -> None:
    """Each test above fails if its detector sees nothing: no other detector makes up for it."""
    others = [name for name in DETECTORS if name not in {one.seen_by, *one.also}]
    assert not _audit(one, *others).violated


# With the draws of each family, few: a false alarm is as rare as with many.
HEALTHY: dict[str, tuple[Any, int]] = {
    "gaussian": ({"delta": "1e-5", "sensitivity": ln.L2(1)}, 100_000),
    "laplace": ({"sensitivity": ln.L1(1)}, 100_000),
    "l2": ({"delta": "1e-5", "sensitivity": ln.L2(1), "dimension": 3}, 1000),
    "geometric": ({"sensitivity": ln.Integer(1)}, 100_000),
    "staircase": ({"sensitivity": ln.L1(1)}, 100_000),
    "gaussian-mixture": (
        {"delta": "1e-5", "sensitivity": ln.L2(1), "parameters": {"modes": 1}}, 5000,
    ),
}  # fmt: skip


@pytest.mark.dense
@pytest.mark.parametrize("name", HEALTHY)
def test_our_own_noise_is_not_accused(name: str) -> None:
    problem, draws = HEALTHY[name]
    mechanism = ln.calibrate(name, epsilon=1, **problem)
    result = ln.audit_mechanism(mechanism, draws=draws)
    assert not result.violated, str(result)
    assert [item.verdict for item in result.findings] == ["nothing found"] * len(DETECTORS)


@pytest.mark.parametrize("epsilon", [12, 20, 60])
def test_whole_noise_that_is_nearly_always_0_is_not_accused(epsilon: int) -> None:
    honest = ln.calibrate("geometric", epsilon=epsilon, sensitivity=ln.Integer(1))
    result = ln.audit_mechanism(honest, draws=10_000, detectors=["noise", "sensitivity"])
    assert [item.verdict for item in result.findings] == ["nothing found"] * 2
    smaller, distance = (item.would_detect for item in result.findings)
    assert "No thinner tail" in smaller  # all outputs are alike
    assert "a distance of 2 " in distance  # 1 is claimed


LARGEST: dict[str, Any] = {
    "no noise": lambda value, count: np.full(count, float(value)),
    "a constant": lambda value, count: np.full(count, 7.0),
    "a constant where floats are far apart": lambda value, count: np.full(count, 1e17 + value),
    "NaN": lambda value, count: np.full(count, np.nan),
    "inf": lambda value, count: np.full(count, np.inf if value else -np.inf),
    "NaN or 0": lambda value, count: np.full(count, np.nan if value else 0.0),
    "two values": lambda value, count: np.where(np.arange(count) % 2, value, 1e6),
    "nearly no noise": lambda value, count: np.where(np.arange(count) % 500, value, value + 9.0),
    "NaN now and then": lambda value, count: np.where(
        np.arange(count) % 500, value + np.random.default_rng(3).laplace(0, 10, count), np.nan
    ),
    "one inf after a thousand": lambda value, count: np.where(
        np.arange(count) != 1500, value + np.random.default_rng(3).laplace(0, 10, count), np.inf
    ),
    "the largest floats": lambda value, count: np.full(count, 1.7e308 if value else -1.7e308),
}
NAMED = {
    "laplace": ln.Claim(epsilon="0.1", sensitivity=ln.L1(1), noise=ln.noise.Laplace(scale=10)),
    "gaussian": ln.Claim(
        epsilon=1, delta="1e-5", sensitivity=ln.L2(1), noise=ln.noise.Gaussian(scale=4)
    ),
    "geometric": ln.Claim(
        epsilon=1, sensitivity=ln.Integer(1),
        noise=ln.noise.Geometric(scale=1, cells=1, core=1, decay=1),
    ),
    "a distribution": ln.Claim(
        epsilon=1, sensitivity=ln.L1(1),
        distribution=lambda t: 0.5 * float(np.exp(t)) if t < 0 else 1 - 0.5 * float(np.exp(-t)),
    ),
}  # fmt: skip


@pytest.mark.dense
@pytest.mark.parametrize("claim", NAMED)
@pytest.mark.parametrize("name", LARGEST)
def test_the_largest_violations_are_found(name: str, claim: str) -> None:
    result = ln.audit_mechanism(
        LARGEST[name], NAMED[claim], inputs=(0, 1), draws=2000, detectors=["noise", "sensitivity"]
    )
    assert [item.verdict for item in result.findings] == ["violation"] * 2
    assert "agree" not in str(result)


@pytest.mark.dense
@pytest.mark.parametrize("name", LARGEST)
def test_every_detector_takes_any_floats(name: str) -> None:
    """Outputs have one or two dimensions; the claim is given or not."""
    for dimension in (1, 2):
        law = ln.noise.Laplace(scale=10, dimension=dimension)
        for claim in (ln.Claim(epsilon=1), ln.Claim(epsilon=1, sensitivity=ln.L1(1), noise=law)):
            result = ln.audit_mechanism(
                lambda value, count, d=dimension: np.repeat(LARGEST[name](value, count), d).reshape(
                    count, d
                ),
                claim, inputs=(0, 1), draws=2000,
                detectors=[detector for detector in DETECTORS if detector != "repeats"],
            )  # fmt: skip
            assert result.violated or claim.noise is None


@pytest.mark.slow
def test_what_would_have_been_found_is_found() -> None:
    """99 of 100 audits find the distance, and the smaller scale, that another said it would."""
    generator, draws = np.random.default_rng(11), 2000
    claim = NAMED["laplace"]

    def rate(detector: Any, shift: float, share: float) -> float:
        results = [
            detector(_subject(claim, *(
                at + share * generator.laplace(0, 10, draws) for at in (0.0, shift)
            ))).verdict == "violation"
            for _ in range(200)
        ]  # fmt: skip
        return float(np.mean(results))

    for detector, pattern in (
        (noise.detect_sensitivity, r"distance of ([\d.]+)"),
        (noise.detect_noise, r"is ([\d.]+) % sm"),
    ):
        honest = _subject(claim, *(generator.laplace(0, 10, draws) for _ in range(2)))
        match = re.search(pattern, detector(honest).would_detect)
        assert match is not None
        asked = float(match[1])
        scaled = detector is noise.detect_noise
        result = rate(detector, 0.0 if scaled else asked, 1 - asked / 100 if scaled else 1.0)
        assert result >= 0.985


def _subject(claim: ln.Claim, one: Any, other: Any) -> Subject:
    return Subject(
        claim=claim, inputs=(0, 1), outputs=(one[:, None], other[:, None]),
        draw=lambda value, count: one[:count], error=Fraction(1, 10**9),
    )  # fmt: skip


@pytest.mark.dense
def test_opendp_is_not_accused() -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    laplace = dp.m.make_laplace(domain, dp.l1_distance(T=float), scale=10.0)

    def mechanism(value: float, count: int) -> Any:
        return laplace([value] * count)

    claim = ln.Claim(epsilon="0.1", sensitivity=ln.L1(1), noise=ln.noise.Laplace(scale=10))
    result = ln.audit_mechanism(mechanism, claim, draws=20_000)
    assert not result.violated, str(result)


def test_one_output_a_call() -> None:
    generator = np.random.default_rng(1)
    claim = ln.Claim(epsilon="0.2", sensitivity=ln.Integer(1))

    def mechanism(value: float) -> float:
        return value + two_sided_geometric(generator, 1)[0]

    result = ln.audit_mechanism(
        mechanism, claim, draws=20_000, batched=False, detectors=["distinguishing"]
    )
    assert result.violated
    assert 0.2 < result.epsilon_lower < 0.5  # it is 0.5-DP


def test_datasets_and_a_score_of_ones_own() -> None:
    """Only the score sees that the parity of the second number tells the inputs apart."""
    generator = np.random.default_rng(2)

    def mechanism(rows: list[str], count: int) -> Any:
        outputs = np.rint(generator.normal(0, 1000, (count, 2)))
        outputs[:, 1] += (outputs[:, 1] + len(rows)) % 2
        return outputs

    problem: Any = {
        "claim": ln.Claim(epsilon=1), "inputs": (["a"], ["a", "b"]), "draws": 10_000,
        "detectors": ["distinguishing"],
    }  # fmt: skip
    assert not ln.audit_mechanism(mechanism, **problem).violated
    result = ln.audit_mechanism(mechanism, **problem, score=lambda outputs: outputs[:, 1] % 2)
    assert result.violated
    assert result.delta_lower > 0.9


@pytest.mark.dense
def test_what_it_says() -> None:
    honest = ln.calibrate("laplace", epsilon=1, sensitivity=ln.L1(1))
    result = ln.audit_mechanism(honest, draws=10_000)
    assert "doesn't prove privacy" in str(result)
    record = result.to_record()
    assert (record["violated"], record["epsilon"], record["error"]) == (False, "1", "1e-9")
    assert [item["detector"] for item in record["findings"]] == list(DETECTORS)
    assert all(item["would_detect"] for item in record["findings"])
    assert sum(item.error for item in result.findings) == pytest.approx(1e-9)


@pytest.mark.parametrize(
    ("outputs", "says"),
    [
        (lambda value, count: ["x"] * count, "real numbers"),
        (lambda value, count: np.zeros(count + 1), "shape"),
        (lambda value, count: 0.0, "batched=False"),
        (lambda value, count: np.zeros((count, 0)), "outputs of numbers"),
        (lambda value, count: [[1.0]] * (count - 1) + [[1.0, 2.0]], "real numbers"),
        (lambda value, count: np.zeros((count, 1 + int(value))), "same dimension"),
    ],
)
def test_outputs_that_are_none_are_refused_without_showing_them(outputs: Any, says: str) -> None:
    with pytest.raises(InvalidArgument, match=says) as refused:
        ln.audit_mechanism(outputs, ln.Claim(epsilon=1), inputs=(0, 1), draws=1000)
    assert "'x'" not in str(refused.value)


def test_arguments_that_are_none_are_refused() -> None:
    honest = ln.calibrate("laplace", epsilon=1, sensitivity=ln.L1(1))
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"draws": 10}, "draws"),
        ({"error": "0"}, "error"),
        ({"error": "0.9"}, "error"),
        ({"inputs": (1,)}, "inputs"),
        ({"detectors": ["nose"]}, "Did you mean noise"),
        ({"detectors": []}, "detectors"),
        ({"detectors": ["noise", "noise"]}, "detectors"),
        ({"score": 1}, "score"),
        ({"batched": 0}, "batched"),
    ]
    for arguments, says in wrong:
        with pytest.raises(InvalidArgument, match=says):
            ln.audit_mechanism(honest, **arguments)
    with pytest.raises(InvalidArgument, match=r"Write ln\.Claim"):
        ln.audit_mechanism(lambda value, count: np.zeros(count))
    with pytest.raises(InvalidArgument, match="inputs"):
        ln.audit_mechanism(lambda value, count: np.zeros(count), ln.Claim(epsilon=1))
    with pytest.raises(InvalidArgument, match="score"):
        ln.audit_mechanism(honest, draws=1000, score=lambda outputs: outputs)
    with pytest.raises(InvalidArgument, match="not both"):
        ln.Claim(epsilon=1, noise=ln.noise.Laplace(scale=1), distribution=lambda t: 0.5)
