"""Long jobs begin on one node, run on another one, and go on when that one is gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from faradisc.engine.backups.storage import BackupStorage, NoBackupStorage, memory_backups
from faradisc.engine.exchange.locations import directories
from faradisc.errors import ApiError
from faradisc.storage.immediate import run
from fixtures.nodes import DEAD_S, SharedNodes, TestNode

SCHEMA = {
    "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
ITEMS = 2000


def runner(nodes: SharedNodes, job: str) -> TestNode:
    """Returns the node that runs a job, or the work of a job that nodes share."""
    (found,) = [node for node in nodes.nodes if job in node.jobs]
    return found


def other_than(nodes: SharedNodes, node: TestNode) -> TestNode:
    return next(each for each in nodes.nodes if each is not node)


def with_backups() -> tuple[SharedNodes, BackupStorage]:
    storage = memory_backups()
    nodes = SharedNodes()
    options: dict[str, Any] = {"backup_storage": storage}
    first = nodes.start(options=options)
    first.call("CreateTable", TableName="t", **SCHEMA)
    for number in range(ITEMS):
        first.call("PutItem", TableName="t", Item={"p": {"S": str(number)}, "v": {"S": "x" * 500}})
    nodes.start(options=options)
    nodes.pass_time(6, *nodes.nodes)
    return nodes, storage


def status(node: TestNode, arn: str) -> str:
    described = node.call("DescribeBackup", BackupArn=arn)
    found: str = described["BackupDescription"]["BackupDetails"]["BackupStatus"]
    return found


def test_a_backup_begun_on_one_node_is_written_by_another_one() -> None:
    nodes, storage = with_backups()
    holder = runner(nodes, "backups")
    node = other_than(nodes, holder)
    arn = node.call("CreateBackup", TableName="t", BackupName="b")["BackupDetails"]["BackupArn"]
    nodes.pass_time(3, *nodes.nodes)
    assert status(node, arn) == status(holder, arn) == "AVAILABLE"
    assert len(storage.names()) == 1


@pytest.mark.parametrize("dies", [False, True])
def test_a_start_leaves_the_unfinished_backup_of_another_node_and_its_death_does_not(dies: bool) -> None:
    nodes, storage = with_backups()
    holder = runner(nodes, "backups")
    arn = holder.call("CreateBackup", TableName="t", BackupName="b")["BackupDetails"]["BackupArn"]
    run(holder.database.work())
    run(holder.database.work())
    assert storage._drafts and not storage.names()  # begun, and not finished
    nodes.start(options={"backup_storage": storage})
    assert storage._drafts
    working = [node for node in nodes.nodes if not (dies and node is holder)]
    nodes.pass_time(DEAD_S + 3, *working)
    for node in working:
        assert status(node, arn) == "AVAILABLE"
    listed = working[0].call("ListBackups")["BackupSummaries"]
    assert [each["BackupStatus"] for each in listed] == ["AVAILABLE"]


def with_buckets(tmp_path: Path, records: int) -> SharedNodes:
    (tmp_path / "bucket").mkdir()
    lines = [orjson.dumps({"Item": {"p": {"S": str(number)}}}) for number in range(records)]
    (tmp_path / "bucket" / "data.json").write_bytes(b"\n".join(lines) + b"\n")
    nodes = SharedNodes()
    for _ in range(2):
        nodes.start(options={"locations": directories(tmp_path, None)})
    nodes.pass_time(6, *nodes.nodes)
    return nodes


@pytest.mark.parametrize("dies", [False, True])
def test_an_import_goes_on_on_another_node_and_imports_each_item_once(tmp_path: Path, dies: bool) -> None:
    records = 12_000
    nodes = with_buckets(tmp_path, records)
    request = {
        "S3BucketSource": {"S3Bucket": "bucket"},
        "InputFormat": "DYNAMODB_JSON",
        "TableCreationParameters": {"TableName": "i", **SCHEMA},
    }
    arn = nodes.nodes[0].call("ImportTable", **request)["ImportTableDescription"]["ImportArn"]
    nodes.clock.advance(1)
    for _ in range(5):
        for each in nodes.nodes:
            run(each.database.work())
    holder = runner(nodes, f"exports and imports: {arn}")
    node = other_than(nodes, holder)
    described = holder.call("DescribeImport", ImportArn=arn)["ImportTableDescription"]
    assert described["ImportStatus"] == "IN_PROGRESS" and 0 < described["ImportedItemCount"] < records
    working = [node] if dies else nodes.nodes
    if dies:
        holder.database.backend.exchange.close()  # its files, not what it has stored
    nodes.pass_time(DEAD_S + 4, *working)
    for each in working:
        described = each.call("DescribeImport", ImportArn=arn)["ImportTableDescription"]
        assert described["ImportStatus"] == "COMPLETED"
        assert described["ImportedItemCount"] == records
        assert each.call("Scan", TableName="i", Select="COUNT")["Count"] > 0


def test_without_a_shared_directory_backups_are_rejected_in_a_sentence() -> None:
    nodes = SharedNodes()
    node = nodes.start(options={"backup_storage": NoBackupStorage("Backups need a directory.")})
    node.call("CreateTable", TableName="t", **SCHEMA)
    with pytest.raises(ApiError, match="Backups need a directory"):
        node.call("CreateBackup", TableName="t", BackupName="b")
    assert node.call("ListBackups")["BackupSummaries"] == []


def test_without_a_shared_directory_a_deleted_table_leaves_no_backup_and_no_rows(
    caplog: pytest.LogCaptureFixture,
) -> None:
    nodes = SharedNodes()
    node = nodes.start(options={"backup_storage": NoBackupStorage("Backups need a directory.")})
    node.call("CreateTable", TableName="t", **SCHEMA)
    recovery = {"PointInTimeRecoveryEnabled": True}
    node.call("UpdateContinuousBackups", TableName="t", PointInTimeRecoverySpecification=recovery)
    node.call("PutItem", TableName="t", Item={"p": {"S": "a"}})
    table = node.database.backend.tables.at(("", "t"))
    assert table is not None
    node.call("DeleteTable", TableName="t")
    nodes.pass_time(2)
    assert node.call("ListBackups", BackupType="SYSTEM")["BackupSummaries"] == []
    for part in table.parts():
        assert run(node.database.store.range(part, None, None, limit=1)) == []
    assert "table t is deleted without a system backup: Backups need a directory." in caplog.text
