"""One Spark session for all tests of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.engines import spark


@pytest.fixture(scope="session")
def _started(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Any, str]]:
    if why := spark.missing():
        pytest.fail(why)
    kind = str(request.config.getoption("--spark") or "classic")
    with spark.session(kind, tmp_path_factory.mktemp("spark")) as result:
        yield result


@pytest.fixture(scope="session")
def session(_started: tuple[Any, str]) -> Any:
    return _started[0]


@pytest.fixture(scope="session")
def engine(_started: tuple[Any, str]) -> str:
    """The engine's name in a spec that uses this session."""
    return _started[1]
