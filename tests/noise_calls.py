"""Valid parameters of every noise family, each as (its kind in `hostile_values`, a value)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leastnoise.guarantees.bodies.counts import Counts
from leastnoise.guarantees.bodies.signed import Signed

COUNTS = Counts(queries=3)
NOISE: Mapping[str, dict[str, tuple[str, Any]]] = {
    "agreeing": {
        "branches": ("wholes", (2, 3)), "shares": ("exacts", ("0.2", "0.3", "0.5")),
    },
    "cactus": {"cells": ("whole", 1), "masses": ("wholes", (2, 1))},
    "discrete-staircase": {"cells": ("whole", 1), "masses": ("wholes", (2, 1))},
    "flipped-huber": {"alpha": ("exact", 0), "gamma": ("exact", 2)},
    "gaussian": {"dimension": ("whole", 3)},
    "gaussian-mixture": {"modes": ("whole", 1), "spacing": ("exact", 1), "decay": ("exact", 1)},
    "generalized-gamma": {"alpha": ("exact", 1), "p": ("exact", 1), "dimension": ("whole", 3)},
    "geometric": {"cells": ("whole", 1), "core": ("whole", 1), "decay": ("exact", 1)},
    "k-norm": {"body": ("object", Signed(of=COUNTS))},
    "k-staircase": {
        "body": ("object", Signed(of=COUNTS)), "gamma": ("exact", "0.5"), "decay": ("exact", 1),
    },
    "laplace": {"dimension": ("whole", 3)},
    "optimal": {"cells": ("whole", 1), "masses": ("wholes", (2, 1))},
    "optimal-radial": {
        "dimension": ("whole", 2), "cells": ("whole", 2), "edges": ("wholes", (1, 3)),
        "weights": ("wholes", (4, 1)),
    },
    "quasi-gaussian": {"spacing": ("exact", 1), "decay": ("exact", 1)},
    "l2": {"dimension": ("whole", 3)},
    "spherical-staircase": {
        "dimension": ("whole", 3), "gamma": ("exact", "0.5"), "radius": ("exact", 2),
        "decay": ("exact", 1),
    },
    "staircase": {"gamma": ("exact", "0.5"), "decay": ("exact", 1)},
    "truncated-k-staircase": {
        "body": ("object", Signed(of=COUNTS)), "gamma": ("exact", "0.5"), "radius": ("exact", 2),
        "decay": ("exact", 1),
    },
    "truncated-laplace": {"radius": ("exact", 2)},
    "truncated-staircase": {
        "gamma": ("exact", "0.5"), "radius": ("exact", 2), "decay": ("exact", 1),
        "atom": ("exact", "0.1"),
    },
    "tulap": {"radius": ("exact", 2), "decay": ("exact", 1)},
    "two-sided-laplace": {"of": ("object", COUNTS), "core": ("exact", "0.5")},
    "two-sided-staircase": {
        "of": ("object", COUNTS), "core": ("exact", "0.5"), "decay": ("exact", 1),
    },
}  # fmt: skip
