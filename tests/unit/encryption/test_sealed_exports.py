"""Exports of encrypted tables into directories: sealed, and read by imports and `faradisc keys open`."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from faradisc.cli.main import cli
from faradisc.clock import SeededEntropy
from faradisc.engine.exchange.sealed_objects import MAGIC, PIECE_BYTES, SealedWriter, opened
from faradisc.engine.formats.compression import InputDamaged
from faradisc.engine.sealing.sealers import Sealers
from faradisc.engine.sealing.state import SealState
from faradisc.storage.immediate import run
from fixtures.encrypted import SECRET, Keys
from fixtures.in_process import InProcess
from fixtures.schemas import item, schema

Open = Callable[..., InProcess]


def exported(process: InProcess, bucket: Path, arn: str, **request: Any) -> Path:
    """The data file of the export of an encrypted table; what is exported has the secret."""
    dynamodb = process.client()
    dynamodb.create_table(
        TableName="table",
        **schema("p:S"),
        SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": arn},
    )
    dynamodb.update_continuous_backups(
        TableName="table", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )
    dynamodb.put_item(TableName="table", Item=item(p="a", v=SECRET))
    bucket.mkdir(parents=True)
    table = dynamodb.describe_table(TableName="table")["Table"]["TableArn"]
    dynamodb.export_table_to_point_in_time(TableArn=table, S3Bucket=bucket.name, **request)
    dynamodb.list_tables()
    return max(bucket.rglob("*.json.gz"), key=lambda file: file.stat().st_size)


def import_of(process: InProcess, bucket: Path) -> dict[str, Any]:
    dynamodb = process.client()
    started = dynamodb.import_table(
        S3BucketSource={"S3Bucket": bucket.name, "S3KeyPrefix": "AWSDynamoDB"},
        InputFormat="DYNAMODB_JSON",
        InputCompressionType="GZIP",
        TableCreationParameters={"TableName": "imported", **schema("p:S")},
    )
    dynamodb.list_tables()
    arn = started["ImportTableDescription"]["ImportArn"]
    described: dict[str, Any] = dynamodb.describe_import(ImportArn=arn)["ImportTableDescription"]
    return described


def test_export_is_sealed_and_imported(open_encrypted: Open, keys: Keys, tmp_path: Path) -> None:
    bucket = tmp_path / "buckets" / "bucket"
    process = open_encrypted(s3_root=bucket.parent)
    file = exported(process, bucket, keys.first)
    assert file.read_bytes().startswith(MAGIC)
    found = import_of(process, bucket)
    assert (found["ImportStatus"], found["ImportedItemCount"]) == ("COMPLETED", 1)
    assert process.client().scan(TableName="imported")["Items"] == [item(p="a", v=SECRET)]


def test_import_without_the_key_fails_and_leaves_no_table(
    open_encrypted: Open, keys: Keys, tmp_path: Path
) -> None:
    bucket = tmp_path / "buckets" / "bucket"
    process = open_encrypted(s3_root=bucket.parent)
    exported(process, bucket, keys.first)
    keys.delete(keys.first)
    found = import_of(process, bucket)
    assert found["ImportStatus"] == "FAILED"
    assert "refers to a customer master key that does not exist" in found["FailureMessage"]


def test_export_with_the_buckets_own_encryption_is_left_to_the_bucket(
    open_encrypted: Open, keys: Keys, tmp_path: Path
) -> None:
    bucket = tmp_path / "buckets" / "bucket"
    file = exported(open_encrypted(s3_root=bucket.parent), bucket, keys.first, S3SseAlgorithm="AES256")
    assert SECRET in gzip.decompress(file.read_bytes()).decode()


def test_command_opens_a_sealed_file_with_its_key(
    open_encrypted: Open, keys: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = tmp_path / "buckets" / "bucket"
    file = exported(open_encrypted(s3_root=bucket.parent), bucket, keys.first)
    monkeypatch.setenv("FARADISC_KEYS", str(keys.path))
    result = CliRunner().invoke(cli, ["keys", "open", str(file)])
    assert result.exit_code == 0
    assert SECRET in gzip.decompress(result.stdout_bytes).decode()
    keys.disable(keys.first)
    result = CliRunner().invoke(cli, ["keys", "open", str(file)])
    assert (result.exit_code, SECRET in result.output) == (1, False)
    assert "is disabled" in result.output


def sealed(content: bytes, sealers: Sealers) -> bytes:
    sealers.know("wrapped", bytes(32))
    sealer = sealers.attach("owner", SealState("arn", {}, ["wrapped"]), ())
    file = io.BytesIO()
    writer = SealedWriter(file, sealer, "name")
    for at in range(0, len(content), 1000):
        writer.write(content[at : at + 1000])
    writer.finish()
    return file.getvalue()


@pytest.fixture
def sealers() -> Sealers:
    made = Sealers(entropy=SeededEntropy(1))
    made.unwrap = unwrapped
    return made


async def unwrapped(sealer: Any) -> None:
    sealer.unwrapped({"wrapped": bytes(32)}, 0)


@pytest.mark.parametrize("size", [0, 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES + 5])
def test_content_of_any_size_comes_back(sealers: Sealers, size: int) -> None:
    content = bytes(range(256)) * (size // 256 + 1)
    assert run(opened(io.BytesIO(sealed(content[:size], sealers)), sealers)).read() == content[:size]


def test_plain_object_is_read_as_it_is(sealers: Sealers) -> None:
    assert run(opened(io.BytesIO(b"plain"), sealers)).read() == b"plain"


def test_object_that_was_cut_changed_or_reordered_is_damaged(sealers: Sealers) -> None:
    whole = sealed(bytes(3 * PIECE_BYTES), sealers)
    piece = 4 + PIECE_BYTES + 32
    begin = len(whole) - 3 * piece
    first, second, third = (whole[begin + at * piece :][:piece] for at in range(3))
    for wrong in (
        whole[: begin + piece],
        whole[:-1],
        whole[:-1] + bytes([whole[-1] ^ 1]),
        whole[:begin] + second + first + third,
        MAGIC + b"\x00\x00\x00\x02{}",
        MAGIC,
    ):
        with pytest.raises(InputDamaged):
            run(opened(io.BytesIO(wrong), sealers)).read()
