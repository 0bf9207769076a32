"""The key that a data directory makes for itself: a copy has it sealed, or says what is missing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from copying.test_served_copies import copied, faradisc, page, until
from faradisc.clock import SystemEntropy
from faradisc.engine.copying.format import CopyDamaged, CopyError
from faradisc.engine.copying.place import CopyPlace
from faradisc.engine.encryption.key_file import KeyFile
from faradisc.engine.encryption.services import key_file_of
from faradisc.engine.objects.memory import MemoryStorage
from faradisc.server.copy_keys import KEYS, StoredKeys, adopt_keys, keys_for
from fixtures.clients import http_client
from fixtures.commands import run_here
from fixtures.schemas import item, schema
from fixtures.served import Server

PASSPHRASE = {"FARADISC_KEYS_PASSPHRASE": "correct horse"}
QUICK = ("--copy-lag", "0.2", "--copy-lease", "1")


@pytest.fixture
def place() -> CopyPlace:
    return CopyPlace(MemoryStorage(), "b", "p", "s3://b/p")


def made_key(directory: Path) -> KeyFile:
    """Returns the key file of a new data directory."""
    (directory / "keys").mkdir(parents=True)
    file = key_file_of(directory)
    file.create_managed(0, SystemEntropy(), region="us-east-1", account="000000000000")
    return file


def materials(file: KeyFile) -> dict[str, list[bytes]]:
    return {key: each.versions for key, each in file.load().items()}


def test_a_passphrase_takes_the_key_with_the_copy(place: CopyPlace, tmp_path: Path) -> None:
    file = made_key(tmp_path / "a")
    stored = StoredKeys(tmp_path / "a", PASSPHRASE)
    stored.store(place)
    content = place.get(KEYS)[0]
    assert stored.lacking == "" and b'"kdf"' in content
    with pytest.raises(CopyError, match="was made with a passphrase; set FARADISC_KEYS_PASSPHRASE"):
        keys_for(place, tmp_path / "b", environment={})
    with pytest.raises(CopyError, match="this is not its key or passphrase"):
        keys_for(place, tmp_path / "b", environment={"FARADISC_KEYS_PASSPHRASE": "wrong"})
    (tmp_path / "b").mkdir()
    adopt_keys(tmp_path / "b", keys_for(place, tmp_path / "b", environment=PASSPHRASE))
    assert materials(key_file_of(tmp_path / "b")) == materials(file)
    assert keys_for(place, tmp_path / "b", environment={}) is None, "nothing is missing any more"
    stored.store(place)
    assert place.get(KEYS)[0] == content, "it is stored when it has changed"
    (key,) = file.load()
    file.rotate(key, 0, SystemEntropy())
    stored.store(place)
    adopt_keys(tmp_path / "b", keys_for(place, tmp_path / "b", environment=PASSPHRASE))
    assert materials(key_file_of(tmp_path / "b")) == materials(file), "a new version follows"


def test_without_a_passphrase_the_copy_names_the_key(place: CopyPlace, tmp_path: Path) -> None:
    file = made_key(tmp_path / "a")
    stored = StoredKeys(tmp_path / "a", {})
    stored.store(place)
    (key,) = file.load()
    assert f"keep {file.path}" in stored.lacking
    assert key.encode() in place.get(KEYS)[0]
    for secret in (file.path.with_name("master.json.key").read_bytes().strip(), *file.load()[key].versions):
        assert secret not in place.get(KEYS)[0]
    with pytest.raises(CopyError, match="encrypted under a key which is not in the copy: give --keys"):
        keys_for(place, tmp_path / "b", environment={})
    other = made_key(tmp_path / "other")
    with pytest.raises(CopyError, match="lacks the key"):
        keys_for(place, tmp_path / "b", str(other.path), adopt=True, environment={})
    assert keys_for(place, tmp_path / "b", str(file.path), environment={}) is None, (
        "a server has it by --keys"
    )
    found = keys_for(place, tmp_path / "b", str(file.path), adopt=True, environment={})
    assert found is not None and materials(found) == materials(file)


def test_a_start_without_the_passphrase_leaves_a_sealed_key(place: CopyPlace, tmp_path: Path) -> None:
    file = made_key(tmp_path / "a")
    StoredKeys(tmp_path / "a", PASSPHRASE).store(place)
    sealed = place.get(KEYS)[0]
    again = StoredKeys(tmp_path / "a", {})
    again.store(place)
    assert (place.get(KEYS)[0], again.lacking) == (sealed, "")
    (key,) = file.load()
    file.rotate(key, 0, SystemEntropy())
    again.store(place)
    assert b'"kdf"' not in place.get(KEYS)[0] and again.lacking, "the sealed one lacks the new version"


def test_a_directory_without_its_key_removes_none(place: CopyPlace, tmp_path: Path) -> None:
    made_key(tmp_path / "a")
    StoredKeys(tmp_path / "a", PASSPHRASE).store(place)
    StoredKeys(tmp_path / "none", PASSPHRASE).store(place)
    assert b'"kdf"' in place.get(KEYS)[0]
    place.put(KEYS, b"[]")
    with pytest.raises(CopyDamaged, match=r"s3://b/p/keys.json is damaged"):
        keys_for(place, tmp_path / "b", environment=PASSPHRASE)


@pytest.fixture
def passphrase(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in PASSPHRASE.items():
        monkeypatch.setenv(name, value)
    yield
    assert "FARADISC_KEYS" not in os.environ


def encrypted(server: Server, name: str) -> None:
    client = http_client(server.url)
    client.create_table(TableName=name, **schema("p:S"), SSESpecification={"Enabled": True})
    client.put_item(TableName=name, Item=item(p="a", v="secret"))


def test_a_lost_machine_with_encrypted_tables(tmp_path: Path) -> None:
    """Without a passphrase: the operator is warned, and a restore writes nothing before it has the key."""
    where = str(tmp_path / "bucket")
    with Server("--data-dir", str(tmp_path / "a"), "--copy-to", where, *QUICK) as server:
        encrypted(server, "things")
        until(lambda: copied(server) and page(server)["lacking"], "all is copied, but the key")
        doctor = faradisc("doctor", "--url", server.url)
        assert "copy's keys" in doctor.stdout and "keep" in doctor.stdout
        assert server.stop() == 0
    (tmp_path / "a" / "keys").rename(tmp_path / "kept")
    for command in (
        ("restore-copy", where, tmp_path / "b"),
        ("serve", "--port", "0", "--data-dir", tmp_path / "b", "--follow", where),
    ):
        ended = faradisc(*command)
        assert ended.returncode in (1, 2) and "encrypted under a key which is not in the copy" in ended.stderr
        assert ended.stderr.count("\n") == 1 and not (tmp_path / "b").exists()
    assert faradisc("restore-copy", where, tmp_path / "c", "--without-keys").returncode == 0
    kept = tmp_path / "kept" / "master.json"
    restored = faradisc("restore-copy", where, tmp_path / "b", "--keys", kept)
    assert restored.returncode == 0, restored.stderr
    with Server("--data-dir", str(tmp_path / "b")) as server:
        found = http_client(server.url).get_item(TableName="things", Key=item(p="a"))["Item"]
        assert found["v"]["S"] == "secret"
        assert server.stop() == 0


def test_a_standby_gets_keys_that_are_made_later(tmp_path: Path, passphrase: None) -> None:
    where = str(tmp_path / "bucket")
    with Server("--data-dir", str(tmp_path / "a"), "--copy-to", where, *QUICK) as primary:
        until(lambda: copied(primary), "a snapshot is there")
        with Server("--data-dir", str(tmp_path / "b"), "--follow", where, *QUICK) as standby:
            encrypted(primary, "things")
            reader = http_client(standby.url)
            until(lambda: reader.list_tables()["TableNames"] == ["things"], "the table is there")
            until(lambda: reader.scan(TableName="things")["Count"] == 1, "its item is read")
            assert page(primary)["lacking"] == "" and page(standby)["fault"] == ""
            assert standby.stop() == 0
        assert primary.stop() == 0
    restored = run_here(["restore-copy", where, str(tmp_path / "c")], tmp_path, PASSPHRASE)
    assert restored.returncode == 0, restored.stderr
    with Server("--data-dir", str(tmp_path / "c")) as server:
        assert http_client(server.url).scan(TableName="things")["Items"][0]["v"]["S"] == "secret"
        assert server.stop() == 0
