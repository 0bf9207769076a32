"""A `faradisc serve` of tests, as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from faradisc.local import redirecting

_POLL_S = 0.02
_STOP_S = 10.0


class Server:
    """A database in memory behind HTTP, on a free port of this machine."""

    def __init__(self, directory: Path) -> None:
        """Starts it, and waits until it is ready.

        directory: for its log, which stays there, and the file that its port is written to.

        Raises RuntimeError, with the log, if the server ends before it is ready.
        """
        port_file, log = directory / "port", directory / "log"
        environment = {name: text for name, text in os.environ.items() if not name.startswith("FARADISC_")}
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "faradisc",
                    "serve",
                    "--memory",
                    "--port",
                    "0",
                    "--port-file",
                    port_file,
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
            )
        while not port_file.exists():
            if self._process.poll() is not None:
                raise RuntimeError(f"the server has ended before it was ready:\n{log.read_text()}")
            time.sleep(_POLL_S)
        self.url = f"http://127.0.0.1:{int(port_file.read_text())}"
        redirecting.exempt(self.url)

    def client(self, service_name: str = "dynamodb", **options: Any) -> Any:
        """Returns a boto3 client of the server. `options` are those of `boto3.client`."""
        return self._session().client(service_name, endpoint_url=self.url, **options)

    def resource(self, **options: Any) -> Any:
        """Returns a boto3 resource of the server. `options` are those of `boto3.resource`."""
        return self._session().resource("dynamodb", endpoint_url=self.url, **options)

    @staticmethod
    def _session() -> Any:
        import boto3  # noqa: PLC0415 - slow to import

        return boto3.Session("faradisc", "faradisc", region_name="us-east-1")

    def stop(self) -> None:
        """Ends the process: by SIGTERM, and after ten seconds by SIGKILL."""
        self._process.terminate()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
