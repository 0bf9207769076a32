"""The AWS SDKs for Go, Java (with the enhanced client) and Rust, unchanged, against a real server.

Also the lease classes of the Kinesis Client Library 2 (on the asynchronous client of the SDK for Java), with
which the workers of an application divide the shards of a stream among themselves, and what version 3 adds to
them: an index of the owners, the leader's lock (the DynamoDB Lock Client), the load of the workers.

Slow, and each is skipped with a reason where its tools are missing. The SDK is downloaded and built in a
folder that stays after the run (`FARADISC_TEST_CACHE`, or one beside the temporary files).
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from fixtures.projects import java_findings, printed_by, project
from fixtures.served import Server

HERE = Path(__file__).parent

pytestmark = pytest.mark.slow
needs_maven = pytest.mark.skipif(shutil.which("mvn") is None, reason="Maven is not installed")


@pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed")
def test_go_sdk_operations(server: Server) -> None:
    folder = project(HERE / "go")
    printed_by(["go", "mod", "tidy"], folder)
    printed_by(["go", "build", "-o", "tour", "."], folder)
    assert json.loads(printed_by(["./tour"], folder, ENDPOINT=server.url)) == {
        "waiter": "ACTIVE",
        "roundTrip": True,
        "batch": 1,
        "query": [4, 10],
        "scan": 21,
        "update": "1",
        "condition": ["even", "The conditional request failed"],
        "transaction": ["None", "ConditionalCheckFailed"],
        "partiql": "even",
        "records": 22,
        "tables": ["Tour.Go"],
        "deleted": True,
    }


@needs_maven
def test_java_enhanced_client_operations(server: Server) -> None:
    assert java_findings(project(HERE / "java"), ENDPOINT=server.url) == {
        "waiter": "ACTIVE",
        "roundTrip": "true",
        "query": "4,10",
        "scan": "21",
        "update": "2",
        "stale": "The conditional request failed",
        "transaction": "None,ConditionalCheckFailed",
        "partiql": "even",
        "records": "22",
        "tables": "[Tour.Java]",
        "deleted": "true",
    }


@needs_maven
def test_kinesis_client_library_leases(server: Server) -> None:
    assert java_findings(project(HERE / "kcl"), ENDPOINT=server.url) == {
        "tableBefore": "false",
        "table": "true",
        "empty": "true",
        "created": "true,false",
        "missing": "null",
        "taken": "true,false",
        "owner": "worker-1,1,0",
        "parents": "parent-a,parent-b",
        "renewed": "true,true,3",
        "renewedWithOldCounter": "false",
        "checkpointed": "true",
        "checkpoint": "true",
        "stolen": "true",
        "afterTheft": "false,false,false",
        "switches": "1",
        "evicted": "true",
        "attributes": "checkpoint,checkpointSubSequenceNumber,leaseCounter,leaseKey,"
        "ownerSwitchesSinceCheckpoint,parentShardId,pendingCheckpoint,pendingCheckpointState,pendingCheckpointSubSequenceNumber",
        "metaInfo": "[child-a],340282366920938463463374607431768211455",
        "metaInfoOfMissing": "null",
        "listAfterDelete": "0",
        "winnersOfRaces": "[1]",
        "counterAfterRaces": "25",
        "list": "shard-0,shard-1,shard-2,shard-3",
        "held": "4",
        "robbed": "1",
        "kept": "3,true",
        "checkpointByRenewer": "true",
        "shardEnd": "true",
        "checkpointOfLost": "false",
        "owners": "worker-1,worker-1,worker-1,worker-2",
        "emptyAfter": "true",
        "tableAfter": "false",
    }


@needs_maven
def test_kinesis_client_library_3_coordination(server: Server) -> None:
    assert java_findings(project(HERE / "kcl3"), ENDPOINT=server.url) == {
        "table": "true",
        "recovery": "ENABLED",
        "index": "true",
        "ofFirst": "[shard-0, shard-1]",
        "ofSecond": "4",
        "handoff": "true",
        "between": "worker-3,worker-1",
        "handoffOfOld": "false",
        "assignmentOfOld": "false",
        "handedOver": "true",
        "after": "worker-3,null",
        "ofThird": "[shard-0]",
        "segments": "shard-0,shard-1,shard-2,shard-3,shard-4,shard-5",
        "unreadable": "[]",
        "state": "true,false",
        "stateChanged": "true,false",
        "stateRead": "3",
        "heartbeat": "true",
        "locked": "LockCurrentlyUnavailableException",
        "states": "[Leader, Migration3.0]",
        "released": "true",
        "leader": "worker-2",
        "statesAfter": "1",
        "metrics": "[worker-1{C=[60.25]}{C=[80]}, worker-2{C=[12.5, 50.0]}{C=[100]}]",
        "metricsDeleted": "false,true,1",
        "tables": "[Tour.Coordination, Tour.Coordination-CoordinatorState, "
        "Tour.Coordination-WorkerMetricStats]",
        "protected": "true",
    }


@pytest.mark.skipif(shutil.which("cargo") is None, reason="Cargo is not installed")
def test_rust_sdk_operations(server: Server) -> None:
    folder = project(HERE / "rust")
    printed_by(["cargo", "build", "--quiet"], folder)
    assert json.loads(printed_by(["target/debug/tour"], folder, ENDPOINT=server.url)) == {
        "waiter": True,
        "roundTrip": True,
        "query": [4, 10],
        "scan": 21,
        "update": "1",
        "condition": ["even", "The conditional request failed"],
        "transaction": ["None", "ConditionalCheckFailed"],
        "partiql": "even",
        "tables": ["Tour.Rust"],
        "deleted": True,
    }
