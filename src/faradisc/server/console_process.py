"""The console beside a server: `faradisc console` as a process of its own, which ends with the server."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

from faradisc.addresses import completed
from faradisc.server.setting import SettingsError

END_S = 5.0


def check_console() -> None:
    """Raises SettingsError when the console's extra is not installed."""
    if importlib.util.find_spec("nicegui") is None:
        raise SettingsError("--console needs its extra: pip install 'faradisc[console]'.")


class ConsoleProcess:
    """A running console; it prints its own address."""

    def __init__(self, url: str, region: str, port: int, *, certificate: str, s3_endpoint: str) -> None:
        """url: the server's. certificate: what the console trusts under TLS; empty without. s3_endpoint:
        where the exports of the server are, for downloads; empty without."""
        command = [sys.executable, "-m", "faradisc", "console"]
        command += ["--url", url, "--region", region, "--port", str(port)]
        environment = dict(os.environ)
        if certificate:
            environment["AWS_CA_BUNDLE"] = certificate
        if s3_endpoint:
            amazons = f"https://s3.{region}.amazonaws.com"
            address = amazons if s3_endpoint == "aws" else completed(s3_endpoint)
            environment.setdefault("AWS_ENDPOINT_URL_S3", address)
        self._process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)

    def stop(self) -> None:
        """Ends the console and waits for it."""
        self._process.terminate()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
