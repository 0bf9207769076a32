"""Makes the stored database of a format: tests/formats/format-N/database.tar.xz and contents.json.

Run once, by the release that is the first to write the format, from its own checkout and with its own tests
on the path; then committed and never made again:

    PYTHONPATH=src:tests python tests/formats/make_database.py tests/formats/format-N

Format 1 was made by commit 456256d. What is stored: fixtures/check_world.py's tables, some of it in RocksDB's
tables and some only in its log, as a killed process leaves it; a half-filled index; changes captured for a
Kinesis stream that does not exist.
"""

from __future__ import annotations

import json
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from faradisc.clock import ManualClock
from faradisc.storage.immediate import run
from fixtures.check_world import START_S, fill, song
from fixtures.schemas import schema
from fixtures.stepped import Stepped

KINESIS = "arn:aws:kinesis:us-east-1:000000000000:stream/not-accepted"
LATER_ITEMS = 250
"""More than one step of filling an index."""


def make(directory: Path) -> dict[str, Any]:
    """A data directory as it is while a process still holds it; answers what it contains."""
    clock = ManualClock(START_S)
    process = Stepped(directory / "live", clock=clock)
    fill(process, clock)
    process.call("CreateTable", TableName="later", **schema("id:S"))  # here, as chance begins anew below
    process.close()
    process = Stepped(directory / "live", clock=clock, kinesis_endpoint_url="http://127.0.0.1:1")
    process.call("EnableKinesisStreamingDestination", TableName="later", StreamArn=KINESIS)
    for number in range(LATER_ITEMS):
        item = {"id": {"S": f"later {number}"}, "group": {"N": str(number % 3)}}
        process.call("PutItem", TableName="later", Item=item)
    process.call(
        "UpdateTable",
        TableName="later",
        AttributeDefinitions=[
            {"AttributeName": "id", "AttributeType": "S"},
            {"AttributeName": "group", "AttributeType": "N"},
        ],
        GlobalSecondaryIndexUpdates=[
            {
                "Create": {
                    "IndexName": "by.group",
                    "KeySchema": [{"AttributeName": "group", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            }
        ],
    )
    process.step()
    process.call("PutItem", TableName="music", Item=song(100))
    contents = {
        name: sorted(
            json.dumps(item, sort_keys=True) for item in process.call("Scan", TableName=name)["Items"]
        )
        for name in process.call("ListTables")["TableNames"]
    }
    shutil.copytree(directory / "live", directory / "data")
    run(process.store.close())
    return {"now_s": clock.now_ns() // 10**9, "tables": contents}


def main() -> None:
    target = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as place:
        contents = make(Path(place))
        data = Path(place) / "data"
        for each in ("OWNER", "rocks/LOCK"):
            (data / each).unlink()
        for log in (data / "rocks").glob("LOG*"):
            log.unlink()
        for options in (data / "rocks").glob("OPTIONS-*"):
            options.unlink()
        with tarfile.open(target / "database.tar.xz", "w:xz", preset=9) as archive:
            for each in sorted(data.rglob("*")):
                if each.is_file():
                    info = archive.gettarinfo(str(each), str(each.relative_to(data)))
                    info.uid = info.gid = info.mtime = 0
                    info.uname = info.gname = ""
                    with open(each, "rb") as file:
                        archive.addfile(info, file)
    (target / "contents.json").write_text(json.dumps(contents, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
