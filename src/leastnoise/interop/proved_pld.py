"""A distribution of dp-accounting that warns where its arithmetic stops being a bound.

This module needs dp-accounting to be imported.
"""

from __future__ import annotations

import warnings
from typing import final

from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

from leastnoise.interop.extra import NotABound

_WHY = (
    "dp-accounting convolves in floats. It doesn't account for errors of about 1e-16 in every "
    "mass, which exceed a small delta. For a bound, compose in leastnoise (Mechanism.compose, or "
    "interop.from_plds)."
)


@final
class ProvedPld(PrivacyLossDistribution):
    """The result of `to_pld`. Its `compose` and `self_compose` warn.

    Both return an ordinary distribution. The `compose` of another distribution doesn't warn.
    """

    def compose(
        self,
        privacy_loss_distribution: PrivacyLossDistribution,
        tail_mass_truncation: float = 1e-15,
    ) -> PrivacyLossDistribution:
        """Compose with another distribution, and warn that the result is no bound."""
        warnings.warn(_WHY, NotABound, stacklevel=2)
        return super().compose(privacy_loss_distribution, tail_mass_truncation)

    def self_compose(
        self, num_times: int, tail_mass_truncation: float = 1e-15
    ) -> PrivacyLossDistribution:
        """Compose with itself, and warn that the result is no bound."""
        warnings.warn(_WHY, NotABound, stacklevel=2)
        plain = PrivacyLossDistribution(
            self._pmf_remove, None if self._symmetric else self._pmf_add
        )
        return plain.self_compose(num_times, tail_mass_truncation)
