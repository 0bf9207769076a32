"""The class for Testcontainers, with a Docker API of the test that starts a server instead of a container.

What it does not prove: that the image runs. No Docker daemon is needed here.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from fixtures.served import Server

ConnectionMode = pytest.importorskip("testcontainers.core.config", reason="not installed").ConnectionMode


class Docker(ThreadingHTTPServer):
    """The part of the Docker API that a container's life needs."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Api)
        self.created: dict[str, Any] = {}
        self.server: Server | None = None
        self.calls: list[str] = []

    def port(self) -> str:
        return "" if self.server is None else self.server.url.rpartition(":")[2]

    def act(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        path = re.sub(r"^/v[0-9.]+|\?.*$", "", path)
        self.calls.append(f"{method} {path}")
        match method, path:
            case "GET", "/version":
                return 200, {"ApiVersion": "1.50"}
            case "GET", image if image.startswith("/images/"):
                return 200, {"Id": "sha256:1"}
            case "POST", "/containers/create":
                self.created = body
                return 201, {"Id": "c0ffee", "Warnings": []}
            case "POST", "/containers/c0ffee/start":
                self.server = Server(*options_of(self.created["Cmd"]))
                return 204, None
            case "GET", "/containers/json":
                return 200, [{"Id": "c0ffee"}]
            case "GET", "/containers/c0ffee/json":
                ports = {}
                if self.server is not None:
                    port = self.server.url.rpartition(":")[2]
                    ports = {"8000/tcp": [{"HostIp": "127.0.0.1", "HostPort": port}]}
                state = {"Status": "running", "Running": True}
                return 200, {
                    "Id": "c0ffee",
                    "State": state,
                    "NetworkSettings": {"Ports": ports},
                    "Config": {},
                }
            case "DELETE", "/containers/c0ffee":
                assert self.server is not None
                assert self.server.stop() == 0
                return 204, None
        return 404, {"message": f"no {method} {path} here"}


def options_of(command: list[str]) -> list[str]:
    program, *options = command
    assert program == "serve"
    return options


class Api(BaseHTTPRequestHandler):
    server: Docker

    def _answer(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, answer = self.server.act(self.command, self.path, json.loads(content) if content else None)
        body = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_DELETE = _answer

    def log_message(self, *_: Any) -> None:
        """Prints nothing."""


@pytest.fixture
def docker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Docker]:
    with Docker() as docker:
        thread = threading.Thread(target=docker.serve_forever)
        thread.start()
        monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{docker.server_port}")
        # Without the container that removes others, and by the address of the Docker API, not of a gateway.
        config = "testcontainers.core.config.testcontainers_config"
        monkeypatch.setattr(f"{config}.ryuk_disabled", True)
        monkeypatch.setattr(f"{config}.connection_mode_override", ConnectionMode.docker_host)
        yield docker
        docker.shutdown()
        thread.join()


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
