"""A server whose tables are ACTIVE at once, because clients poll in intervals of seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fixtures.served import Server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server("--memory", "--transition-ms", "0") as server:
        yield server
        assert server.stop() == 0
