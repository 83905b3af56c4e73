"""Learning: private models for scikit-learn, and what private training needs elsewhere.

| API | symbol | meaning |
|---|---|---|
| `features` | d | columns, the intercept's column of ones among them |
| `rows` | n | persons' rows; public, as updates are divided by it |
| `rounds`, `updates` | T, P | rounds, and updates in each; releases are T·P |
| `squared_norm` | R² | the largest ‖x‖₂² of a row, the intercept's 1 included |
| `step` | γ | of every update |
| `noise_multiplier` | σ | noise's standard deviation over the norm that gradients are clipped to |
"""

from typing import Any

import lazy_loader

from leastnoise.errors import MissingLibrary

_attribute, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Return a public name; raises MissingLibrary where scikit-learn is needed and isn't there."""
    try:
        return _attribute(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "sklearn":
            raise
        raise MissingLibrary(package="scikit-learn", extra="learn") from None
