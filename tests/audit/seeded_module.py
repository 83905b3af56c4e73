"""Mechanisms for a separate process. The import seeds one of them, which is a violation."""

from __future__ import annotations

from typing import Any

import numpy as np

_SEEDED = np.random.default_rng(23)


def seeded(value: float, count: int) -> Any:
    return value + np.rint(_SEEDED.normal(0, 1e6, count))


def fresh(value: float, count: int) -> Any:
    print("not an output")  # noqa: T201 (what is printed must not get among the outputs)
    return value + np.rint(np.random.default_rng().normal(0, 1e6, count))
