"""Results of imports as newer recordings of the service show them."""

from __future__ import annotations

from pathlib import Path

import pytest

from faradisc.engine.formats.json_lines import Malformed, records
from faradisc.server.opening import locations_of
from faradisc.server.setting import SettingsError
from faradisc.server.settings import ServerSettings
from fixtures.exchanging import Exchanging


def test_an_import_of_no_objects_is_complete(exchanging: Exchanging) -> None:
    described = exchanging.import_all("nothing/")
    assert (described["ImportStatus"], described["ImportedItemCount"]) == ("COMPLETED", 0)
    assert exchanging.call("DescribeTable", TableName="table")["Table"]["TableStatus"] == "ACTIVE"
    assert exchanging.items() == []


def test_records_on_one_line_are_imported(exchanging: Exchanging) -> None:
    exchanging.object(
        "in/a.json", b'{"Item":{"p":{"S":"1"}}}{"Item":{"p":{"S":"2"}}} {"Item":{"p":{"S":"3"}}}\n'
    )
    described = exchanging.import_all("in/")
    assert (described["ImportStatus"], described["ImportedItemCount"]) == ("COMPLETED", 3)


def test_records_before_a_bad_one_on_a_line_are_read() -> None:
    good = [{"Item": {}}, {"Item": {}}]
    for rest in (b"{", b"x", b"\xff", b"[" * 100_000, b"NaN"):
        found = list(records([b'{"Item":{}} {"Item":{}}' + rest + b"\n"]))
        assert found[:-1] == (good if rest != b"\xff" else []) and isinstance(found[-1], Malformed)


def test_an_import_with_a_bad_record_fails_and_keeps_its_table(exchanging: Exchanging) -> None:
    exchanging.object("in/a.json", b'{"Item":{"p":{"S":"1"}}}\n{"Item":{"p":{"N":"2"}}}\n')
    described = exchanging.import_all("in/")
    assert (described["ImportStatus"], described["FailureCode"]) == ("FAILED", "ItemValidationError")
    assert (described["ImportedItemCount"], described["ErrorCount"]) == (1, 1)
    assert exchanging.call("DescribeTable", TableName="table")["Table"]["TableStatus"] == "ACTIVE"
    assert exchanging.items() == [{"p": {"S": "1"}}]


def test_an_s3_endpoint_without_its_library_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faradisc.server.opening.find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=r"faradisc\[exchange\]"):
        locations_of(ServerSettings(data_dir=str(tmp_path), s3_endpoint="http://localhost:9000"))
