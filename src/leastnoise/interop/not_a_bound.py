"""The warning that goes with another library's arithmetic."""

from __future__ import annotations


class NotABound(UserWarning):
    """From here on numbers are close, but no longer certain to lie on the private side."""
