"""Forks of a process that has opened a database in a directory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.in_process import InProcess

pytest.importorskip("fcntl", reason="processes do not fork here")

PROGRAM = """
import os, signal, sys
import faradisc.local

database = faradisc.local.LocalDatabase(sys.argv[1])
client = database.client()
client.create_table(
    TableName="things",
    KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
    AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
    BillingMode="PAY_PER_REQUEST",
)

def put(name):
    client.put_item(TableName="things", Item={"p": {"S": name}, "c": {"S": "x" * 300}})

for number in range(20):
    put(f"before {number}")
child = os.fork()
if not child:
    if sys.argv[2] == "use":
        for call in (put, lambda _: database.expire_now()):
            try:
                call("child")
            except RuntimeError as rejection:
                assert "of which this is a fork" in str(rejection), rejection
            else:
                os._exit(3)
    elif sys.argv[2] == "close":
        database.close()
    elif sys.argv[2] == "drop":
        del put, client, database
    sys.exit(0)
signal.alarm(30)
_, status = os.waitpid(child, 0)
assert status == 0, status
for number in range(20):
    put(f"after {number}")
print("done", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("child", ["use", "close", "drop", "exit"])
def test_fork_cannot_use_or_close_the_database(tmp_path: Path, child: str) -> None:
    """Writes of a child once destroyed later writes of its parent, and a child waited for ever at its end."""
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "data"), child]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.stdout, ended.returncode) == ("done\n", -9), ended.stderr
    process = InProcess(tmp_path / "data")
    process.check()
    assert process.call("Scan", TableName="things", Select="COUNT")["Count"] == 40
    process.close()
