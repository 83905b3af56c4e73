"""`leastnoise demo`: the whole way, on a real table of health-care use."""

from __future__ import annotations


def command() -> None:
    """Publish statistics of the RAND Health Insurance Experiment, and verify them."""
    raise NotImplementedError
