"""A vector released in chunks gets one draw of noise, the same as if released at once."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.mechanism.rounding import VectorDraw, add_noise
from leastnoise.noise.base import Noise

BLOCK = 1 << 14  # coordinates that are drawn together, whatever the chunks
DIMENSION = 3 * BLOCK + 5
GRID = Fraction(1, 2**10)
LAWS: tuple[Noise, ...] = (
    ln.noise.Gaussian(scale=3, dimension=DIMENSION),
    ln.noise.Laplace(scale=3, dimension=DIMENSION),
    ln.noise.SphericalLaplace(scale=3, dimension=DIMENSION),
)


def mechanism(name: str = "l2", dimension: int = 1000) -> ln.Mechanism:
    sensitivity = ln.L1(1) if name == "laplace" else ln.L2(1)
    return ln.calibrate(name, epsilon=1, delta="1e-6", sensitivity=sensitivity, dimension=dimension)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_from_the_same_bits_come_the_same_values(law: Noise) -> None:
    values = np.linspace(-50, 50, DIMENSION)
    whole = add_noise(law, GRID, values, entropy=InsecureSeededEntropy(7))
    draw = VectorDraw(law, GRID, entropy=InsecureSeededEntropy(7))
    parts = [draw.chunk(part) for part in np.split(values, [BLOCK, 3 * BLOCK])]
    assert np.array_equal(np.concatenate(parts), whole)
    assert draw.left == 0


@pytest.mark.dense
def test_all_chunks_share_one_radius() -> None:
    """The squares of l2 noise for 20 numbers vary together: by 1/(d + 1) more than alone."""
    law = ln.noise.SphericalLaplace(scale=1, dimension=20)
    pairs = []
    for _ in range(4000):
        draw = VectorDraw(law, Fraction(1, 2**20))
        first, second = draw.chunk(np.zeros(10)), draw.chunk(np.zeros(10))
        pairs.append((first @ first, second @ second))
    squares = np.array(pairs) / law.variance / 10
    together = float(np.cov(squares.T)[0, 1])
    expected = (20 + 3) / (20 + 1) - 1  # E r⁴/(E r²)²·d/(d + 2) − 1
    assert together == pytest.approx(expected, abs=0.03)


def test_chunks_of_any_kind_and_size_make_one_release() -> None:
    chunks: list[Any] = [np.zeros(0), [1, 2, 3], np.full(7, np.nan), [Fraction(1, 3)] * 90]
    chunks += [np.zeros(900, dtype=np.float32)]
    parts = list(mechanism().release_chunks(iter(chunks)))
    assert [part.size for part in parts] == [0, 3, 7, 90, 900]
    steps = np.concatenate(parts) / float(mechanism().grid)
    assert np.array_equal(steps, np.rint(steps))
    assert np.unique(steps).size > 900


def test_no_chunk_is_read_before_it_is_asked_for() -> None:
    read: list[int] = []

    def chunks() -> Iterator[np.ndarray[Any, Any]]:
        for index in range(10):
            read.append(index)
            yield np.zeros(100)

    parts = mechanism().release_chunks(chunks())
    assert not read
    next(parts)
    assert read == [0]


@pytest.mark.parametrize(
    ("chunks", "why"),
    [
        ([np.zeros(600), np.zeros(600)], "with at most 400 more coordinates"),
        ([np.zeros(600)], "1,000 in all"),
        ([], "1,000 in all"),
        ([np.zeros((2, 500))], r"an array of shape \(2, 500\)"),
        ([1.0], r"an array of shape \(\)"),
        (["secret"], "numbers"),
        ([np.zeros(10, dtype=complex)], "numbers"),
    ],
)
def test_chunks_that_are_not_the_vector_are_refused(chunks: Any, why: str) -> None:
    with pytest.raises(InvalidArgument, match=why) as caught:
        list(mechanism().release_chunks(chunks))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("chunks", [7, None, "secret", b"secret", {"a": 1}, np.array(3)])
def test_what_has_no_chunks_is_refused_at_once(chunks: Any) -> None:
    with pytest.raises(InvalidArgument, match="chunks"):
        mechanism().release_chunks(chunks)


def test_a_geometry_takes_the_whole_vector() -> None:
    counts = ln.CountingQueries(dimension=5)
    comparison = ln.compare(epsilon=1, delta="1e-6", sensitivity=counts)
    ellipse = next(
        mechanism for mechanism in comparison.mechanisms if mechanism.certificate.geometry
    )
    with pytest.raises(NotApplicable, match="whole vector"):
        ellipse.release_chunks([np.zeros(5)])


def test_a_billion_coordinates_have_a_proved_scale() -> None:
    noise = mechanism("l2", 10**9)
    assert noise.certificate.verify().certainly_at_most("1e-6")
    first = next(noise.release_chunks(np.zeros(1000) for _ in range(10**6)))
    assert first.std() == pytest.approx(noise.noise.variance**0.5, rel=0.2)
