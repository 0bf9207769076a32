"""The memory of a real server over 200 bodies of 15 MB, one after the other, rejected and accepted."""

from __future__ import annotations

import gzip
import http.client
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import gmtime, strftime
from urllib.parse import urlsplit

import pytest

from fixtures.served import Server

BODIES = 200
WARM = 20
GROWTH_KB_MAX = 64 * 1024
SIZE = 15_000_000


def filled() -> bytes:
    return b'{"filler":"' + b"x" * SIZE + b'"}'


def packed() -> bytes:
    return gzip.compress(b"".join(b"%d," % number for number in range(2_100_000)), compresslevel=1)


KINDS: dict[str, tuple[str, str, Callable[[], bytes]]] = {
    "accepted": ("application/x-amz-json-1.0", "ListTables", filled),
    "rejected": ("application/x-amz-json-1.0", "Scan", filled),
    "no JSON": ("application/x-amz-json-1.0", "Scan", lambda: filled()[:-1]),
    "compressed": ("application/x-amz-json-1.0", "Scan", packed),
    "CBOR": ("application/cbor", "", lambda: b"\x7a" + SIZE.to_bytes(4, "big") + b"x" * SIZE),
    "a form": ("application/x-www-form-urlencoded", "", lambda: b"Version=2010-08-01&x=" + b"x" * SIZE),
}
"""Type, operation and how to make the body, of each kind."""


def _resident_kb(pid: int) -> int:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1])


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="/proc says how much memory there is")
@pytest.mark.parametrize("auth", ["lenient", "strict"])
@pytest.mark.parametrize("kind", KINDS)
def test_memory_stays_flat(kind: str, auth: str, tmp_path: Path) -> None:
    options = ["--memory"]
    if auth == "strict":
        keys = ["--credentials-file", str(tmp_path / "keys")]
        subprocess.run([sys.executable, "-m", "faradisc", "credentials", "add", *keys], check=True)
        options += ["--auth", "strict", *keys]
    content_type, operation, make = KINDS[kind]
    body = make()
    moment = strftime("%Y%m%dT%H%M%SZ", gmtime())
    headers = {
        "Content-Type": content_type,
        "X-Amz-Date": moment,
        "Authorization": f"AWS4-HMAC-SHA256 Credential=AKIAX/{moment[:8]}/us-east-1/dynamodb/aws4_request, "
        f"SignedHeaders=host;x-amz-date;x-amz-target, Signature={'0' * 64}",
    }
    if operation:
        headers["X-Amz-Target"] = f"DynamoDB_20120810.{operation}"
    if kind == "compressed":
        headers["Content-Encoding"] = "gzip"
    path = "/service/GraniteServiceVersion20100801/operation/PutMetricData" if kind == "CBOR" else "/"
    server = Server(*options)
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=60)
    try:
        warm = 0
        for sent in range(BODIES):
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            answer.read()
            expected = kind == "accepted" and auth == "lenient"
            assert (answer.status == 200) == expected
            if sent == WARM:
                warm = _resident_kb(server.pid)
        assert _resident_kb(server.pid) < warm + GROWTH_KB_MAX
    finally:
        connection.close()
        server.stop()
