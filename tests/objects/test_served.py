"""Objects that another server hands out: read as from any storage, never written; what goes wrong is said."""

from __future__ import annotations

import orjson
import pytest

from faradisc.engine.objects.api import BucketDenied, BucketFailed, NoSuchKey
from faradisc.engine.objects.served import ServedStorage
from faradisc.storage.immediate import run
from fixtures.exchanging import listed

PAGES = {
    "copy-objects/log/1": (200, b"0123"),
    "copy-names/log": (200, orjson.dumps(["log/1", "log/2"])),
    "copy-objects/log/3": (404, orjson.dumps({"error": "No such key: log/3", "code": "S3NoSuchKey"})),
    "copy-objects/no-copy": (400, orjson.dumps({"error": "There is no continuous copy."})),
    "copy-objects/other-program": (404, b"<html>"),
}


def test_objects_of_another_server_are_read_only() -> None:
    storage = ServedStorage(PAGES.__getitem__, lambda: None)
    assert run(storage.get("", "log/1"))[0] == b"0123"
    assert run(storage.read("", "log/1", 1, 2)) == b"12"
    assert run(storage.size("", "log/1")) == 4
    with run(storage.fetch("", "log/1")) as file:
        assert file.read() == b"0123"
    assert [each.key for each in run(listed(storage, "", "log/"))] == ["log/1", "log/2"]
    with pytest.raises(NoSuchKey):
        run(storage.get("", "log/3"))
    for key, text in (("no-copy", "There is no continuous copy$"), ("other-program", "answered 404")):
        with pytest.raises(BucketFailed, match=text):
            run(storage.get("", key))
    for written in (storage.put("", "x", b""), storage.remove("", "x")):
        with pytest.raises(BucketDenied):
            run(written)  # type: ignore[arg-type]
