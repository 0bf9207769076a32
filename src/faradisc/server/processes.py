"""`faradisc serve --processes N`: servers over one store, one for each core, on one port.

The parent holds the port with a socket that it does not listen on, and starts the servers, which listen on it
with SO_REUSEPORT: the system gives each connection to one of them. It restarts a server that dies, passes
signals on, and ends when all have ended. A server whose parent was killed ends too: its standard input does.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from dataclasses import asdict, replace
from typing import TextIO

from faradisc.server.addresses import bind, resolve
from faradisc.server.setting import SettingsError
from faradisc.server.settings import SETTINGS_VARIABLE, ServerSettings

PAUSES_S = (0.2, 10.0)
"""Before a server is started again: the first time and, doubled after each early death, the longest."""
CALM_S = 30.0
"""A server that lived so long starts again after the first pause."""


class _ChildFailed(Exception):
    """A server did not start. It has said why."""

    def __init__(self, code: int) -> None:
        super().__init__(f"a server has ended with {code}")
        self.code = code


def serve_processes(settings: ServerSettings, *, out: TextIO = sys.stdout) -> int:
    """Runs `settings.processes` servers until SIGTERM or SIGINT. Returns 0, or the code of one that did not
    start at first and has said why. Raises SettingsError, AddressError."""
    if not hasattr(socket, "SO_REUSEPORT"):
        raise SettingsError("--processes needs a system with SO_REUSEPORT: Linux, macOS or BSD.")
    addresses = resolve(settings.host)
    for each in bind(settings.host, addresses, settings.port):  # finds out whether others use it
        port = each.getsockname()[1]
        each.close()
    held = bind(settings.host, addresses, port, shared=True)
    try:
        asyncio.run(_Parent(replace(settings, port=port), out).run())
    except _ChildFailed as error:
        return error.code
    finally:
        for each in held:
            each.close()
    return 0


class _Parent:
    def __init__(self, settings: ServerSettings, out: TextIO) -> None:
        self._settings = settings
        self._out = out
        self._running: dict[int, asyncio.subprocess.Process] = {}
        self._ending = asyncio.Event()
        self._banner = ""

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(each, self._pass, each)
        numbers = range(self._settings.processes)
        try:
            # One first: it creates what is missing, and a mistake is reported once.
            await self._start(0)
            await asyncio.gather(*(self._start(number) for number in numbers[1:]))
            self._out.write(self._banner)
            self._out.flush()
            await asyncio.gather(*(self._keep(number) for number in numbers))
        except _ChildFailed:
            if not self._ending.is_set():
                raise
        finally:
            self._pass(signal.SIGTERM)
            await asyncio.gather(*(each.wait() for each in self._running.values()))

    def _pass(self, sign: signal.Signals) -> None:
        if sign != signal.SIGHUP:
            self._ending.set()
        for each in self._running.values():
            if each.returncode is None:
                each.send_signal(signal.SIGTERM if sign == signal.SIGINT else sign)

    async def _start(self, number: int) -> None:
        """Starts a server, and waits until it is ready. Raises _ChildFailed."""
        child = (
            self._settings if number == 0 else replace(self._settings, port_file="", seed="", console=False)
        )
        process = self._running[number] = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "faradisc", "serve"),
            env={**os.environ, SETTINGS_VARIABLE: json.dumps(asdict(child))},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the parent, which passes it on
        )
        if self._ending.is_set():
            process.terminate()
        assert process.stdout is not None
        banner = await process.stdout.read()  # a server closes its output when it is ready
        if not banner:
            raise _ChildFailed(await process.wait())
        self._banner = banner.decode()

    async def _keep(self, number: int) -> None:
        """Starts a server again when it has died, until all are to end."""
        loop = asyncio.get_running_loop()
        pause_s = PAUSES_S[0]
        while True:
            started_s = loop.time()
            code = await self._running[number].wait()
            if self._ending.is_set():
                return
            pause_s = PAUSES_S[0] if loop.time() - started_s > CALM_S else min(2 * pause_s, PAUSES_S[1])
            print(f"faradisc: server {number} has ended with {code} and is started again", file=sys.stderr)
            await asyncio.sleep(pause_s)
            try:
                await self._start(number)
            except _ChildFailed:
                continue
