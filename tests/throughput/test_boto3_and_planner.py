"""boto3 in real time and the planner in virtual time: the same requests are admitted, the same refused.

The database runs on the machine's clock, with partitions small enough to be exhausted by a few hundred
requests. What it recorded is replayed, each request at its own nanosecond. No time is asserted: however fast
the machine is, both must decide alike.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import botocore.config
import pytest
from botocore.exceptions import ClientError

from faradisc.clock import SystemClock
from faradisc.local import LocalDatabase
from faradisc.server.tracing import TraceFile
from faradisc.tools.planner.plan_file.loading import load_plan
from faradisc.tools.planner.plan_file.plan_of_trace import with_trace
from faradisc.tools.planner.results.outcome import PlanOutcome
from faradisc.tools.planner.run import run
from faradisc.tools.traces.trace_format import Trace

ONE_ATTEMPT = botocore.config.Config(retries={"total_max_attempts": 1})
PLAN = """
partition_caps: {caps}
tables:
  Orders:
    mode: provisioned
    read: 500
    write: 500
    indexes: {{by-g: {{read: 1, write: {index_units}, projection: keys_only}}}}
"""
PROVISIONED = {"ReadCapacityUnits": 500, "WriteCapacityUnits": 500}


def create(client: Any, *, index_units: int) -> None:
    client.create_table(
        TableName="Orders",
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("p", "g")],
        ProvisionedThroughput=PROVISIONED,
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by-g",
                "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
                "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": index_units},
            }
        ],
    )


def put(client: Any, number: int, size: int, seen: Counter[str]) -> None:
    """One put; items go in and out of the index and change their size."""
    item = {"p": {"S": f"u{number % 5}"}, "d": {"S": "x" * size}}
    if number % 3:
        item["g"] = {"S": "x"}
    try:
        client.put_item(TableName="Orders", Item=item)
    except ClientError as refused:
        reasons = refused.response["ThrottlingReasons"]
        seen[f"refused: {reasons[0]['reason']}"] += 1
    else:
        seen["admitted"] += 1


@pytest.mark.parametrize(
    ("caps", "index_units", "cause"),
    [
        ("60/20", 900, "WriteKeyRangeThroughputExceeded"),  # the table's or the index's, as the time falls
        ("3000/1000", 1, "IndexWriteProvisionedThroughputExceeded"),
    ],
    ids=["a hot partition", "an index without units"],
)
def test_the_same_counts(tmp_path: Path, caps: str, index_units: int, cause: str) -> None:
    clock = SystemClock()
    file = tmp_path / "trace"
    seen: Counter[str] = Counter()
    with LocalDatabase(throughput=f"aws:{caps}", clock=clock) as database:
        client = database.client(config=ONE_ATTEMPT)
        create(client, index_units=index_units)
        trace_file = TraceFile(str(file), clock.now_ns())
        database.record(trace_file)
        for number in range(1200):
            put(client, number, 1500 if number % 4 == 0 else 100, seen)
        database.record(None)
        trace_file.close()
    assert seen["admitted"] and any(outcome.endswith(cause) for outcome in seen), seen

    text = PLAN.format(caps=caps, index_units=index_units)
    found = replayed(file, text)
    assert found.skipped is not None and found.skipped.lines == 0
    assert (found.totals.offered, found.totals.admitted) == (1200, seen["admitted"])
    assert found.totals.throttled == seen.total() - seen["admitted"]


def replayed(file: Path, text: str) -> PlanOutcome:
    trace = Trace.scan("trace", lambda: file.read_bytes().splitlines())
    plan = with_trace(load_plan(text, "plan.yaml", traced=True), trace)
    return run(plan, engine="events", trace=trace)
