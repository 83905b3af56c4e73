from __future__ import annotations

import pytest

from tests.attacks.guard import Guard


@pytest.fixture
def guard(request: pytest.FixtureRequest) -> Guard:
    return Guard(request=request)
