"""Gradients of single examples, cut to a norm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.exact import Exact, exact

_ROOM = 2.0**-50  # relative, for the roundings of one product; sums have more, see `clip`


@np.errstate(all="ignore")  # a caller's np.seterr must not turn a value into an error
def clip(gradients: Any, norm: Exact) -> NDArray[np.float64]:
    """Return the rows of `gradients` (examples × parameters), none longer than `norm` in l2.

    A row g becomes g·min(1, norm/‖g‖₂), a little less for the roundings: in exact arithmetic no row
    of the result is longer than `norm`. Rows that aren't finite become 0, as an error that depended
    on an example would be an output. Raises InvalidArgument unless `gradients` is a matrix of
    numbers and norm > 0. Source: Abadi et al. (2016), Algorithm 1.

    >>> clip([[3.0, 4.0], [0.3, 0.4]], norm=1).round(6)
    array([[0.6, 0.8],
           [0.3, 0.4]])
    """
    rows = np.array(gradients, dtype=np.float64)
    limit = exact(norm, name="norm")
    if rows.ndim != 2:
        raise InvalidArgument(
            name="gradients",
            value=f"an array of shape {rows.shape}",
            expected="a matrix, examples × parameters",
            hint="Flatten the parameters: gradients.reshape(len(gradients), -1).",
        )
    if limit <= 0:
        raise InvalidArgument(name="norm", value=str(norm)[:40], expected="norm > 0")
    rows[~np.isfinite(rows).all(axis=1)] = 0.0
    largest = np.abs(rows).max(axis=1, initial=0.0, keepdims=True)
    largest[largest == 0] = 1.0
    # In units of its largest entry a row neither overflows nor vanishes; d squares, their sum, its
    # root, and a quotient and two products are off by less than (d + 8) roundings of 2^-53.
    units = rows / largest
    lengths = np.sqrt((units**2).sum(axis=1, keepdims=True))
    below = math.nextafter(float(limit), 0.0) * (1 - (rows.shape[1] + 8) * _ROOM)
    long = lengths > below / largest
    lengths = np.maximum(lengths, 1.0)  # which they are, but those of rows of 0
    return np.where(long, units * (below / lengths), rows)
