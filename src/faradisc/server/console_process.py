"""The console beside a server: `faradisc console` as a process of its own, which ends with the server."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

from faradisc.server.setting import SettingsError

END_S = 5.0


def check_console() -> None:
    """Raises SettingsError when the console's extra is not installed."""
    if importlib.util.find_spec("nicegui") is None:
        raise SettingsError("--console needs its extra: pip install 'faradisc[console]'.")


class ConsoleProcess:
    """A running console; it prints its own address."""

    def __init__(self, url: str, region: str, port: int, certificate: str) -> None:
        """url: the server's. certificate: what the console trusts under TLS; empty without."""
        command = [sys.executable, "-m", "faradisc", "console"]
        command += ["--url", url, "--region", region, "--port", str(port)]
        trusted = {"AWS_CA_BUNDLE": certificate} if certificate else {}
        self._process = subprocess.Popen(command, env={**os.environ, **trusted}, stdin=subprocess.DEVNULL)

    def stop(self) -> None:
        """Ends the console and waits for it."""
        self._process.terminate()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
