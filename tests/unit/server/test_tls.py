"""Connections over TLS: large bodies, handshakes that fail or never end, certificates read anew, drains."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization

from faradisc.limits import MB
from faradisc.protocol.http import HttpRequest, HttpResponse
from faradisc.server import tls
from faradisc.server.setting import SettingsError
from faradisc.server.tls import TlsAcceptor, TlsFiles
from fixtures.certificates import client_files, server_files

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


class Server:
    """A running listener, its files, and clients that trust it."""

    def __init__(self, running: Any, acceptor: TlsAcceptor, certificate: Path) -> None:
        self.listener = running.listener
        self.port = running.port
        self.acceptor = acceptor
        self._running = running
        self._certificate = certificate

    def trusting(self, *client: Path) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self._certificate)
        if client:
            context.load_cert_chain(*client)
        return context

    def client(self, context: ssl.SSLContext | None = None) -> Any:
        return self._running.client(context or self.trusting())


class Echo:
    """Answers with the body, or as many bytes as the path says; records where requests come from."""

    def __init__(self) -> None:
        self.peers: list[tuple[str, bool]] = []
        self.hold: asyncio.Event | None = None

    async def __call__(self, request: HttpRequest) -> HttpResponse:
        self.peers.append((request.peer.address, request.peer.is_tls))
        if self.hold is not None:
            await self.hold.wait()
        size = request.target[1:]
        return HttpResponse(200, b"x" * int(size) if size else request.body, None, None, None)


Serving = Callable[..., AbstractAsyncContextManager[Server]]


@pytest.fixture
def serving(serve: Any, tmp_path: Path) -> Serving:
    @asynccontextmanager
    async def started(handle: Any, client_authorities: str = "") -> AsyncIterator[Server]:
        certificate, key = server_files(tmp_path / "tls")
        acceptor = TlsAcceptor(TlsFiles(str(certificate), str(key), client_authorities))
        async with serve(handle, acceptor) as running:
            yield Server(running, acceptor, certificate)

    return started


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - what it waits for has no event
        await asyncio.sleep(0.001)


def test_requests_of_one_connection_know_that_they_came_over_tls(
    run: Any, serving: Serving, tmp_path: Path
) -> None:
    async def scenario() -> None:
        echo = Echo()
        async with serving(echo) as server, server.client() as client:
            for _ in range(2):
                assert (await client.ask(GET)).status == 200
        assert echo.peers == [("127.0.0.1", True)] * 2

    run(scenario())


def test_large_bodies_and_answers(run: Any, serving: Serving, tmp_path: Path) -> None:
    async def scenario() -> None:
        body = bytes(range(256)) * (12 * MB // 256)
        async with serving(Echo()) as server, server.client() as client:
            head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
            assert (await client.ask(head + body)).body == body
            answer = await client.ask(b"GET /20000000 HTTP/1.1\r\nHost: x\r\n\r\n")
            assert len(answer.body) == 20_000_000
            assert (await client.ask(GET)).status == 200

    run(scenario())


def test_pipelined_requests_are_answered_in_order(run: Any, serving: Serving, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(Echo()) as server, server.client() as client:
            await client.send(
                b"".join(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % size for size in range(1, 100))
            )
            assert [len((await client.answer()).body) for _ in range(1, 100)] == list(range(1, 100))

    run(scenario())


def test_bad_http_is_rejected_and_the_connection_closed(run: Any, serving: Serving, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(Echo()) as server, server.client() as client:
            assert (await client.ask(b"nonsense\r\n\r\n")).status == 400
            client.writer.close()
            await until(lambda: not server.listener.shared.connections)

    run(scenario())


@pytest.mark.parametrize("sent", [GET, b"\x16\x03\x01\xff\xff garbage", b"\x00" * 5000])
def test_what_is_no_handshake_ends_the_connection_only(
    run: Any, serving: Serving, tmp_path: Path, sent: bytes
) -> None:
    async def scenario() -> None:
        async with serving(Echo()) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(sent)
            answered = b""
            with suppress(ConnectionError):  # closed with unread bytes
                answered = await reader.read()
            assert b"HTTP" not in answered
            writer.close()
            async with server.client() as client:
                assert (await client.ask(GET)).status == 200
            assert not server.acceptor._handshakes

    run(scenario())


def test_older_protocol_is_rejected(run: Any, serving: Serving, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(Echo()) as server:
            old = server.trusting()
            old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_2
            async with server.client(old) as client:
                assert (await client.ask(GET)).status == 200
                assert client.writer.get_extra_info("ssl_object").version() == "TLSv1.2"
            async with server.client() as client:
                assert client.writer.get_extra_info("ssl_object").version() == "TLSv1.3"
        assert TlsFiles(*map(str, server_files(tmp_path / "tls"))).context().minimum_version == (
            ssl.TLSVersion.TLSv1_2
        )

    run(scenario())


def test_handshake_that_never_ends_is_aborted(
    run: Any, serving: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls, "HANDSHAKE_S", 0.05)

    async def scenario() -> None:
        async with serving(Echo()) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            assert await reader.read() == b""
            await until(lambda: not server.acceptor._handshakes)
            writer.close()

    run(scenario())


def test_oldest_of_too_many_handshakes_is_aborted(
    run: Any, serving: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls, "HANDSHAKES_MAX", 3)

    async def scenario() -> None:
        async with serving(Echo()) as server:
            silent = []
            for number in range(1, 4):
                silent.append(await asyncio.open_connection("127.0.0.1", server.port))
                await until(lambda wanted=number: len(server.acceptor._handshakes) == wanted)
            async with server.client() as client:
                assert (await client.ask(GET)).status == 200
            assert await silent[0][0].read() == b""
            assert len(server.acceptor._handshakes) == 2
            assert server.listener.shared.load.shed == 1
            for _, writer in silent:
                writer.close()

    run(scenario())


def test_idle_connection_over_tls_expires(run: Any, serving: Serving, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(Echo()) as server, server.client() as client:
            assert (await client.ask(GET)).status == 200
            server.listener.shared.ticks += 1000
            for connection in server.listener.shared.connections:
                connection.expire()
            assert await client.at_end()

    run(scenario())


def test_reload_changes_the_certificate_of_further_connections(
    run: Any, serving: Serving, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with serving(Echo()) as server:
            before = server.trusting()
            async with server.client(before) as earlier:
                server_files(tmp_path / "tls", "db.example")
                server.acceptor.reload()
                with pytest.raises(ssl.SSLCertVerificationError):
                    async with server.client(before):
                        pass
                async with server.client() as later:
                    assert (await later.ask(GET)).status == 200
                assert (await earlier.ask(GET)).status == 200

    run(scenario())


def test_files_that_cannot_be_used_leave_the_certificate(run: Any, serving: Serving, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(Echo()) as server:
            trusting = server.trusting()
            (tmp_path / "tls" / "key.pem").write_text("damaged")
            server.acceptor.reload()
            async with server.client(trusting) as client:
                assert (await client.ask(GET)).status == 200

    run(scenario())


def test_client_certificate_is_required_and_its_authority_can_change(
    run: Any, serving: Serving, tmp_path: Path
) -> None:
    authority, *alice = client_files(tmp_path, "alice")
    other, *mallory = client_files(tmp_path, "mallory")

    async def rejected(server: Server, *files: Path) -> bool:
        try:
            async with server.client(server.trusting(*files)) as client:
                await client.ask(GET)
        except (OSError, asyncio.IncompleteReadError):
            return True
        return False

    async def scenario() -> None:
        echo = Echo()
        async with serving(echo, str(authority)) as server:
            async with server.client(server.trusting(*alice)) as client:
                assert (await client.ask(GET)).status == 200
            assert await rejected(server)
            assert await rejected(server, *mallory)
            authority.write_bytes(other.read_bytes())
            server.acceptor.reload()
            assert await rejected(server, *alice)
            assert not await rejected(server, *mallory)
            assert len(echo.peers) == 2

    run(scenario())


def test_drain_answers_the_running_request_and_aborts_handshakes(
    run: Any, serving: Serving, tmp_path: Path
) -> None:
    async def scenario() -> None:
        echo = Echo()
        echo.hold = asyncio.Event()
        async with serving(echo) as server, server.client() as client:
            await client.send(GET)
            await until(lambda: bool(echo.peers))
            silent, writer = await asyncio.open_connection("127.0.0.1", server.port)
            await until(lambda: len(server.acceptor._handshakes) == 1)
            draining = asyncio.create_task(server.listener.drain(10.0))
            assert await silent.read() == b""
            echo.hold.set()
            assert (await client.answer()).status == 200
            assert await client.at_end()
            client.writer.close()
            await draining
            writer.close()
            with pytest.raises(OSError):
                await asyncio.open_connection("127.0.0.1", server.port)

    run(scenario())


def test_client_that_ends_its_direction_during_a_request_is_no_error(
    run: Any, serving: Serving, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        echo = Echo()
        echo.hold = asyncio.Event()
        async with serving(echo) as server:
            async with server.client() as client:
                await client.send(GET)
                await until(lambda: bool(echo.peers))
            await until(lambda: not server.listener.shared.connections)
            echo.hold.set()
            await until(lambda: not server.listener.shared.waiting)

    run(scenario())
    assert not caplog.records


def test_files_that_are_no_pair_are_explained(tmp_path: Path) -> None:
    certificate, key = map(str, server_files(tmp_path / "a"))
    _, other = map(str, server_files(tmp_path / "b"))
    (tmp_path / "text").write_text("text")
    loaded = serialization.load_pem_private_key(Path(key).read_bytes(), None)
    (tmp_path / "encrypted").write_bytes(
        loaded.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"open sesame"),
        )
    )
    text = str(tmp_path / "text")
    for files, sentence in (
        ((certificate, other), "the key is not the certificate's"),
        ((certificate, text), "they are not PEM files without password"),
        ((certificate, str(tmp_path / "encrypted")), "they are not PEM files without password"),
        ((text, key), "they are not PEM files without password"),
        ((certificate, key, text), "holds no certificate"),
        ((certificate, str(tmp_path / "none")), r"none cannot be read \(No such file"),
    ):
        with pytest.raises(SettingsError, match=sentence):
            TlsFiles(*files).context()
