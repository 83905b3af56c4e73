from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leastnoise.learn import BoundedScaler


def test_bounds_are_mapped_to_the_box_whatever_the_data() -> None:
    scaler = BoundedScaler(bounds=(0, 10)).fit(np.array([[3.0], [4.0]]))
    assert scaler.transform([[0], [5], [10], [-7], [1e300]]).ravel() == pytest.approx(
        [-1, 0, 1, -1, 1]
    )
    assert np.abs(BoundedScaler(bounds=(0, 0.3)).fit_transform([[0.3], [0.1]])).max() <= 1


@pytest.mark.parametrize(
    "bounds", [(1, 0), (0, 0), (0, np.inf), [(0, 1)] * 3, (0, 1, 2), 5, ("a", "b")], ids=str
)
def test_other_bounds_are_refused(bounds: Any) -> None:
    with pytest.raises(ValueError, match=r"bounds|could not convert"):
        BoundedScaler(bounds=bounds).fit(np.zeros((2, 2)))
