from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from leastnoise.errors import InvalidArgument, Refused
from leastnoise.guarantees.sensitivity import L1, L2
from leastnoise.noise.registry import FAMILIES
from leastnoise.selection.search import calibrate, compare, least_noise, privacy_profile


def test_ranks_by_the_loss_that_is_asked() -> None:
    found = compare(epsilon="1", delta="1e-5", sensitivity=L2(1), dimension=7)
    assert [m.noise.name for m in found.mechanisms] == ["l2", "gaussian"]
    assert found.mechanisms[0].mse == pytest.approx(48.8142391, rel=1e-6)
    assert found.mechanisms[1].mse == pytest.approx(97.423288, rel=1e-6)
    reasons = {one.name: one.why for one in found.skipped}
    assert reasons["laplace"] == "it needs a sensitivity in the l1 norm"
    assert set(reasons) == set(FAMILIES) - {"l2", "gaussian"}


def test_losses_can_disagree() -> None:
    """At d = 2, δ = .4 the two losses rank l2 and the Gaussian differently near their crossing."""
    winners: dict[str, list[str]] = {"mse": [], "mae": []}
    for loss, names in winners.items():
        for delta in ("0.001", "0.01", "0.02", "0.03", "0.05", "0.1"):
            best = least_noise(epsilon="1", delta=delta, sensitivity=L2(1), dimension=2, loss=loss)
            names.append(best.noise.name)
    assert winners["mse"] != winners["mae"]


def test_least_noise_is_the_first_of_compare() -> None:
    arguments = {"epsilon": "0.3", "delta": "1e-4", "sensitivity": L2("2.5"), "dimension": 30}
    assert least_noise(**arguments) == compare(**arguments).mechanisms[0]


def test_several_sensitivities_each_family_takes_its_own() -> None:
    found = compare(epsilon="1", delta="1e-6", sensitivity=(L2("1.5"), L1(2)), dimension=4)
    used = {m.noise.name: m.certificate.sensitivity for m in found.mechanisms}
    assert used == {"laplace": L1(2), "l2": L2("1.5"), "gaussian": L2("1.5")}


def test_pure_budget_skips_the_gaussian() -> None:
    found = compare(epsilon="1", sensitivity=L2(1), dimension=7)
    assert [m.noise.name for m in found.mechanisms] == ["l2"]
    assert {"gaussian", "laplace"} <= {one.name for one in found.skipped}


def test_one_family_that_cannot_serve_is_refused() -> None:
    with pytest.raises(Refused, match="delta=0"):
        calibrate("gaussian", epsilon="1", sensitivity=L2(1))


def test_refuses_arguments_of_the_wrong_kind() -> None:
    with pytest.raises(InvalidArgument, match="sensitivity"):
        compare(epsilon="1", sensitivity=1, dimension=2)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidArgument, match="sensitivity"):
        compare(epsilon="1", sensitivity=(), dimension=2)
    with pytest.raises(InvalidArgument, match="loss"):
        compare(epsilon="1", sensitivity=L2(1), loss="rms")
    with pytest.raises(InvalidArgument, match="dimension"):
        least_noise(epsilon="1", sensitivity=L2(1), dimension=2.0)  # pyright: ignore[reportArgumentType]


def test_privacy_profile_falls_in_epsilon() -> None:
    profile = privacy_profile(
        "l2", scale="0.99", epsilons=["0", "0.5", "1", "1.0101", "1.1"], sensitivity=L2(1),
        dimension=7,
    )  # fmt: skip
    assert all(b.upper <= a.lower for a, b in pairwise(profile))
    assert profile[2].contains(Fraction("5.044387690030895335923e-9"))


def test_prints_as_a_table() -> None:
    text = str(compare(epsilon="1", delta="1e-5", sensitivity=L2(1), dimension=7))
    assert text.splitlines()[1].split() == ["l2", "0.93364", "48.8142", "14.2964"]
