"""The copy of encrypted tables: nothing in it is readable, and a restored directory needs the same keys."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from faradisc.clock import ManualClock, SeededEntropy
from faradisc.engine.copying.copier import Copier
from faradisc.engine.copying.place import CopyPlace
from faradisc.engine.copying.restoring import restore, verify
from faradisc.engine.encryption.key_file import KeyFile
from faradisc.engine.objects.memory import MemoryStorage
from faradisc.storage.immediate import run
from faradisc.storage.rocks import open_rocks
from fixtures.encrypted import SECRET, Keys
from fixtures.in_process import InProcess
from fixtures.kms import denied
from fixtures.schemas import item, schema


def test_wrong_keys_are_one_sentence_and_the_right_ones_open_it(
    open_encrypted: Callable[..., InProcess], keys: Keys, tmp_path: Path, clock: ManualClock
) -> None:
    dynamodb = open_encrypted().client()
    for name, more in (("secret", {"SSEType": "KMS", "KMSMasterKeyId": keys.first}), ("open", {})):
        enabled = {"SSESpecification": {"Enabled": True, **more}} if more else {}
        dynamodb.create_table(TableName=name, **schema("p:S"), **enabled)
        dynamodb.put_item(TableName=name, Item=item(p="a", v=SECRET if more else "readable"))
    storage = MemoryStorage()
    place = CopyPlace(storage, "b", "", "s3://b")
    open_encrypted(keys=None).close()
    store = open_rocks(tmp_path / "data", durability="inline", keep_log=True)
    copier = Copier(place, tmp_path / "data", store, clock, SeededEntropy(3))
    copier.begin()
    while not copier.status().snapshot_ns:
        copier.step()
    copier.release()
    run(store.close())
    assert verify(place).problems == []
    restore(place, tmp_path / "restored")
    (snapshot,) = place.snapshots()
    rows = b"".join(
        zlib.decompress(place.get(snapshot.piece_name(each))[0]) for each in range(len(snapshot.pieces))
    )
    assert b"readable" in rows and SECRET.encode() not in rows
    other = tmp_path / "other.json"
    KeyFile(other, {}).create(0, SeededEntropy(99), region="us-east-1", account="000000000000")
    with closing(InProcess(tmp_path / "restored", clock=clock, keys=other)) as process:
        reader = process.client()
        with denied("refers to a customer master key that does not exist"):
            reader.get_item(TableName="secret", Key=item(p="a"))
        assert reader.get_item(TableName="open", Key=item(p="a"))["Item"]["v"]["S"] == "readable"
    with closing(InProcess(tmp_path / "restored", clock=clock, keys=keys.path)) as process:
        found = process.client().get_item(TableName="secret", Key=item(p="a"))
        assert found["Item"]["v"]["S"] == SECRET
