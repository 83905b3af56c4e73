"""The same by dp-accounting (Google) and prv-accountant (Microsoft), as their documents have it."""

from __future__ import annotations

import prv_accountant as prv
from cases import Case
from dp_accounting.pld import privacy_loss_distribution as pld

PRV_ERROR = 1e-3  # of ε; at most 1e-10 of δ is left out


def google(case: Case, *, pessimistic: bool) -> pld.PrivacyLossDistribution:
    make, scale = {
        "gaussian": (pld.from_gaussian_mechanism, "standard_deviation"),
        "laplace": (pld.from_laplace_mechanism, "parameter"),
    }[case.noise]
    item = make(
        **{scale: case.scale},
        sampling_prob=float(case.rate),
        pessimistic_estimate=pessimistic,
        use_connect_dots=pessimistic,  # the tighter of its two ways, and only for upper bounds
    )
    return item.self_compose(case.count)


def google_epsilons(case: Case, delta: float) -> tuple[float, float]:
    low, high = (
        google(case, pessimistic=side).get_epsilon_for_delta(delta) for side in (False, True)
    )
    return low, high


def microsoft_epsilons(case: Case, delta: float) -> tuple[float, float] | None:
    """None for Laplace noise on a sample, which it hasn't."""
    if case.noise == "laplace":
        if case.rate != "1":
            return None
        law = prv.LaplaceMechanism(mu=1 / case.scale)
    elif case.rate == "1":
        law = prv.GaussianMechanism(noise_multiplier=case.scale)
    else:
        law = prv.PoissonSubsampledGaussianMechanism(
            sampling_probability=float(case.rate), noise_multiplier=case.scale
        )
    accountant = prv.PRVAccountant(
        prvs=[law], max_self_compositions=[case.count], eps_error=PRV_ERROR, delta_error=1e-10
    )
    low, _, high = accountant.compute_epsilon(delta, [case.count])
    return float(low), float(high)
