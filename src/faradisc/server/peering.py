"""The way to the servers of other regions: signed requests to their administration, on other threads."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

import orjson

from faradisc.engine.jobs.threads import WaitingThreads
from faradisc.engine.replication.peers import PeerClient, PeerUnusable
from faradisc.errors import Unreachable
from faradisc.server.setting import SettingsError
from faradisc.tools.transfer.endpoints import Remote

TIMEOUT_S = 10.0
"""Of a connection and of each read."""
CLOSE_S = 1.0
PATH = "/_faradisc/peers"
_THREADS = 2
"""One for the background job, and one for a request that adds a replica."""


class PeerServer:
    """A PeerClient with the environment's credentials, or made-up ones without them."""

    def __init__(self, region: str, url: str) -> None:
        """Raises Unreachable when the credentials cannot be used."""
        self.region = region
        self.url = url
        self.received_bytes = 0
        self._remote = Remote(url, region, threads=_THREADS, local=True, timeout_s=TIMEOUT_S)
        self._threads = WaitingThreads("faradisc-peer", _THREADS)

    def ask(self, question: Mapping[str, Any]) -> Future[dict[str, Any]]:
        return self._threads.run(lambda: self._ask(question))

    def _ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        try:
            status, body = self._remote.page("POST", PATH, orjson.dumps(question))
        except Unreachable as error:
            raise PeerUnusable(f"The server of {self.region}: {error}.") from error
        self.received_bytes += len(body)
        try:
            answer = orjson.loads(body)
        except orjson.JSONDecodeError:
            answer = None
        if status == 200 and isinstance(answer, dict):
            return answer
        said = answer.get("error") if isinstance(answer, dict) else None
        if status == 404:
            said = "it is an older version, or its administration is off (--admin on)"
        raise PeerUnusable(
            f"The server of {self.region}, {self.url}, answers {status}: {said or 'no reason'}"
        )

    def close(self) -> None:
        if self._threads.close(CLOSE_S):
            self._remote.close()


def peer_clients(addresses: Mapping[str, str]) -> dict[str, PeerClient]:
    """Returns the clients by region. Raises SettingsError."""
    try:
        return {region: PeerServer(region, url) for region, url in addresses.items()}
    except Unreachable as error:
        raise SettingsError(str(error)) from error
