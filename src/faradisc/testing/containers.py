"""A container of Faradisc for tests, by Testcontainers for Python (`pip install testcontainers boto3`).

    with FaradiscContainer() as faradisc:
        dynamodb = faradisc.client()

Source: testcontainers.core.container and wait_strategies, version 4.15.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import boto3

# Typed as Any, so that type checks give the same result where testcontainers is not installed.
DockerContainer: Any = import_module("testcontainers.core.container").DockerContainer
HttpWaitStrategy: Any = import_module("testcontainers.core.wait_strategies").HttpWaitStrategy

PORT = 8000


class FaradiscContainer(DockerContainer):  # type: ignore[misc]
    """A server in a container of the image that the project's Dockerfile builds."""

    def __init__(self, image: str = "faradisc", *options: str, **settings: Any) -> None:
        """options: of `faradisc serve`; by default all data is in memory. settings: of DockerContainer.

        Entering the container, or `start`, waits until the server is ready.
        """
        super().__init__(
            image,
            ports=[PORT],
            _wait_strategy=HttpWaitStrategy(PORT, "/health/ready"),
            **settings,
        )
        self.with_command(["serve", *(options or ("--memory",))])

    @property
    def endpoint_url(self) -> str:
        """The address of the started server."""
        return f"http://{self.get_container_host_ip()}:{self.get_exposed_port(PORT)}"

    def client(self, service: str = "dynamodb", **options: Any) -> Any:
        """Returns a boto3 client of the started server. options: of `boto3.client`."""
        return boto3.client(service, **self._connection(options))

    def resource(self, **options: Any) -> Any:
        """Returns a boto3 resource of the started server. options: of `boto3.resource`."""
        return boto3.resource("dynamodb", **self._connection(options))

    def _connection(self, options: dict[str, Any]) -> dict[str, Any]:
        credentials = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
        return {"endpoint_url": self.endpoint_url, "region_name": "us-east-1", **credentials, **options}
