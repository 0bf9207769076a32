"""The file of master keys: commands, wrapping, and what a changed file does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from faradisc.auth.sealed_file import SealedFileError
from faradisc.clock import ManualClock, SeededEntropy
from faradisc.engine.encryption.key_file import FileKeyService, KeyFile
from faradisc.engine.encryption.key_service import MANAGED_ALIAS, KeyRefused, KeyServiceUnreachable

ENTROPY = SeededEntropy(3)
CONTEXT = {"aws:dynamodb:tableName": "Orders"}
KEY = b"k" * 32
NOW_S = 1_700_000_000


@pytest.fixture
def file(tmp_path: Path) -> KeyFile:
    return KeyFile(tmp_path / "master.json", {})


@pytest.fixture
def arn(file: KeyFile) -> str:
    made: str = file.create(NOW_S, ENTROPY, region="eu-west-1", account="111122223333")["arn"]
    return made


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW_S)


@pytest.fixture
def service(file: KeyFile, arn: str, clock: ManualClock) -> FileKeyService:
    return FileKeyService(file, clock, ENTROPY)


def test_first_key_comes_with_the_managed_one(file: KeyFile, arn: str) -> None:
    file.create(NOW_S, ENTROPY, region="eu-west-1", account="111122223333")
    entries = list(file.read()["keys"].values())
    assert [each["aliases"] for each in entries] == [[MANAGED_ALIAS], [], []]
    assert arn.startswith("arn:aws:kms:eu-west-1:111122223333:key/")


def test_key_is_found_by_id_alias_and_arn_of_either(file: KeyFile, arn: str, clock: ManualClock) -> None:
    file.set_alias("alias/orders", arn, NOW_S)
    service = FileKeyService(file, clock, ENTROPY)
    prefix = "arn:aws:kms:eu-west-1:111122223333:"
    for name in (arn, arn.rpartition("/")[2], "alias/orders", prefix + "alias/orders"):
        assert service.resolve(name, "eu-west-1") == arn
    for name in ("alias/other", arn[:-1], arn.replace("eu-west-1", "us-east-1")):
        with pytest.raises(KeyRefused, match=r"does not exist|is not found"):
            service.resolve(name, "eu-west-1")


def test_alias_names_one_key(file: KeyFile, arn: str) -> None:
    other = file.create(NOW_S, ENTROPY, region="eu-west-1", account="111122223333")["arn"]
    file.set_alias("alias/orders", arn, NOW_S)
    file.set_alias("alias/orders", other, NOW_S)
    assert [each["arn"] for each in file.read()["keys"].values() if "alias/orders" in each["aliases"]] == [
        other
    ]


def test_data_key_unwraps_in_its_context_only(service: FileKeyService, arn: str) -> None:
    key, wrapped = service.generate(arn, CONTEXT)
    assert len(key) == 32
    assert key not in wrapped
    assert service.unwrap(arn, wrapped, CONTEXT) == key
    changed = wrapped[:-1] + bytes([wrapped[-1] ^ 1])
    for wrong, context in ((wrapped, {"aws:dynamodb:tableName": "Other"}), (changed, CONTEXT)):
        with pytest.raises(KeyRefused) as refused:
            service.unwrap(arn, wrong, context)
        assert refused.value.code == "InvalidCiphertextException"


def test_rotated_key_unwraps_what_its_earlier_versions_wrapped(
    file: KeyFile, service: FileKeyService, arn: str
) -> None:
    wrapped = service.wrap(arn, KEY, CONTEXT)
    assert not service.is_outdated(arn, wrapped)
    file.rotate(arn, NOW_S, ENTROPY)
    assert service.changed()
    assert service.is_outdated(arn, wrapped)
    assert service.unwrap(arn, wrapped, CONTEXT) == KEY
    assert not service.is_outdated(arn, service.wrap(arn, KEY, CONTEXT))


def disabled(entry: dict[str, Any]) -> None:
    entry["state"] = "Disabled"


def test_disabled_key_does_nothing_until_it_is_enabled(
    file: KeyFile, service: FileKeyService, arn: str
) -> None:
    wrapped = service.wrap(arn, KEY, CONTEXT)
    file.change_key(arn, NOW_S, disabled)
    assert service.changed()
    assert not service.changed()
    for use in (
        lambda: service.unwrap(arn, wrapped, CONTEXT),
        lambda: service.wrap(arn, KEY, CONTEXT),
        lambda: service.resolve(arn, "eu-west-1"),
    ):
        with pytest.raises(KeyRefused, match=f"{arn} is disabled.") as refused:
            use()
        assert refused.value.code == "DisabledException"
    file.change_key(arn, NOW_S, lambda entry: entry.update(state="Enabled"))
    assert service.changed()
    assert service.unwrap(arn, wrapped, CONTEXT) == KEY


def test_scheduled_deletion_happens_when_it_is_due(
    file: KeyFile, service: FileKeyService, arn: str, clock: ManualClock
) -> None:
    wrapped = service.wrap(arn, KEY, CONTEXT)
    file.change_key(arn, NOW_S, lambda entry: entry.update(deletion_s=NOW_S + 7 * 86_400))
    assert service.changed()
    with pytest.raises(KeyRefused, match="is pending deletion"):
        service.unwrap(arn, wrapped, CONTEXT)
    clock.advance(7 * 86_400)
    assert service.changed()
    assert arn.rpartition("/")[2].encode() not in file.path.read_bytes()
    with pytest.raises(KeyRefused, match="does not exist"):
        service.unwrap(arn, wrapped, CONTEXT)


def test_deleted_key_leaves_nothing_in_the_file(file: KeyFile, arn: str) -> None:
    sealed = file.read()["keys"][arn.rpartition("/")[2]]["versions"]
    file.delete(arn, NOW_S)
    assert all(each.encode() not in file.path.read_bytes() for each in sealed)
    with pytest.raises(SealedFileError, match="There is no key"):
        file.delete(arn, NOW_S)


@pytest.mark.parametrize("content", [b"", b"{}", b'{"format": 1, "check": "", "keys": 3}'])
def test_damaged_file_denies_all_keys(
    file: KeyFile, service: FileKeyService, arn: str, content: bytes
) -> None:
    kept = file.path.read_bytes()
    file.path.write_bytes(content)
    assert service.changed()
    with pytest.raises(KeyServiceUnreachable):
        service.resolve(arn, "eu-west-1")
    file.path.write_bytes(kept)
    assert service.changed()
    assert service.resolve(arn, "eu-west-1") == arn


def test_versions_cannot_be_swapped_between_keys(file: KeyFile, arn: str) -> None:
    other = file.create(NOW_S, ENTROPY, region="eu-west-1", account="111122223333")["arn"]
    document = orjson.loads(file.path.read_bytes())
    one, two = (document["keys"][each.rpartition("/")[2]] for each in (arn, other))
    one["versions"], two["versions"] = two["versions"], one["versions"]
    file.path.write_bytes(orjson.dumps(document))
    with pytest.raises(SealedFileError, match="cannot be opened"):
        file.load()
