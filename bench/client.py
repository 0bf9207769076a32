"""The clients: wrk for the timing, and one in asyncio that loads the data and replaces a missing wrk.

Both are closed loops: each connection sends a request when the last answer is complete, without pipelining.
wrk corrects its percentiles for co-ordinated omission, the asyncio client does not, and it takes several
times more CPU per request: compare its numbers only among themselves.

As a program (`python -m bench.client FILE PORT CONNECTIONS SECONDS`) it is the process of the second client,
so that its CPU is measured and pinned as wrk's is.
"""

import asyncio
import http.client
import itertools
import json
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httptools
import orjson

from bench.machine import REPOSITORY
from bench.requests import read_file

REPLAY_SCRIPT = Path(__file__).resolve().parent / "replay.lua"
ANSWER_S_MAX = 30
"""The longest wait for an answer; wrk counts a slower one as an error."""

LOAD_CONNECTIONS = 8


class BadAnswer(Exception):
    """An answer that is not HTTP, not 200, or not the expected one."""


@dataclass(frozen=True, slots=True)
class Timing:
    """One round as the client measured it. Latencies include failed requests that were answered."""

    operations: int
    seconds: float
    p50_ms: float
    p99_ms: float
    errors: int
    client_cpu_s: float


def has_wrk() -> bool:
    return shutil.which("wrk") is not None


def replay(path: Path, port: int, *, connections: int, seconds: int, with_wrk: bool) -> Timing:
    """Replays a request file against a server for some seconds, in another process.

    Raises RuntimeError if the client fails.
    """
    if with_wrk:
        command = ["wrk", "--threads", "1", "--connections", str(connections), "--duration", f"{seconds}s"]
        command += ["--timeout", f"{ANSWER_S_MAX}s", "--script", str(REPLAY_SCRIPT)]
        command += [f"http://127.0.0.1:{port}", "--", str(path)]
    else:
        command = [sys.executable, "-m", "bench.client", str(path), str(port), str(connections), str(seconds)]
    before = _children_cpu_s()
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            return Timing(**json.loads(line.removeprefix("RESULT ")), client_cpu_s=_children_cpu_s() - before)
    raise RuntimeError(f"{command[0]} gave no result: {done.stdout}{done.stderr}")


def ask(connection: socket.socket, request: bytes) -> tuple[int, bytes]:
    """Sends one request on a blocking socket and returns its answer.

    Raises OSError, BadAnswer.
    """
    connection.sendall(request)
    response = http.client.HTTPResponse(connection, method="POST")
    try:
        response.begin()
        return response.status, response.read()
    except http.client.HTTPException as error:
        raise BadAnswer(f"not an HTTP answer: {error!r}") from error
    finally:
        response.close()


def load(requests: Iterable[bytes], port: int) -> float:
    """Sends BatchWriteItem requests over a few connections, each once. Returns the seconds it took.

    Raises BadAnswer if one fails or leaves items unprocessed.
    """

    def check(status: int, body: bytes, _: float) -> None:
        if status != 200 or orjson.loads(body).get("UnprocessedItems"):
            raise BadAnswer(f"loading: {status} {body[:300].decode(errors='replace')}")

    began = time.perf_counter()
    asyncio.run(_drive(iter(requests), port, LOAD_CONNECTIONS, check))
    return time.perf_counter() - began


Observer = Callable[[int, bytes, float], None]
"""Called with status, body and latency in seconds; an exception ends the run."""


class _Connection(asyncio.Protocol):
    """A keep-alive connection that takes requests from a shared source until it ends."""

    def __init__(self, source: Iterator[bytes], observe: Observer) -> None:
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._source = source
        self._observe = observe
        self._body: list[bytes] = []
        self._sent_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._next()

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError as error:
            self._end(error.__context__ or error)
        except httptools.HttpParserError as error:
            self._end(BadAnswer(f"not an HTTP answer: {error}"))

    def connection_lost(self, error: Exception | None) -> None:
        self._end(error or BadAnswer("the server closed the connection"))

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        latency = time.perf_counter() - self._sent_at
        self._observe(self._parser.get_status_code(), b"".join(self._body), latency)
        self._next()

    def _next(self) -> None:
        request = next(self._source, None)
        if request is None:
            self._end(None)
            return
        self._body.clear()
        self._parser = httptools.HttpResponseParser(self)
        self._sent_at = time.perf_counter()
        self._transport.write(request)

    def _end(self, error: BaseException | None) -> None:
        if not self.done.done():
            if error is None:
                self.done.set_result(None)
            else:
                self.done.set_exception(error)
        self._transport.close()


async def _drive(source: Iterator[bytes], port: int, connections: int, observe: Observer) -> None:
    loop = asyncio.get_running_loop()
    opened = [
        await loop.create_connection(lambda: _Connection(source, observe), "127.0.0.1", port)
        for _ in range(connections)
    ]
    await asyncio.gather(*(connection.done for _, connection in opened))


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _until(deadline: float, requests: list[bytes]) -> Iterator[bytes]:
    for request in itertools.cycle(requests):
        if time.perf_counter() >= deadline:
            return
        yield request


def main(path: str, port: str, connections: str, seconds: str) -> None:
    """Replays as replay.lua does, and prints the same line."""
    requests = list(read_file(Path(path)))
    latencies: list[float] = []
    failed = 0

    def observe(status: int, _: bytes, latency: float) -> None:
        nonlocal failed
        latencies.append(latency)
        failed += status != 200

    began = time.perf_counter()
    source = _until(began + float(seconds), requests)
    try:
        asyncio.run(_drive(source, int(port), int(connections), observe))
    except (OSError, BadAnswer):
        failed += (
            1  # a lost connection is one error, and makes the row invalid; the rest does not matter then
        )
    took = time.perf_counter() - began
    cuts = statistics.quantiles(latencies, n=100) if len(latencies) > 1 else [0.0] * 99
    result = {
        "operations": len(latencies),
        "seconds": took,
        "p50_ms": cuts[49] * 1e3,
        "p99_ms": cuts[98] * 1e3,
        "errors": failed,
    }
    print("RESULT", json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
