"""Damaged backups and full disks: found before anything is visible, and named in the error."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from faradisc.engine.backups import restoring, verification, writing
from faradisc.engine.backups.files import manifest_bytes
from faradisc.engine.backups.storage import BackupStorage, BackupStorageError
from faradisc.engine.jobs import runner
from faradisc.engine.objects.api import DRAFT_PREFIX
from fixtures.exchanging import recoverable
from fixtures.restored import listed, rows
from fixtures.schemas import invalid, item, refused, schema
from fixtures.stepped import Stepped


@pytest.fixture
def process(data_dir: Path, bugs_surface: None) -> Any:
    made = Stepped(data_dir)
    dynamodb = made.client()
    dynamodb.create_table(TableName="source", **schema("p:S"))
    for first in range(0, 300, 25):
        items = [item(p=f"p{at}", x=random.Random(at).randbytes(500)) for at in range(first, first + 25)]
        puts = [{"PutRequest": {"Item": each}} for each in items]
        dynamodb.batch_write_item(RequestItems={"source": puts})
    yield made
    if not made.local.closed:
        made.finish()
        made.check()
        made.close()


def files_of(process: Stepped, arn: str) -> dict[str, Path]:
    assert process.local.path is not None
    directory = process.local.path / "backups" / arn.rpartition("/")[2]
    return {each.name: each for each in directory.iterdir()}


def make(process: Stepped) -> tuple[Any, str]:
    dynamodb = process.client()
    arn = dynamodb.create_backup(TableName="source", BackupName="backup")["BackupDetails"]["BackupArn"]
    process.finish()
    return dynamodb, arn


def check_refused(process: Stepped, dynamodb: Any, arn: str) -> None:
    with invalid() as caught:
        dynamodb.restore_table_from_backup(TargetTableName="target", BackupArn=arn)
    assert f"Backup {arn} is damaged: " in str(caught.value)
    assert dynamodb.list_tables()["TableNames"] == ["source"]
    assert not process.step()


def test_a_backup_has_two_files(process: Stepped) -> None:
    _, arn = make(process)
    assert set(files_of(process, arn)) == {"rows", "manifest.json"}


@pytest.mark.parametrize("name", ["rows", "manifest.json"])
@pytest.mark.parametrize("seed", range(3))
def test_flipped_bit_of_any_file_is_found(process: Stepped, name: str, seed: int) -> None:
    dynamodb, arn = make(process)
    file = files_of(process, arn)[name]
    good = file.read_bytes()
    rng = random.Random(seed)
    for bit in (0, len(good) * 8 - 1, *rng.sample(range(len(good) * 8), 15)):
        damaged = bytearray(good)
        damaged[bit // 8] ^= 1 << bit % 8
        file.write_bytes(damaged)
        check_refused(process, dynamodb, arn)
    file.write_bytes(good)
    dynamodb.restore_table_from_backup(TargetTableName="target", BackupArn=arn)
    process.finish()
    assert rows(dynamodb, "target") == rows(dynamodb, "source")


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file.write_bytes(file.read_bytes()[:-1]),
        lambda file: file.write_bytes(file.read_bytes() + b"\0"),
        lambda file: file.write_bytes(b""),
        lambda file: file.unlink(),
    ],
)
@pytest.mark.parametrize("name", ["rows", "manifest.json"])
def test_truncated_extended_and_missing_files_are_found(
    process: Stepped, name: str, change: Callable[[Path], None]
) -> None:
    dynamodb, arn = make(process)
    change(files_of(process, arn)[name])
    check_refused(process, dynamodb, arn)
    dynamodb.delete_backup(BackupArn=arn)


def test_files_of_another_backup_are_found(process: Stepped) -> None:
    dynamodb, arn = make(process)
    _, other = make(process)
    for name, file in files_of(process, other).items():
        shutil.copy(file, files_of(process, arn)[name])
    check_refused(process, dynamodb, arn)


def test_damage_after_the_verification_leaves_no_table(
    process: Stepped, caplog: pytest.LogCaptureFixture
) -> None:
    dynamodb, arn = make(process)
    dynamodb.restore_table_from_backup(TargetTableName="target", BackupArn=arn)
    process.step()
    file = files_of(process, arn)["rows"]
    good = file.read_bytes()
    file.write_bytes(good[:-100] + b"\0" * 100)
    process.finish()
    assert dynamodb.list_tables()["TableNames"] == ["source"]
    assert f"table target cannot be restored from {arn}" in caplog.text
    assert dynamodb.describe_backup(BackupArn=arn)
    file.write_bytes(good)
    dynamodb.restore_table_from_backup(TargetTableName="target", BackupArn=arn)
    process.finish()
    assert rows(dynamodb, "target") == rows(dynamodb, "source")


# --- Large backups -------------------------------------------------------------------------------


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Makes requests not wait for any verification; collects the sizes of reads."""
    monkeypatch.setattr(verification, "AT_ONCE_BYTES", 0)
    monkeypatch.setattr(verification, "STEP_BYTES", 9_000)
    read, sizes = BackupStorage.read, []

    def noted(storage: BackupStorage, name: str, at: int, size: int) -> bytes:
        sizes.append(size)
        return read(storage, name, at, size)

    monkeypatch.setattr(BackupStorage, "read", noted)
    yield sizes


def status_of(dynamodb: Any, table: str) -> str:
    try:
        status: str = dynamodb.describe_table(TableName=table)["Table"]["TableStatus"]
    except dynamodb.exceptions.ResourceNotFoundException:
        return ""
    return status


def test_large_backup_is_verified_in_steps_before_anything_is_written(
    process: Stepped, large: list[int]
) -> None:
    dynamodb, arn = make(process)
    size = files_of(process, arn)["rows"].stat().st_size
    large.clear()
    dynamodb.restore_table_from_backup(TargetTableName="target", BackupArn=arn)
    assert large == [], "the request reads no data"
    pieces = size // 9_000
    for number in range(1, pieces + 1):
        process.step()
        assert large == [9_000] * number
        described = dynamodb.describe_table(TableName="target")["Table"]
        assert (described["TableStatus"], described["ItemCount"]) == ("CREATING", 0)
    process.finish()
    assert rows(dynamodb, "target") == rows(dynamodb, "source")


@pytest.mark.parametrize("seed", range(8))
def test_altered_data_of_a_large_backup_is_named_and_leaves_no_table(
    process: Stepped, large: list[int], seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    dynamodb, arn = make(process)
    file = files_of(process, arn)["rows"]
    good = file.read_bytes()
    damaged = bytearray(good)
    bit = random.Random(seed).randrange(len(good) * 8)
    damaged[bit // 8] ^= 1 << bit % 8
    file.write_bytes(damaged)
    dynamodb.restore_table_from_backup(TargetTableName="target", BackupArn=arn)
    while process.step():
        assert status_of(dynamodb, "target") in ("CREATING", "")
    assert f"cannot be restored from {arn}, and is removed: rows does not match its checksum" in caplog.text
    assert dynamodb.list_tables()["TableNames"] == ["source"]
    process.check()
    file.write_bytes(good)
    dynamodb.restore_table_from_backup(TargetTableName="target", BackupArn=arn)
    process.finish()
    assert rows(dynamodb, "target") == rows(dynamodb, "source")


@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data + b"x", lambda data: b""])
@pytest.mark.parametrize("name", ["rows", "manifest.json"])
def test_truncation_of_a_large_backup_is_rejected_by_the_request(
    process: Stepped, large: list[int], name: str, change: Callable[[bytes], bytes]
) -> None:
    dynamodb, arn = make(process)
    file = files_of(process, arn)[name]
    file.write_bytes(change(file.read_bytes()))
    check_refused(process, dynamodb, arn)


@pytest.mark.parametrize("steps", range(6))
def test_verification_begins_again_after_a_crash(
    process: Stepped, large: list[int], steps: int, caplog: pytest.LogCaptureFixture
) -> None:
    dynamodb, arn = make(process)
    file = files_of(process, arn)["rows"]
    dynamodb.restore_table_from_backup(TargetTableName="target", BackupArn=arn)
    for _ in range(steps):
        process.step()
    path = process.local.path
    process.close()
    data = bytearray(file.read_bytes())
    data[40] ^= 1  # what the first process had read already
    file.write_bytes(data)
    again = Stepped(path)
    again.finish()
    assert again.client().list_tables()["TableNames"] == ["source"]
    assert "rows does not match its checksum" in caplog.text
    again.check()
    again.close()


# --- Errors of ours ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["write_new", "block_at"])
@pytest.mark.parametrize("times", [1, runner.TRIES - 1, runner.TRIES])
def test_restore_is_tried_again_after_a_bug_and_then_leaves_no_table(
    process: Stepped, monkeypatch: pytest.MonkeyPatch, name: str, times: int, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(runner, "RAISE_UNEXPECTED", False)
    dynamodb, arn = make(process)
    dynamodb.restore_table_from_backup(TargetTableName="target", BackupArn=arn)
    process.step()
    before, errors = getattr(restoring, name), iter([RuntimeError("a bug")] * times)

    def broken(*args: Any, **named: Any) -> Any:
        for error in errors:
            raise error
        return before(*args, **named)

    monkeypatch.setattr(restoring, name, broken)
    process.finish()
    assert sum(each.exc_info is not None for each in caplog.records) == times
    if times < runner.TRIES:
        assert rows(dynamodb, "target") == rows(dynamodb, "source")
    else:
        assert dynamodb.list_tables()["TableNames"] == ["source"]
        assert "and is removed: An internal error ended it: RuntimeError: a bug" in caplog.text
    process.step()
    assert process.backend.restores.attempts.failed == {}


@pytest.mark.parametrize("is_of_deleted", [False, True])
def test_backup_is_abandoned_after_a_bug_and_system_backup_tried_again(
    process: Stepped, monkeypatch: pytest.MonkeyPatch, is_of_deleted: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """A user's backup is abandoned; a system backup is tried again, because its items exist nowhere else."""
    monkeypatch.setattr(runner, "RAISE_UNEXPECTED", False)
    dynamodb = process.client()
    kept = rows(dynamodb, "source")
    if is_of_deleted:
        recoverable(process, "source")
        dynamodb.delete_table(TableName="source")
    else:
        dynamodb.create_backup(TableName="source", BackupName="backup")

    def broken(*_: object) -> bytes:
        raise RuntimeError("a bug")

    with monkeypatch.context() as patched:
        patched.setattr(writing, "block_of", broken)
        process.finish()
    assert any(each.exc_info for each in caplog.records)
    assert "An internal error ended it: RuntimeError: a bug" in caplog.text
    assert process.local.path is not None
    assert list((process.local.path / "backups").iterdir()) == []
    process.clock.advance(61)  # type: ignore[attr-defined]
    process.finish()
    found = dynamodb.list_backups(BackupType="ALL")["BackupSummaries"]
    assert len(found) == is_of_deleted
    for each in found:
        dynamodb.restore_table_from_backup(TargetTableName="target", BackupArn=each["BackupArn"])
        process.finish()
        assert rows(dynamodb, "target") == kept


# --- Full disks ----------------------------------------------------------------------------------


def test_backup_and_restore_without_space_are_rejected(
    process: Stepped, monkeypatch: pytest.MonkeyPatch
) -> None:
    dynamodb, arn = make(process)
    size = dynamodb.describe_table(TableName="source")["Table"]["TableSizeBytes"]
    monkeypatch.setattr(BackupStorage, "free_bytes", lambda _: size - 1)
    with refused("LimitExceededException"):
        dynamodb.create_backup(TableName="source", BackupName="another")
    with refused("LimitExceededException"):
        dynamodb.restore_table_from_backup(TargetTableName="target", BackupArn=arn)
    assert listed(dynamodb) == ["backup"]
    assert dynamodb.list_tables()["TableNames"] == ["source"]


@pytest.mark.parametrize("call", ["append", "finish"])
def test_backup_is_removed_when_the_disk_becomes_full(
    process: Stepped, monkeypatch: pytest.MonkeyPatch, call: str, caplog: pytest.LogCaptureFixture
) -> None:
    dynamodb = process.client()

    def fail(*_: object) -> None:
        raise BackupStorageError("backup x in y: No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(BackupStorage, call, fail)
        dynamodb.create_backup(TableName="source", BackupName="backup")
        process.finish()
    assert "No space left on device" in caplog.text
    assert listed(dynamodb) == []
    assert not any((process.local.path or Path()).glob("backups/*"))
    assert backed_up_and_restored(process)


def test_system_backup_is_tried_again_after_a_full_disk(
    process: Stepped, monkeypatch: pytest.MonkeyPatch
) -> None:
    dynamodb = process.client()
    before = rows(dynamodb, "source")
    dynamodb.update_continuous_backups(
        TableName="source", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )

    def fail(*_: object) -> None:
        raise BackupStorageError("backup x in y: No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(BackupStorage, "finish", fail)
        dynamodb.delete_table(TableName="source")
        process.finish()
        (backup,) = dynamodb.list_backups(BackupType="SYSTEM")["BackupSummaries"]
        assert backup["BackupStatus"] == "CREATING"
    process.clock.advance(60)  # type: ignore[attr-defined]
    process.finish()
    dynamodb.restore_table_from_backup(TargetTableName="target", BackupArn=backup["BackupArn"])
    process.finish()
    assert rows(dynamodb, "target") == before


def backed_up_and_restored(process: Stepped) -> bool:
    dynamodb, arn = make(process)
    dynamodb.restore_table_from_backup(TargetTableName="again", BackupArn=arn)
    process.finish()
    same: bool = rows(dynamodb, "again") == rows(dynamodb, "source")
    dynamodb.delete_table(TableName="again")
    return same


# --- Across processes ----------------------------------------------------------------------------


def test_unfinished_backup_begins_again_after_a_crash(process: Stepped) -> None:
    dynamodb = process.client()
    arn = dynamodb.create_backup(TableName="source", BackupName="backup")["BackupDetails"]["BackupArn"]
    process.step()
    process.step()
    path = process.local.path
    assert path is not None
    (draft,) = (path / "backups").iterdir()
    assert draft.name.startswith(DRAFT_PREFIX) and listed(dynamodb) == ["backup"]
    left = draft.read_bytes()
    process.close()
    draft.write_bytes(left)  # as a killed process leaves it
    of_old = path / "backups" / "0123.unfinished"  # as earlier releases left it
    of_old.mkdir()
    (of_old / "rows").write_bytes(left)
    (of_old / "manifest.json").write_bytes(b"{}")
    again = Stepped(path, clock=process.clock)
    dynamodb = again.client()
    assert not any((path / "backups").iterdir())
    dynamodb.put_item(TableName="source", Item=item(p="later"))
    again.finish()
    dynamodb.restore_table_from_backup(TargetTableName="target", BackupArn=arn)
    again.finish()
    assert rows(dynamodb, "target") == rows(dynamodb, "source")
    again.check()
    again.close()


def test_copied_backup_is_listed_after_a_start(process: Stepped, tmp_path: Path) -> None:
    dynamodb, arn = make(process)
    before = rows(dynamodb, "source")
    other = Stepped(tmp_path / "other")
    other.close()
    name = arn.rpartition("/")[2]
    directory = files_of(process, arn)["rows"].parent
    shutil.copytree(directory, tmp_path / "other" / "backups" / name)
    shutil.copytree(directory, tmp_path / "other" / "backups" / ("0" + name))
    other = Stepped(tmp_path / "other")
    client = other.client()
    assert listed(client) == ["backup"]
    client.restore_table_from_backup(TargetTableName="target", BackupArn=arn)
    other.finish()
    assert rows(client, "target") == before
    other.check()
    other.close()


@pytest.mark.parametrize("of", ["backup", "table"])
def test_backup_of_a_later_release_is_ignored(
    process: Stepped, tmp_path: Path, caplog: pytest.LogCaptureFixture, of: str
) -> None:
    _, arn = make(process)
    name = arn.rpartition("/")[2]
    directory = tmp_path / "other" / "backups" / name
    shutil.copytree(files_of(process, arn)["rows"].parent, directory)
    manifest = json.loads((directory / "manifest.json").read_text().splitlines()[0])
    known = manifest["backup"] if of == "backup" else manifest["backup"]["table"]
    known["later"] = 1
    (directory / "manifest.json").write_bytes(manifest_bytes(manifest))
    other = Stepped(tmp_path / "other")
    assert listed(other.client()) == []
    assert "has content that this release does not know" in caplog.text
    assert directory.exists()
    other.close()


def test_backup_can_be_deleted_during_a_restore_of_the_past(process: Stepped) -> None:
    dynamodb, arn = make(process)
    dynamodb.update_continuous_backups(
        TableName="source", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )
    dynamodb.restore_table_to_point_in_time(
        SourceTableName="source", TargetTableName="target", UseLatestRestorableTime=True
    )
    assert dynamodb.describe_table(TableName="target")["Table"]["TableStatus"] == "CREATING"
    dynamodb.delete_backup(BackupArn=arn)
    assert listed(dynamodb) == []
    process.finish()
    assert rows(dynamodb, "target") == rows(dynamodb, "source")


def test_reset_removes_backups(process: Stepped) -> None:
    dynamodb, _ = make(process)
    dynamodb.create_backup(TableName="source", BackupName="unfinished")
    process.step()
    process.local.reset()
    assert listed(dynamodb, BackupType="ALL") == []
    assert not any((process.local.path or Path()).glob("backups/*"))
    assert not process.step()


def test_manifest_can_be_checked_with_sha256sum(process: Stepped) -> None:
    _, arn = make(process)
    files = files_of(process, arn)
    manifest = json.loads(files["manifest.json"].read_text().splitlines()[0])
    from hashlib import sha256  # noqa: PLC0415 - what sha256sum computes

    assert sha256(files["rows"].read_bytes()).hexdigest() == manifest["rows"]["sha256"]
    assert manifest["rows"]["bytes"] == files["rows"].stat().st_size
    assert manifest["rows"]["records"] == manifest["backup"]["items"] == 300
