"""The class for Testcontainers, with a Docker API of the test that starts a server instead of a container.

What it does not prove: that the image runs. No Docker daemon is needed here.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fixtures.docker_api import Docker, docker_api

ConnectionMode = pytest.importorskip("testcontainers.core.config", reason="not installed").ConnectionMode


@pytest.fixture
def docker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Docker]:
    with docker_api() as docker:
        monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{docker.server_port}")
        # Without the container that removes others, and by the address of the Docker API, not of a gateway.
        config = "testcontainers.core.config.testcontainers_config"
        monkeypatch.setattr(f"{config}.ryuk_disabled", True)
        monkeypatch.setattr(f"{config}.connection_mode_override", ConnectionMode.docker_host)
        yield docker


def test_container_serves_from_its_start_to_its_end(docker: Docker) -> None:
    from faradisc.testing.containers import FaradiscContainer  # noqa: PLC0415 - only where it is installed

    with FaradiscContainer("faradisc:test", "--memory", "--ttl-delay-s", "3") as faradisc:
        assert docker.created["Image"] == "faradisc:test"
        assert docker.created["Cmd"] == ["serve", "--memory", "--ttl-delay-s", "3"]
        assert "8000/tcp" in docker.created["ExposedPorts"]
        assert docker.server is not None
        assert faradisc.endpoint_url.rpartition(":")[2] == docker.server.url.rpartition(":")[2]
        assert faradisc.client().list_tables()["TableNames"] == []
        assert list(faradisc.resource(region_name="eu-central-1").tables.all()) == []
    assert docker.calls[-1] == "DELETE /containers/c0ffee"


def test_data_is_in_memory_by_default(docker: Docker) -> None:
    from faradisc.testing.containers import FaradiscContainer  # noqa: PLC0415 - only where it is installed

    with FaradiscContainer():
        assert docker.created["Cmd"] == ["serve", "--memory"]
