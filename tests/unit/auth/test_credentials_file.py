"""The file of access keys: its content, its encryption, and changes."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import orjson
import pytest

from faradisc.auth.credentials_file import (
    KIND,
    CredentialsFile,
    new_key,
)
from faradisc.auth.keyring import FileKeyring
from faradisc.auth.keys import AccessKey
from faradisc.auth.sealed_file import SealedFileError
from faradisc.clock import SeededEntropy

ENTROPY = SeededEntropy(7)
ONE = AccessKey("AKIDONE", "the first secret")
TWO = AccessKey("ASIDTWO", "the second secret", "its token", 2_000_000_000)


@pytest.fixture
def file(tmp_path: Path) -> CredentialsFile:
    made = CredentialsFile(tmp_path / "keys.json", {})
    made.add(ONE, 1_000, ENTROPY)
    made.add(TWO, 2_000, ENTROPY)
    return made


def rewrite(file: CredentialsFile, **changes: object) -> None:
    document = orjson.loads(file.path.read_bytes())
    document.update(changes)
    file.path.write_bytes(orjson.dumps(document))


def test_added_keys_are_loaded(file: CredentialsFile) -> None:
    assert CredentialsFile(file.path, {}).load() == {ONE.key_id: ONE, TWO.key_id: TWO}
    assert file.listed() == [("AKIDONE", 1_000, None), ("ASIDTWO", 2_000, 2_000_000_000)]


def test_file_contains_no_secret(file: CredentialsFile) -> None:
    content = file.path.read_bytes()
    for secret in (b"secret", b"token"):
        assert secret not in content
    assert [path.name for path in sorted(file.path.parent.iterdir())] == ["keys.json", "keys.json.key"]
    if os.name == "posix":
        for path in file.path.parent.iterdir():
            assert path.stat().st_mode & 0o077 == 0


def test_revoking_and_adding_again(file: CredentialsFile) -> None:
    with pytest.raises(SealedFileError, match="exists already"):
        file.add(ONE, 0, ENTROPY)
    file.revoke("AKIDONE")
    assert list(file.load()) == ["ASIDTWO"]
    with pytest.raises(SealedFileError, match="There is no access key AKIDONE"):
        file.revoke("AKIDONE")
    file.add(ONE, 3_000, ENTROPY)
    assert file.load()["AKIDONE"] == ONE


def test_a_passphrase_in_place_of_a_key_file(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    CredentialsFile(path, {KIND.passphrase_variable: "open sesame"}).add(ONE, 0, ENTROPY)
    assert not path.with_name("keys.json.key").exists()
    assert CredentialsFile(path, {KIND.passphrase_variable: "open sesame"}).load() == {ONE.key_id: ONE}
    with pytest.raises(SealedFileError, match="not its key or passphrase"):
        CredentialsFile(path, {KIND.passphrase_variable: "open barley"}).load()
    with pytest.raises(SealedFileError, match="was made with a passphrase; set FARADISC_CREDENTIALS_"):
        CredentialsFile(path, {}).load()
    with pytest.raises(SealedFileError, match="was made with a passphrase"):
        CredentialsFile(path, {}).add(TWO, 0, ENTROPY)


def test_entries_cannot_be_swapped_or_prolonged(file: CredentialsFile) -> None:
    document = orjson.loads(file.path.read_bytes())
    keys = document["keys"]
    swapped = {"AKIDONE": keys["AKIDONE"], "AKIDTHREE": keys["AKIDONE"]}
    prolonged = {"ASIDTWO": {**keys["ASIDTWO"], "expires_s": 3_000_000_000}}
    endless = {"ASIDTWO": {k: v for k, v in keys["ASIDTWO"].items() if k != "expires_s"}}
    for changed in (swapped, prolonged, endless):
        rewrite(file, keys=changed)
        with pytest.raises(SealedFileError, match="cannot be opened: entry of 'key A"):
            file.load()


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"format": 2}', b"null"])
def test_invalid_credentials_file_is_rejected(file: CredentialsFile, content: bytes) -> None:
    file.path.write_bytes(content)
    with pytest.raises(SealedFileError, match="credentials file"):
        file.load()


def test_unusable_key_file_is_rejected(file: CredentialsFile) -> None:
    key_path = file.path.with_name("keys.json.key")
    good = key_path.read_bytes()
    for content in (b"", b"short", b"!" * 44, b"QUJD\n"):
        key_path.write_bytes(content)
        with pytest.raises(SealedFileError, match="does not hold a key"):
            file.load()
    key_path.write_bytes(b"A" * 43 + b"=\n")
    with pytest.raises(SealedFileError, match="not its key or passphrase"):
        file.load()
    key_path.write_bytes(good)
    if os.name == "posix":
        key_path.chmod(0o640)
        with pytest.raises(SealedFileError, match="change its mode to 0600"):
            file.load()
    key_path.unlink()
    with pytest.raises(SealedFileError, match="cannot be read"):
        file.load()


def test_concurrent_change_is_rejected(file: CredentialsFile) -> None:
    draft = file.path.with_name("keys.json.new")
    draft.touch()
    with pytest.raises(SealedFileError, match="another command is changing"):
        file.revoke("AKIDONE")
    assert len(file.load()) == 2
    draft.unlink()
    file.revoke("AKIDONE")
    assert not draft.exists()


def test_keyring_reads_a_changed_file(file: CredentialsFile, caplog: pytest.LogCaptureFixture) -> None:
    ring = FileKeyring(file)
    assert ring.find("AKIDONE") == ONE
    assert ring.find("missing") is None
    ring.refresh()
    assert ring.generation == 0
    file.revoke("AKIDONE")
    with caplog.at_level(logging.WARNING):
        ring.refresh()
    assert ring.find("AKIDONE") is None
    assert ring.generation == 1
    assert "1 access keys" in caplog.text


@pytest.mark.parametrize("content", [None, b"", b'{"format":1}', b'{"format":1,"check":1,"keys":{}}'])
def test_keyring_keeps_its_keys_when_the_file_is_damaged(
    file: CredentialsFile, caplog: pytest.LogCaptureFixture, content: bytes | None
) -> None:
    ring = FileKeyring(file)
    if content is None:
        file.path.unlink()
    else:
        file.path.write_bytes(content)
    for _ in range(3):
        ring.refresh()
    assert ring.find("AKIDONE") == ONE
    assert ring.generation == 0
    assert caplog.text.count("the access keys stay as they were") == 1


def test_new_keys_have_the_form_of_aws_keys() -> None:
    lasting, ending = new_key(ENTROPY), new_key(ENTROPY, expires_s=5)
    assert (lasting.key_id[:4], len(lasting.key_id), len(lasting.secret)) == ("AKIA", 20, 40)
    assert lasting.token is None
    assert (ending.key_id[:4], ending.expires_s) == ("ASIA", 5)
    assert ending.token
    assert lasting.secret != ending.secret
