"""A process ends after the files of a backup are complete and before its row is.

What it proves: the next start adopts the files, for a user's backup and for that of a deleted table. Earlier
it wrote them again, failed because they existed, and abandoned the backup. Found by the simulation.
"""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from faradisc.model.codec.keyspace import BACKUPS_PART
from faradisc.storage.api import Batch
from faradisc.storage.immediate import run
from faradisc.storage.rocks import open_rocks
from fixtures.in_process import InProcess
from fixtures.schemas import item, schema


@pytest.mark.parametrize("deleted", [False, True])
def test_backup_with_complete_files_is_adopted_after_a_crash(
    bugs_surface: None, tmp_path: Path, deleted: bool
) -> None:
    process = InProcess(tmp_path / "data")
    process.call("CreateTable", TableName="table", **schema("p:S"))
    process.call(
        "UpdateContinuousBackups",
        TableName="table",
        PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True},
    )
    process.call("PutItem", TableName="table", Item=item(p="a"))
    if deleted:
        process.call("DeleteTable", TableName="table")
    else:
        process.call("CreateBackup", TableName="table", BackupName="backup")
    process.call("ListTables")  # background work is done before any request
    process.close()

    store = open_rocks(tmp_path / "data", durability="inline")
    ((key, (_, payload)),) = run(store.range(BACKUPS_PART, None, None, limit=2))
    unsaid = orjson.loads(payload) | {"status": "CREATING"}
    run(store.commit([Batch(BACKUPS_PART, puts=[(key, orjson.dumps(unsaid))])]))
    run(store.close())

    process = InProcess(tmp_path / "data")
    (listed,) = process.call("ListBackups", BackupType="ALL")["BackupSummaries"]
    assert listed["BackupStatus"] == "AVAILABLE"
    process.call("RestoreTableFromBackup", TargetTableName="again", BackupArn=listed["BackupArn"])
    assert process.call("Scan", TableName="again")["Items"] == [item(p="a")]
    process.check()
    process.close()
