"""Exported events describe the mechanism: dp-accounting's accountant finds our numbers."""

from __future__ import annotations

import sys
from fractions import Fraction

import pytest
from dp_accounting import dp_event as events
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant

import leastnoise as ln
from leastnoise.accounting.composition import Composition
from leastnoise.errors import NotApplicable
from leastnoise.interop import MissingExtra, to_dp_event

GAUSSIAN = ln.calibrate(
    "gaussian", epsilon="1", delta="1e-5", sensitivity=ln.L2("1.7"), dimension=3
)
LAPLACE = ln.calibrate("laplace", epsilon="0.3", sensitivity=ln.L1("2.5"), dimension=2)


@pytest.mark.grid
@pytest.mark.parametrize(
    "releases",
    [
        pytest.param(ln.compose([(GAUSSIAN, 1)]), id="gaussian"),
        pytest.param(ln.compose([(LAPLACE, 1)]), id="laplace"),
        pytest.param(GAUSSIAN.compose(30), id="many"),
        pytest.param(ln.compose([(GAUSSIAN, 3), (LAPLACE, 4)]), id="mixed"),
        pytest.param(LAPLACE.compose(20, sampling_rate="0.2"), id="sampled"),
    ],
)
def test_the_accountant_agrees(releases: Composition) -> None:
    accountant = PLDAccountant().compose(to_dp_event(releases))
    truth = releases.epsilon(delta="1e-6")
    # its own discretization: at most 4e-4 was met
    assert accountant.get_epsilon(1e-6) == pytest.approx(truth.upper, rel=2e-3)


def test_the_form_of_events() -> None:
    laplace_dp_event = events.LaplaceDpEvent(float(Fraction(LAPLACE.noise.scale) / Fraction("2.5")))
    assert to_dp_event(LAPLACE) == laplace_dp_event
    assert to_dp_event(LAPLACE.compose(7)) == events.SelfComposedDpEvent(laplace_dp_event, 7)
    sampled = to_dp_event(ln.compose([(LAPLACE, 2), (LAPLACE, 1)], sampling_rate="0.25"))
    part = events.PoissonSampledDpEvent(0.25, laplace_dp_event)
    assert sampled == events.ComposedDpEvent([events.SelfComposedDpEvent(part, 2), part])


@pytest.mark.parametrize("rate", ["1", "0.25"])
def test_a_mechanism_for_several_releases_is_that_many_events(rate: str) -> None:
    several = ln.calibrate(
        "laplace", epsilon="1", sensitivity=ln.L1(1), compositions=12, sampling_rate=rate
    )
    event = to_dp_event(several)
    assert isinstance(event, events.SelfComposedDpEvent)
    assert event.count == 12
    assert isinstance(event.event, events.PoissonSampledDpEvent) == (rate != "1")
    assert event == to_dp_event(several.compose(12))
    assert event.event == to_dp_event(several.compose(1))


def test_floats_are_rounded_to_the_private_side() -> None:
    """1/3 is below the float nearest to 0.7/2.1, or not: the event must never say less noise."""
    for bound in ("0.3", "0.7", "1.1", "1.7", "2.3"):
        for rate in ("0.1", "0.3", "0.7", "0.9"):
            noise = ln.calibrate("laplace", epsilon="1/3", sensitivity=ln.L1(bound))
            event = to_dp_event(noise.compose(1, sampling_rate=rate))
            assert isinstance(event, events.PoissonSampledDpEvent)
            assert isinstance(event.event, events.LaplaceDpEvent)
            assert Fraction(event.event.noise_multiplier) <= noise.noise.scale / Fraction(bound)
            assert Fraction(event.sampling_probability) >= Fraction(rate)


def test_noise_without_an_event_is_refused() -> None:
    l2 = ln.calibrate("l2", epsilon="1", delta="1e-5", sensitivity=ln.L2(1), dimension=2)
    for releases in (l2, ln.compose([(GAUSSIAN, 1), (l2, 2)])):
        with pytest.raises(NotApplicable, match="no event"):
            to_dp_event(releases)


def test_without_dp_accounting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting.dp_event", None)
    with pytest.raises(MissingExtra, match=r"dp-accounting .*pip install 'leastnoise\[interop\]'"):
        to_dp_event(GAUSSIAN)
