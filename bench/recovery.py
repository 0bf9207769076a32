"""The time from kill -9 until a server with much data answers again, and the speed of `faradisc check`.

    python -m bench.recovery --gb 5

A server takes batches until its directory has that size, and is killed during one. Measured are the time
from the start of the next server to its first `ready`, and a check of the whole directory. Items are random
bytes, so that compression does not shrink them.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from base64 import b64encode
from pathlib import Path

FARADISC = [sys.executable, "-m", "faradisc"]
NOISE_BYTES = 3_000
CONNECTIONS = 4
HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Date": "20261120T000000Z",
    "Authorization": "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261120/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host;x-amz-date;x-amz-target, Signature=" + "0" * 64,
}
TABLE = {
    "TableName": "noise",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [
        {"AttributeName": "p", "AttributeType": "S"},
        {"AttributeName": "g", "AttributeType": "S"},
    ],
    "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by.g",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
}


def start(data: Path, port_file: Path) -> tuple[subprocess.Popen[bytes], float]:
    """Yields a server that is ready, and the seconds it took."""
    began = time.perf_counter()
    arguments = ["serve", "--port", "0", "--port-file", str(port_file), "--data-dir", str(data)]
    process = subprocess.Popen([*FARADISC, *arguments], stdout=subprocess.DEVNULL)
    while not port_file.exists():
        if process.poll() is not None:
            raise SystemExit("the server did not start")
        time.sleep(0.01)
    return process, time.perf_counter() - began


def call(connection: http.client.HTTPConnection, operation: str, request: object) -> dict[str, object]:
    headers = {**HEADERS, "X-Amz-Target": f"DynamoDB_20120810.{operation}"}
    connection.request("POST", "/", json.dumps(request), headers)
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 200:
        raise SystemExit(f"{operation} answered {answer.status}: {body[:200]!r}")
    return dict(json.loads(body))


class Writers:
    """Writes batches over connections until they are stopped or lost."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._stop = threading.Event()
        self.acknowledged = 0
        self._threads = [threading.Thread(target=self._write, args=(each,)) for each in range(CONNECTIONS)]
        for thread in self._threads:
            thread.start()

    def _write(self, number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)
        written = 0
        try:
            while not self._stop.is_set():
                puts = [
                    {
                        "PutRequest": {
                            "Item": {
                                "p": {"S": f"{number}/{written + each}"},
                                "g": {"S": f"{each}"},
                                "noise": {"B": b64encode(os.urandom(NOISE_BYTES)).decode()},
                            }
                        }
                    }
                    for each in range(25)
                ]
                call(connection, "BatchWriteItem", {"RequestItems": {"noise": puts}})
                written += 25
                self.acknowledged += 25
        except (OSError, http.client.HTTPException):
            pass  # the kill
        finally:
            connection.close()

    def end(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


def size_of(directory: Path) -> int:
    total = 0
    for each in directory.rglob("*"):
        try:
            total += each.stat().st_size
        except FileNotFoundError:
            continue  # compacted meanwhile
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--gb", type=float, default=5.0, help="size of the data directory before the kill")
    parser.add_argument("--rounds", type=int, default=3, help="kills, with some writing before each")
    parser.add_argument("--directory", type=Path, help="where to keep the data meanwhile")
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="faradisc-recovery-", dir=options.directory))
    data, port_file = home / "data", home / "port"
    try:
        process, seconds = start(data, port_file)
        port = int(port_file.read_text())
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        call(connection, "CreateTable", TABLE)
        connection.close()
        print(f"empty start: {seconds:.2f} s", flush=True)
        for number in range(options.rounds):
            grown = size_of(data) + 0.1e9
            began = time.perf_counter()
            writers = Writers(port)
            while size_of(data) < (options.gb * 1e9 if not number else grown):
                time.sleep(0.5)
            process.kill()
            writers.end()
            process.wait()
            wrote = time.perf_counter() - began
            log = sum(each.stat().st_size for each in (data / "rocks").glob("*.log"))
            port_file.unlink()
            process, seconds = start(data, port_file)
            port = int(port_file.read_text())
            size, items = size_of(data) / 1e9, writers.acknowledged
            print(
                f"killed at {size:.2f} GB after {items:,} items in {wrote:.0f} s, "
                f"{log / 1e6:.0f} MB of log: ready after {seconds:.2f} s",
                flush=True,
            )
        process.terminate()
        process.wait()
        subprocess.run([*FARADISC, "check", str(data)], check=False)
    finally:
        process.kill()
        shutil.rmtree(home)


if __name__ == "__main__":
    main()
