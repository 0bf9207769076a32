"""An export of a table whose master key was disabled meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.encrypted import Keys
from fixtures.in_process import InProcess
from fixtures.schemas import item, schema


def test_export_under_a_disabled_key_fails_in_a_sentence(
    open_encrypted: Callable[..., InProcess], keys: Keys, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bucket = tmp_path / "s3" / "bucket"
    bucket.mkdir(parents=True)
    process = open_encrypted(s3_root=str(bucket.parent))
    dynamodb = process.client()
    dynamodb.create_table(
        TableName="tab",
        **schema("p:S"),
        SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": keys.first},
    )
    on = {"PointInTimeRecoveryEnabled": True}
    dynamodb.update_continuous_backups(TableName="tab", PointInTimeRecoverySpecification=on)
    dynamodb.put_item(TableName="tab", Item=item(p="a"))
    table = dynamodb.describe_table(TableName="tab")["Table"]["TableArn"]
    asked = dynamodb.export_table_to_point_in_time(TableArn=table, S3Bucket=bucket.name)
    keys.disable(keys.first)
    process = open_encrypted(s3_root=str(bucket.parent))
    for _ in range(100):
        process.run(process.database.work())
    ended = process.client().describe_export(ExportArn=asked["ExportDescription"]["ExportArn"])
    described = ended["ExportDescription"]
    assert described["ExportStatus"] == "FAILED"
    assert "key" in described["FailureMessage"]
    assert "internal error" not in described["FailureMessage"]
    assert not any(record.exc_info for record in caplog.records)
