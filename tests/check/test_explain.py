"""The fields of a row or an entry cover all its bytes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from faradisc.engine.check.explain import Explainer, part_name
from faradisc.engine.check.inventory import take_inventory
from faradisc.engine.derived.kinds import kinds_of_check
from faradisc.engine.inspection.layouts import Fields, joined
from faradisc.engine.inspection.problems import Report
from faradisc.engine.tables.layout import TableLayout
from faradisc.engine.tables.state import TableState
from faradisc.storage.immediate import run
from fixtures.check_world import all_rows, world
from fixtures.in_process import InProcess


@pytest.fixture
def process() -> Iterator[InProcess]:
    made = world()
    yield made
    made.close()


@pytest.fixture
def explainer(process: InProcess) -> Explainer:
    return Explainer(run(take_inventory(process.store, Report())))


def all_fields(process: InProcess, explainer: Explainer) -> Iterator[tuple[bytes, Fields]]:
    for part, key, payload in all_rows(process.store):
        layout = explainer.layout(part)
        yield part, part_name(part)
        yield key, layout.key(key)
        yield payload, layout.payload(payload)
    for part, _ in run(process.store.parts()):
        for _, entry in run(process.store.log(part, 0, 1000)):
            yield entry, explainer.layout(part).entry(entry)


def test_every_byte_is_in_a_field(process: InProcess, explainer: Explainer) -> None:
    seen = 0
    for data, fields in all_fields(process, explainer):
        assert joined(fields) == data
        assert not any(field.name in ("unreadable", "bytes") for field in fields), fields
        seen += 1
    assert seen > 500


def test_truncated_data_is_shown_as_unreadable(process: InProcess, explainer: Explainer) -> None:
    for part, key, payload in all_rows(process.store):
        layout = explainer.layout(part)
        for data, explain in ((key, layout.key), (payload, layout.payload)):
            for end in (0, 1, 3, 7, len(data) // 2, len(data) - 1):
                assert joined(explain(data[:end])) == data[:end]
    for part, _ in run(process.store.parts()):
        for _, entry in run(process.store.log(part, 0, 3)):
            for end in range(len(entry)):
                assert joined(explainer.layout(part).entry(entry[:end])) == entry[:end]


def test_parts_are_named(process: InProcess, explainer: Explainer) -> None:
    names = {explainer.layout(part).what for part, _ in run(process.store.parts())}
    assert {
        "the system's catalog",
        "the system's tokens",
        "the system's streams",
        "items of table music",
        "table music, index by.genre",
        "table music, index by.mood",
        "table music, time to live",
        "table music, sizes of item collections",
    } <= names
    assert explainer.layout(b"\x00\x00\x00\x63\x00").what == "nothing that the catalog knows"


def words(fields: Fields) -> dict[str, str]:
    return {field.name: field.words for field in fields}


def test_rows_in_words(process: InProcess, explainer: Explainer) -> None:
    rows = {
        explainer.layout(part).what: (part, key, payload) for part, key, payload in all_rows(process.store)
    }
    part, key, payload = rows["table music, index by.genre"]
    found = words(
        [*part_name(part), *explainer.layout(part).key(key), *explainer.layout(part).payload(payload)]
    )
    assert found["genre"] in ('{"S":"pop"}', '{"S":"rock"}', '{"S":"jazz"}')
    assert found["artist (table)"].startswith('{"S":"artist ')
    assert (found["resource"], found["format"]) == ("5", "1")
    assert found["size"].endswith(" bytes")
    assert found["item"].startswith('{"artist":')
    part, key, _ = rows["table music, time to live"]
    assert words(explainer.layout(part).key(key))["expires"].endswith("UTC")
    part, key, payload = rows["table music, sizes of item collections"]
    assert words(explainer.layout(part).payload(payload))["size"].endswith(" bytes")
    part, key, _ = rows["the system's tokens"]
    found = words(explainer.layout(part).key(key))
    assert (found["account"], found["token"][:6]) == ("000000000000", "token-")


def test_the_changes_of_point_in_time_recovery(process: InProcess) -> None:
    inventory = run(take_inventory(process.store, Report()))
    state = TableState.from_json(
        {
            **inventory.tables[0].state.to_json(),
            "pitr": {"resource": 90, "enabled_ns": 0, "period_days": 35, "first_day": 0},
        }
    )
    inventory.tables[0] = table = TableLayout(state)
    inventory.derived[state.resource] = kinds_of_check().of(table)
    part = bytes.fromhex("0000005a03") + (20_000).to_bytes(4, "big")
    key = inventory.tables[0].placement.row_key({"artist": {"S": "a"}, "year": {"N": "1"}})
    key += (20_000 * 86_400 * 10**9 + 5).to_bytes(8, "big") + (7).to_bytes(4, "big")
    layout = Explainer(inventory).layout(part)
    assert layout.what == "table music, point-in-time recovery"
    found = words([*part_name(part), *layout.key(key), *layout.payload(b"")])
    assert (found["day"], found["number"], found["image"]) == ("2024-10-04", "7", "there was no item")
    assert found["changed"] == "1728000000000000005 ns, 2024-10-04 00:00:00 UTC"
    assert joined(layout.key(key)) == key
    assert joined(part_name(part)) == part
