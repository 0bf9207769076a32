"""`faradisc wait`: waits until a server is ready."""

from __future__ import annotations

import os
import threading
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from faradisc.addresses import completed, http_address
from faradisc.cli.databases import HOST, LOCAL_URL, PORT
from faradisc.clock import Clock, SystemClock
from faradisc.server.setting import ENVIRONMENT_PREFIX

if TYPE_CHECKING:
    from http.client import HTTPConnection

PAUSE_S = 0.05
PROBE_S = 5.0
"""Longest wait for one answer."""
READY_PATH = "/health/ready"
METRICS_PATH = "/metrics"


@click.command()
@click.option("--url", default="", envvar=ENVIRONMENT_PREFIX + "URL", help=f"Endpoint, such as {LOCAL_URL}.")
@click.option("--host", default=HOST, show_default=True, help="Host, if no --url is given.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=PORT,
    show_default=True,
    envvar=ENVIRONMENT_PREFIX + "PORT",
    help="Port, if no --url is given.",
)
@click.option("--port-file", default="", help="File to which the server writes its port; need not exist yet.")
@click.option(
    "--timeout", type=click.FloatRange(min=0), default=30.0, show_default=True, help="Seconds to wait."
)
def wait(url: str, host: str, port: int, port_file: str, timeout: float) -> None:
    """Wait until a server is ready. Exits 0 when it is, 1 with the reason after the timeout."""
    target = WaitTarget(url, host, port, port_file)
    reason = wait_until_ready(target, timeout, SystemClock())
    if reason:
        click.echo(f"faradisc: {target} is not ready after {timeout:g} s: {reason}.", err=True)
        raise SystemExit(1)


class WaitTarget:
    """The server; a port file may be written only while waiting."""

    def __init__(self, url: str, host: str, port: int, port_file: str) -> None:
        try:
            parts = http_address(completed(url)) if url else None
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--url") from None
        self._scheme = "http" if parts is None else parts.scheme
        self._port = port if parts is None else parts.port or (443 if self._scheme == "https" else 80)
        self._host = host if parts is None else str(parts.hostname)
        self._port_file = Path(port_file) if port_file else None
        if not self._port and self._port_file is None:
            raise click.BadParameter("0 is not a port; use --port-file instead", param_hint="--port")

    def __str__(self) -> str:
        if self._port_file is not None:
            return f"the server of port file {self._port_file}"
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{self._scheme}://{host}:{self._port}"

    def probe(self, timeout_s: float) -> str:
        """Returns the reason why the server is not ready; empty when it is."""
        import http.client  # noqa: PLC0415 - slow to import

        port = self._port
        if self._port_file is not None:
            try:
                port = int(self._port_file.read_text())
            except FileNotFoundError:
                return "the file does not exist"
            except (OSError, ValueError) as error:
                return f"the file has no port ({error})"
        try:
            connection = self._connection(port, timeout_s)
        except OSError as error:
            return f"AWS_CA_BUNDLE cannot be used ({error})"
        try:
            connection.request("GET", READY_PATH)
            answer = connection.getresponse()
            body = answer.read(1000)
        except (OSError, http.client.HTTPException) as error:
            return _sentence(error)
        finally:
            connection.close()
        return "" if answer.status == 200 else f"it answered {answer.status} {_status_in(body)}".rstrip()

    def metrics(self, timeout_s: float) -> dict[str, float]:
        """Returns the figures of a server without those that have labels. Raises OSError, ValueError."""
        import http.client  # noqa: PLC0415 - see probe

        connection = self._connection(self._port, timeout_s)
        try:
            connection.request("GET", METRICS_PATH)
            answer = connection.getresponse()
            text = answer.read().decode()
        except http.client.HTTPException as error:
            raise ValueError(_sentence(error)) from error
        finally:
            connection.close()
        if answer.status != HTTPStatus.OK:
            raise ValueError(f"it answered {answer.status}")
        lines = (line.split() for line in text.splitlines() if not line.startswith("#") and "{" not in line)
        return {name: float(value) for name, value in lines}

    def _connection(self, port: int, timeout_s: float) -> HTTPConnection:
        import http.client  # noqa: PLC0415 - see probe

        if self._scheme == "http":
            return http.client.HTTPConnection(self._host, port, timeout=timeout_s)
        import ssl  # noqa: PLC0415

        # The variable with which boto3 and the AWS CLI are given the server's certificate too.
        trusted = ssl.create_default_context(cafile=os.environ.get("AWS_CA_BUNDLE"))
        return http.client.HTTPSConnection(self._host, port, timeout=timeout_s, context=trusted)


def wait_until_ready(target: WaitTarget, timeout_s: float, clock: Clock) -> str:
    """Probes until the server is ready or the timeout. Returns the last reason, empty when it is ready."""
    end_ns = clock.now_ns() + int(timeout_s * 1e9)
    pause = threading.Event()
    while True:
        left_s = (end_ns - clock.now_ns()) / 1e9
        reason = target.probe(min(max(left_s, PAUSE_S), PROBE_S))
        if not reason or clock.now_ns() >= end_ns:
            return reason
        pause.wait(PAUSE_S)


def _sentence(error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "the connection was refused"
    if isinstance(error, TimeoutError):
        return "it does not answer"
    return str(error) or type(error).__name__


def _status_in(body: bytes) -> str:
    """Returns the status in the body of a health page, or an empty text."""
    import json  # noqa: PLC0415 - see probe

    try:
        document: Any = json.loads(body)
        return f"({document['status']})"
    except (ValueError, KeyError, TypeError):
        return ""
