"""A `PrivacyLossDistribution` that says where its arithmetic stops being a bound.

The only module that can't be imported without dp-accounting.
"""

from __future__ import annotations

import warnings
from typing import final

from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

from leastnoise.interop.extra import NotABound

_WHY = (
    "dp-accounting convolves in floats: its errors of about 1e-16 in every mass are not accounted "
    "for, and are all that is left of a small delta. Compose in leastnoise (Mechanism.compose, or "
    "interop.from_plds) for a bound."
)


@final
class ProvedPld(PrivacyLossDistribution):
    """What `to_pld` returns. What comes of composing it is an ordinary distribution."""

    def compose(
        self,
        privacy_loss_distribution: PrivacyLossDistribution,
        tail_mass_truncation: float = 1e-15,
    ) -> PrivacyLossDistribution:
        """Warns that the result is no bound."""
        warnings.warn(_WHY, NotABound, stacklevel=2)
        return super().compose(privacy_loss_distribution, tail_mass_truncation)

    def self_compose(
        self, num_times: int, tail_mass_truncation: float = 1e-15
    ) -> PrivacyLossDistribution:
        """Warns that the result is no bound."""
        warnings.warn(_WHY, NotABound, stacklevel=2)
        plain = PrivacyLossDistribution(
            self._pmf_remove, None if self._symmetric else self._pmf_add
        )
        return plain.self_compose(num_times, tail_mass_truncation)
