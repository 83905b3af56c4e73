from __future__ import annotations

import math
import os
import signal
import threading
from fractions import Fraction

import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.balls.core import ball, bessel_k_ratio, float_above, float_below, precision


@settings(derandomize=True)
@given(st.fractions())
def test_outward_floats_enclose(number: Fraction) -> None:
    with precision(128):
        low, high = float_below(ball(number)), float_above(ball(number))
    assert Fraction(low) <= number <= Fraction(high)
    assert high <= math.nextafter(math.nextafter(low, math.inf), math.inf)


def test_floats_of_what_has_no_bound() -> None:
    assert float_above(arb.nan()) == math.inf
    assert float_below(arb.nan()) == -math.inf


def test_the_trap_of_rounding_to_nearest() -> None:
    """float(x.upper()) alone would be below 1/3 here."""
    with precision(128):
        third = ball(Fraction(1, 3))
        assert Fraction(float(third.upper())) < Fraction(1, 3)
        assert Fraction(float_above(third)) > Fraction(1, 3)


def test_precision_is_restored() -> None:
    before = ctx.prec
    with precision(333):
        assert ctx.prec == 333
    assert ctx.prec == before


def test_bessel_ratio_encloses_the_quotient() -> None:
    for twice_order in (0, 1, 2, 5, 41, 98):
        for z in ("0.01", "0.7", "3", "40", "900"):
            with precision(256):
                narrow = bessel_k_ratio(twice_order, arb(z))
            with precision(600):
                nu, x = arb(twice_order) / 2, arb(z)
                quotient = x.bessel_k(nu) / x.bessel_k(nu + 1)
                assert narrow.overlaps(quotient)
                assert narrow.rel_accuracy_bits() > 100  # K₀, K₁ of an integer order lose 126


# what is tested is a fork: Windows has none
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_while_another_thread_proves_does_not_hang() -> None:
    inside, leave = threading.Event(), threading.Event()

    def prove() -> None:
        with precision(100):
            inside.set()
            leave.wait(20)

    thread = threading.Thread(target=prove)
    thread.start()
    inside.wait(20)
    child = os.fork()
    if child == 0:
        signal.alarm(10)  # a hang becomes a failure
        with precision(50):
            os._exit(0)
    _, status = os.waitpid(child, 0)
    leave.set()
    thread.join()
    assert status == 0
