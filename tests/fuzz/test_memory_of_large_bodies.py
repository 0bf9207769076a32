"""The memory of a real server over 200 bodies of 15 MB, one after the other, rejected and accepted."""

from __future__ import annotations

import gzip
import http.client
import re
import subprocess
import sys
from pathlib import Path
from time import gmtime, strftime
from urllib.parse import urlsplit

import pytest

from fixtures.served import Server

BODIES = 200
WARM = 20
GROWTH_KB_MAX = 64 * 1024
BODY = b'{"filler":"' + b"x" * 15_000_000 + b'"}'
PACKED = gzip.compress(b"".join(b"%d," % number for number in range(2_100_000)), compresslevel=1)
KINDS = {
    "accepted": ("application/x-amz-json-1.0", "ListTables", BODY),
    "rejected": ("application/x-amz-json-1.0", "Scan", BODY),
    "no JSON": ("application/x-amz-json-1.0", "Scan", BODY[:-1]),
    "compressed": ("application/x-amz-json-1.0", "Scan", PACKED),
    "CBOR": ("application/cbor", "", b"\x7a" + (15_000_000).to_bytes(4, "big") + b"x" * 15_000_000),
    "a form": ("application/x-www-form-urlencoded", "", b"Version=2010-08-01&x=" + b"x" * 15_000_000),
}


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
    content_type, operation, body = KINDS[kind]
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
