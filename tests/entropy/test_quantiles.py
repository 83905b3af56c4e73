"""The proof that the float tables are right, cell by cell, and an independent check of it."""

from __future__ import annotations

from dataclasses import dataclass

import mpmath
import numpy as np
import pytest
from flint import arb

from leastnoise.balls.core import float_above, precision
from leastnoise.entropy.smooth_quantiles import (
    CELLS,
    CELLS_PER_BINADE,
    COSINE,
    DEGREE,
    ETA,
    EXPONENTIAL,
    FIRST_BINADE,
    HALF_NORMAL,
    WORD_BITS,
    SmoothQuantile,
    cell_middles,
    table,
)
from leastnoise.entropy.source import InsecureSeededEntropy

U = arb((1, -53))  # float64's unit roundoff
FULL = 1 << WORD_BITS


@dataclass
class Tally:
    """An upper bound on each cause of error: the largest in the cells so far."""

    remainder: float = 0.0
    coefficients: float = 0.0
    horner: float = 0.0
    argument: float = 0.0
    total: float = 0.0
    largest: float = 0.0

    def add(self, **causes: arb) -> None:
        for name, bound in causes.items():
            setattr(self, name, max(getattr(self, name), float_above(bound)))


def _prove_cell(quantile: SmoothQuantile, middle: int, floats: np.ndarray, tally: Tally) -> None:
    """Bound |Q̂ − Q(u)| over the words whose float lies in the cell, by its causes.

    The cell is |t| <= r about `middle`, in words; û = ŵ/2^63 is the argument that is used. The true
    u = (w + V)/2^63 differs by |u − û| <= 2^-63 (V) + 2^-53 û (rounding w; 0 below 2^53).
    """
    r = arb(middle & -middle)  # half a cell: a middle is an odd multiple of it
    exact = [quantile.enclose(arb((middle, -WORD_BITS)))]
    factor = arb(1)
    for order, slope in enumerate(quantile.derivatives(arb((middle, -WORD_BITS)), DEGREE), start=1):
        factor *= arb((1, -WORD_BITS)) / order
        exact.append(slope * factor)

    cell = arb(middle, r) / FULL
    last = quantile.derivatives(cell, DEGREE + 1)[-1]
    steps = (r / FULL) ** (DEGREE + 1)
    remainder = abs(last) * steps / arb.fac_ui(DEGREE + 1)

    coefficients, size = arb(0), arb(0)
    for order, (true, rounded) in enumerate(zip(exact, floats.tolist(), strict=True)):
        coefficients += abs(true - arb(rounded)) * r**order
        size += abs(arb(rounded)) * r**order

    # Horner: each coefficient takes part in at most 2·6 roundings (one less with FMA); t is exact.
    roundings = 2 * DEGREE * U / (1 - 2 * DEGREE * U)
    horner = roundings * size

    move = arb((1, -WORD_BITS)) + U * (middle + r) / FULL
    around = arb(cell.mid(), cell.rad() + move)
    argument = abs(quantile.derivatives(around, 1)[0]) * move
    total = remainder + coefficients + horner + argument
    tally.add(
        remainder=remainder,
        coefficients=coefficients,
        horner=horner,
        argument=argument,
        total=total,
        largest=size + horner,
    )


def prove(quantile: SmoothQuantile) -> Tally:
    tally = Tally()
    coefficients = table(quantile)
    assert coefficients.shape == (DEGREE + 1, CELLS)
    with precision(128):
        for column, middle in enumerate(cell_middles()):
            _prove_cell(quantile, middle, coefficients[:, column], tally)
    return tally


# The bounds are the measured ones, rounded up: 2^-46.59 and 2^-44.89. A change that costs accuracy
# is seen here long before it reaches ETA.
@pytest.mark.grid
@pytest.mark.parametrize(
    ("quantile", "bound"),
    [(HALF_NORMAL, 2.0**-46), (EXPONENTIAL, 2.0**-44), (COSINE, 2.0**-46)],
    ids=["normal", "exp", "cosine"],
)
def test_every_cell_is_proved(quantile: SmoothQuantile, bound: float) -> None:
    tally = prove(quantile)
    assert tally.remainder < 2.0**-58
    assert tally.total < bound < ETA
    assert tally.largest < quantile.reach


def test_the_proof_sees_a_wrong_coefficient(monkeypatch: pytest.MonkeyPatch) -> None:
    damaged = table(HALF_NORMAL).copy()
    damaged[2, 1000] *= 1 + 2.0**-20
    tally = Tally()
    middles = list(cell_middles())
    with precision(128):
        _prove_cell(HALF_NORMAL, middles[1000], damaged[:, 1000], tally)
    assert tally.total > 2.0**-46


def test_cells_tile_the_words() -> None:
    edge = 1 << FIRST_BINADE
    for middle in cell_middles():
        half = middle & -middle
        assert middle - half == edge
        edge = middle + half
    assert edge == FULL


def test_words_find_their_own_cell() -> None:
    """A table of cell numbers, looked up at the first, middle and last float of every cell."""
    numbered = SmoothQuantile(
        function=_cell_number,
        derivatives=lambda u, count: [arb(0)] * count,
        reach=float(CELLS),
    )
    for column, middle in enumerate(cell_middles()):
        if column % 37 and CELLS_PER_BINADE - column % CELLS_PER_BINADE > 2:
            continue
        half = middle & -middle
        last = middle + half - max(1, (middle >> 53) * 2)  # rounds down within the cell
        words = np.array([middle - half, middle, last], dtype=np.uint64)
        entry = numbered.look_up(words)
        assert entry.values.tolist() == [column] * 3
        assert not entry.beyond.any()


def _cell_number(u: arb) -> arb:
    exact = (u * FULL).unique_fmpz()
    assert exact is not None
    word = int(exact)
    binade = word.bit_length() - 1
    return arb((binade - FIRST_BINADE) * CELLS_PER_BINADE + (word >> (binade - 7)) % 128)


def test_words_outside_the_table_are_marked() -> None:
    edges = [0, 1, 2**46 - 1, 2**46, 2**63 - 513, 2**63 - 512, 2**63 - 1]
    entry = HALF_NORMAL.look_up(np.array(edges, dtype=np.uint64))
    assert entry.beyond.tolist() == [True, True, True, False, False, True, True]
    assert np.isfinite(entry.values).all()


@pytest.mark.parametrize(
    "quantile", [HALF_NORMAL, EXPONENTIAL, COSINE], ids=["normal", "exp", "cosine"]
)
def test_random_words_agree_with_arb(quantile: SmoothQuantile) -> None:
    """Words of every binade, V at both ends; the worst measured is 2^-46.2 and 2^-45.9."""
    source = InsecureSeededEntropy(11)
    words = source.words(3000) >> np.uint64(1)
    words >>= source.words(3000) % np.uint64(17)
    words |= np.uint64(1 << 46)
    entry = quantile.look_up(words)
    keep = ~entry.beyond
    assert keep.mean() > 0.99
    worst = arb(0)
    with precision(160):
        for word, value in zip(words[keep].tolist(), entry.values[keep].tolist(), strict=True):
            for later in (0, 1):
                error = abs(quantile.enclose(arb((word + later, -63))) - arb(value))
                worst = worst.max(error)
    assert worst < arb(2) ** -45, float(worst)


@pytest.mark.parametrize("exponent", [1, 5, 17, 40, 200])
def test_balls_agree_with_mpmath(exponent: int) -> None:
    with mpmath.workdps(60), precision(200):
        u = mpmath.mpf(3) / 2 ** (exponent + 1)
        ball_u = arb((3, -exponent - 1))
        normal = HALF_NORMAL.enclose(ball_u)
        # P(|Z| > q) is u again; mpmath's own erfinv would be a second opinion of lesser precision
        tail = mpmath.erfc(mpmath.mpf(normal.mid().str(55, radius=False)) / mpmath.sqrt(2))
        assert abs(tail / u - 1) < mpmath.mpf(10) ** -50
        exponential = EXPONENTIAL.enclose(ball_u)
        assert abs(mpmath.mpf(exponential.str(55, radius=False)) + mpmath.log(u)) < 1e-50


@pytest.mark.slow
@pytest.mark.parametrize("u", ["0.875", "0.5", "0.001953125", "0.0000152587890625"])
def test_derivatives_agree_with_mpmath(u: str) -> None:
    """The proof rests on these formulas: here they meet derivatives that know nothing of them."""
    with mpmath.workdps(120), precision(300):
        functions = {
            HALF_NORMAL: lambda x: mpmath.sqrt(2) * mpmath.erfinv(1 - x),
            EXPONENTIAL: lambda x: -mpmath.log(x),
        }
        for quantile, function in functions.items():
            result = quantile.derivatives(arb(u), DEGREE + 1)
            for order, derivative in enumerate(result, start=1):
                step = mpmath.mpf(u) * mpmath.mpf(10) ** -12
                other = mpmath.diff(function, mpmath.mpf(u), order, h=step, direction=0)
                value = mpmath.mpf(derivative.str(60, radius=False))
                assert abs(value / other - 1) < 1e-20


def test_the_table_can_not_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        table(HALF_NORMAL)[0, 0] = 1.0
