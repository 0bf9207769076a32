"""Accepts connections over TLS 1.2 and 1.3, and reads the certificate anew when asked to.

Handshakes are run here and not by `loop.create_server`, because one that never ends would be in none of the
counts of load.py. At most HANDSHAKES_MAX are under way; a further one aborts the oldest, which an honest
client has long completed. A `Connection` begins after its handshake.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable, Sequence

from faradisc.records import dataclass
from faradisc.server.load import Load
from faradisc.server.setting import SettingsError

HANDSHAKE_S = 10.0
"""Longest handshake."""
HANDSHAKES_MAX = 256
SHUTDOWN_S = 1.0
"""How long a closed connection waits for the client's close_notify."""
ACCEPT_PAUSE_S = 0.2
"""After an accept that failed, for example because all file descriptors are in use."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Paths of PEM files."""

    certificate: str
    """The server's, and after it those of intermediate authorities."""
    key: str
    client_authorities: str = ""
    """Clients need a certificate that one of these has issued; "" for none."""

    def context(self) -> ssl.SSLContext:
        """Raises SettingsError when a file cannot be used."""
        for path in filter(None, (self.certificate, self.key, self.client_authorities)):
            try:
                with open(path, "rb"):
                    pass
            except OSError as error:
                raise SettingsError(f"The file {path} cannot be read ({error.strerror or error}).") from error
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        made.options |= ssl.OP_NO_RENEGOTIATION
        made.set_alpn_protocols(["http/1.1"])
        try:
            # Without a password, OpenSSL would ask for that of an encrypted key on the terminal.
            made.load_cert_chain(self.certificate, self.key, password="")
        except (ssl.SSLError, ValueError) as error:
            mismatch = isinstance(error, ssl.SSLError) and error.reason == "KEY_VALUES_MISMATCH"
            reason = (
                "the key is not the certificate's" if mismatch else "they are not PEM files without password"
            )
            raise SettingsError(
                f"The certificate {self.certificate} and the key {self.key} cannot be used: {reason}."
            ) from error
        if self.client_authorities:
            made.verify_mode = ssl.CERT_REQUIRED
            try:
                made.load_verify_locations(self.client_authorities)
            except ssl.SSLError as error:
                raise SettingsError(f"The file {self.client_authorities} holds no certificate.") from error
        return made


class TlsAcceptor:
    """Accepts on the sockets of one listener."""

    def __init__(self, files: TlsFiles) -> None:
        """Raises SettingsError."""
        self._files = files
        self._context = files.context()
        self._accepting: list[asyncio.Task[None]] = []
        self._handshakes: dict[asyncio.Task[None], None] = {}
        """Those under way, oldest first."""

    def reload(self) -> None:
        """Reads the files again, for further connections; keeps what it has when they cannot be used."""
        try:
            self._context = self._files.context()
        except SettingsError as error:
            _log.error("the certificate stays as it was: %s", error)
        else:
            _log.warning("read %s again", self._files.certificate)

    def start(
        self, sockets: Sequence[socket.socket], protocol: Callable[[], asyncio.Protocol], load: Load
    ) -> None:
        """Accepts on bound sockets, in the running loop."""
        self._accepting = [asyncio.create_task(self._accept(each, protocol, load)) for each in sockets]

    def close(self) -> None:
        """Accepts nothing more, and aborts the handshakes under way."""
        for task in (*self._accepting, *self._handshakes):
            task.cancel()

    async def _accept(
        self, listening: socket.socket, protocol: Callable[[], asyncio.Protocol], load: Load
    ) -> None:
        loop = asyncio.get_running_loop()
        with listening:
            while True:
                try:
                    accepted, _ = await loop.sock_accept(listening)
                except OSError as error:
                    _log.error("no connection can be accepted: %s", error)
                    await asyncio.sleep(ACCEPT_PAUSE_S)
                    continue
                if len(self._handshakes) >= HANDSHAKES_MAX:
                    load.shed += 1
                    oldest = next(iter(self._handshakes))
                    del self._handshakes[oldest]
                    oldest.cancel()
                task = asyncio.create_task(self._shake_hands(accepted, protocol))
                self._handshakes[task] = None
                task.add_done_callback(lambda done: self._handshakes.pop(done, None))

    async def _shake_hands(self, accepted: socket.socket, protocol: Callable[[], asyncio.Protocol]) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                protocol,
                accepted,
                ssl=self._context,
                ssl_handshake_timeout=HANDSHAKE_S,
                ssl_shutdown_timeout=SHUTDOWN_S,
            )
        except OSError as error:  # SSLError and TimeoutError are such
            _log.debug("a handshake failed: %s", error)
