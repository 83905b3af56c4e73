"""Learning: private models for scikit-learn, and the parts of private training for other libraries.

| API | symbol | meaning |
|---|---|---|
| `features` | d | columns, including the intercept's column of ones |
| `rows` | n | number of rows, or a public approximation, by which updates are divided |
| `rounds`, `updates` | T, P | rounds, and updates in each; there are T·P releases |
| `squared_norm` | R² | the largest ‖x‖₂² of a row, including the intercept's 1 |
| `step` | γ | size of every update |
| `noise_multiplier` | σ | the noise's standard deviation over the clipping norm of gradients |
"""

from typing import Any

import lazy_loader

from leastnoise.errors import MissingLibrary

_attribute, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used.

    Raises MissingLibrary if it needs scikit-learn, which isn't installed.
    """
    try:
        return _attribute(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "sklearn":
            raise
        raise MissingLibrary(package="scikit-learn", extra="learn") from None
