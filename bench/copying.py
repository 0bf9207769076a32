"""What the continuous copy costs, and how fast it is restored and followed: `python -m bench.copying`.

    share      CPU time of a server per PutItem, without and with `--copy-to`: two servers take turns, and the
               time that the copy works between the turns counts
    restore    MB of rows per second of CPU time, of a snapshot and of commits
    standby    changes per second of CPU time that a standby applies, with their verification

CPU time, because the wall clock measures the disk and whatever else runs on the machine.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import orjson

from bench.recovery import FARADISC, HEADERS
from faradisc.clock import SystemClock, SystemEntropy
from faradisc.engine.copying.copier import Copier
from faradisc.engine.copying.following import Follower
from faradisc.engine.copying.place import open_place
from faradisc.engine.copying.restoring import restore
from faradisc.engine.copying.snapshots import SNAPSHOT_BYTES_MIN
from faradisc.storage.api import Batch
from faradisc.storage.immediate import run
from faradisc.storage.rocks import open_rocks
from faradisc.storage.rocks_following import open_following

CONNECTIONS = 16
PART = b"\x00\x00\x00\x07\x00"
VALUE_BYTES = 400
MB = 1_000_000
SETTLE_S = 1.5
"""Longer than the lag of a copy."""


class CopyTurns:
    """One server, to which requests are sent in turns."""

    def __init__(self, stack: ExitStack, directory: Path, *options: str) -> None:
        """stack: ends it."""
        port_file = directory / "port"
        arguments = [
            "serve",
            "--port",
            "0",
            "--port-file",
            str(port_file),
            "--data-dir",
            str(directory / "data"),
        ]
        self.process = subprocess.Popen([*FARADISC, *arguments, *options], stdout=subprocess.DEVNULL)
        stack.callback(self.close)
        while not port_file.exists():
            if self.process.poll() is not None:
                raise SystemExit("the server did not start")
            time.sleep(0.05)
        address = "127.0.0.1", int(port_file.read_text())
        self.sockets = [socket.create_connection(address) for _ in range(CONNECTIONS)]
        self.number = 0
        key = {"AttributeName": "p"}
        self.send(
            "CreateTable",
            {
                "TableName": "turns",
                "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{**key, "AttributeType": "S"}],
                "KeySchema": [{**key, "KeyType": "HASH"}],
            },
            self.sockets[:1],
        )

    def send(self, operation: str, request: dict[str, object], sockets: list[socket.socket]) -> None:
        """Sends a request over each of the connections, and reads the answers."""
        body = orjson.dumps(request)
        lines = {**HEADERS, "Host": "localhost", "X-Amz-Target": f"DynamoDB_20120810.{operation}"}
        head = "".join(f"{name}: {text}\r\n" for name, text in lines.items())
        message = f"POST / HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        for each in sockets:
            each.sendall(message)
        for each in sockets:
            answer = each.recv(65536)
            if not answer.startswith(b"HTTP/1.1 200"):
                raise SystemExit(answer.decode())

    def turn(self, puts: int) -> None:
        for _ in range(puts // CONNECTIONS):
            self.number += 1
            item = {"p": {"S": str(self.number)}, "v": {"S": "x" * VALUE_BYTES}}
            self.send("PutItem", {"TableName": "turns", "Item": item}, self.sockets)

    def cpu_s(self) -> float:
        """Returns the CPU time of all its threads. Source: schedstat in proc(5)."""
        tasks = Path(f"/proc/{self.process.pid}/task")
        return sum(int((each / "schedstat").read_text().split()[0]) for each in tasks.iterdir()) / 1e9

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


def share(root: Path, turns: int, puts: int) -> None:
    for name in ("plain", "copied"):
        (root / name).mkdir()
    with ExitStack() as stack:
        both = [CopyTurns(stack, root / "plain")]
        both.append(CopyTurns(stack, root / "copied", "--copy-to", str(root / "place")))
        for each in both:
            each.turn(puts)
        time.sleep(2 * SETTLE_S)  # the first snapshot
        begun = [each.cpu_s() for each in both]
        for number in range(turns):
            for each in both[:: 1 if number % 2 else -1]:
                each.turn(puts)
        time.sleep(SETTLE_S)
        used = [each.cpu_s() - before for each, before in zip(both, begun, strict=True)]
    one, other = (1e6 * each / turns / puts for each in used)
    print(f"| PutItem without a copy, us of CPU | {one:.0f} |")
    print(f"| PutItem with an asynchronous copy, us of CPU | {other:.0f} ({other / one - 1:+.1%}) |")


@contextmanager
def measured(what: str, amount: float, unit: str) -> Iterator[None]:
    began = time.process_time()
    yield
    print(f"| {what} | {amount / (time.process_time() - began):,.0f} {unit} |")


def speed(root: Path, rows: int) -> None:
    """A third of the rows is in a snapshot, the rest in commits of one row after it."""
    if rows * VALUE_BYTES >= SNAPSHOT_BYTES_MIN:
        raise SystemExit("so many rows would have a second snapshot")
    place = open_place(str(root / "place2"))
    store = open_rocks(root / "source", durability="inline", keep_log=True)
    copier = Copier(place, root / "source", store, SystemClock(), SystemEntropy(), lease_s=10.0)
    row_bytes = VALUE_BYTES + 30
    for number in range(rows):
        if number == rows // 3:
            run(store.flush())
            copier.begin()
            while not copier.status().snapshot_ns:
                copier.step()
            with measured("restore of a snapshot", number * row_bytes / MB, "MB/s of CPU"):
                restore(place, root / "follower")
        value = os.urandom(VALUE_BYTES // 2) + bytes(VALUE_BYTES // 2)
        run(store.commit([Batch(PART, puts=[(b"%012d" % number, value)])], durable=False))
    run(store.commit([Batch(PART, puts=[(b"last", b"")])]))
    while not copier.ship():
        pass
    copier.release()
    run(store.close())
    with measured("restore of it and of commits", rows * row_bytes / MB, "MB/s of CPU"):
        restore(place, root / "whole")
    following = open_following(root / "follower")
    follower = Follower(place, root / "follower", following, SystemClock())
    with measured("standby", rows - rows // 3, "commits/s of CPU"):
        while fetched := follower.fetch():
            follower.apply(fetched)
    if follower.store.synced_sequence != copier.source.synced_sequence:
        raise SystemExit("the standby has not applied everything")
    run(following.close())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=10, help="of each server (10)")
    parser.add_argument("--puts", type=int, default=1600, help="PutItems of a turn (1600)")
    parser.add_argument(
        "--rows", type=int, default=100_000, help="of 400 bytes, restored and followed (100000)"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="faradisc-bench-") as name:
        print("| What | Figure |\n|---|---|")
        share(Path(name), options.turns, options.puts)
        speed(Path(name), options.rows)


if __name__ == "__main__":
    main()
