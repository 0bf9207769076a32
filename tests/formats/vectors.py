"""The bytes of every key, record and log entry, made by the code of today for inputs that never change.

`python tests/formats/vectors.py` prints them as JSON. What stands in format-N/vectors.json was written by the
first release of format N; to change one of those is to make a new format.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from faradisc.clock import ManualClock
from faradisc.engine.derived.capture import capture_recorder
from faradisc.engine.derived.expiry import index_key
from faradisc.engine.derived.history import change_key
from faradisc.engine.streams.records import ChangeRecorder, shard_end
from faradisc.engine.transactions.tokens import RequestToken, expiry_key
from faradisc.engine.vectors.schema import VectorSchema
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import Placement, job_key, parts_of
from faradisc.model.codec.sortkey import encode_component
from faradisc.model.values.number import parse
from faradisc.model.values.schema import IndexProjection, KeySchema
from faradisc.model.values.size import item_size
from faradisc.storage.api import Batch
from faradisc.storage.immediate import run

NOW_S = 1_700_000_000.123456

COMPONENTS: list[dict[str, str]] = [
    *({"S": text} for text in ("", "a", "a\0", "a\0b", "ab", "z" * 40, "é", "😀")),
    *({"B": text} for text in ("", "AA==", "AP8=", "AQID", "////")),
    *(
        {"N": parse(text)}
        for text in (
            "-9.9999999999999999999999999999999999999E+125",
            "-100",
            "-12.5",
            "-1",
            "-1E-130",
            "0",
            "1E-130",
            "0.001",
            "0.5",
            "1",
            "9",
            "10",
            "99.99",
            "100",
            "12345678901234567890123456789012345678",
            "9.9999999999999999999999999999999999999E+125",
        )
    ),
]
ITEM: dict[str, Any] = {
    "pk": {"S": "a"},
    "sk": {"N": "12"},
    "g1": {"S": "x"},
    "g2": {"N": "-1.5"},
    "bin": {"B": "AP8="},
    "yes": {"BOOL": True},
    "null": {"NULL": True},
    "texts": {"SS": ["a", "b"]},
    "numbers": {"NS": ["-1", "2.5"]},
    "bytes": {"BS": ["AA==", "AQ=="]},
    "list": {"L": [{"S": "é"}, {"N": parse("1E+20")}, {"L": []}]},
    "map": {"M": {"b": {"S": ""}, "a": {"M": {}}}},
    "e": {"L": [{"N": "1"}, {"N": "-2.5"}]},
}
KEY = KeySchema(("pk",), ("sk",), {"pk": "S", "sk": "N"})
TABLE = Placement(7, 4, KEY)
INDEX = Placement(9, 4, KeySchema(("g1", "g2"), ("pk",), {"g1": "S", "g2": "N", "pk": "S"}), KEY)


def format_1() -> Iterator[tuple[str, bytes]]:
    for value in COMPONENTS:
        yield f"component {json.dumps(value)}", encode_component(value)
    for resource, slots in ((1, 4), (0x01020304, 16)):
        for slot, part in enumerate(parts_of(resource, slots)):
            yield f"part {resource} slot {slot} of {slots}", part
    for name, placement in (("table", TABLE), ("index", INDEX)):
        row_key = placement.row_key(ITEM)
        yield f"row key in the {name}", row_key
        yield f"part in the {name}", placement.part_of(row_key)
    yield "collection key", TABLE.collection((ITEM["pk"],))
    yield "record", item_record.encode(ITEM, item_size(ITEM))
    vector = VectorSchema("v", True, KEY, IndexProjection("KEYS_ONLY"), KEY, "e", 2, "COSINE", None, ())
    entry = vector.entry(ITEM)
    assert entry is not None
    yield "vector entry", item_record.encode(entry, item_size(entry))
    yield "expiry key", index_key(1_700_000_001, TABLE.row_key(ITEM))
    token = RequestToken.of("000000000000", "token", {"b": 1, "a": [2]})
    yield "token key", token.key
    yield "token fingerprint", token.fingerprint.encode()
    yield "token expiry key", expiry_key(1_700_000_600_000_000_000, token.key)
    yield "job key", job_key(b"backfill", 9)
    yield from _logs()
    yield from _physical()


def _logs() -> Iterator[tuple[str, bytes]]:
    clock = ManualClock(NOW_S)
    row_key = TABLE.row_key(ITEM)
    new = item_record.encode({"pk": {"S": "a"}}, 3)
    old = item_record.encode({"pk": {"S": "b"}}, 3)
    for view in ("KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"):
        recorder = ChangeRecorder(parts_of(5, 4), view, clock)
        part, entry = recorder.entry(row_key, old, new, by_service=False)
        yield f"stream entry {view}", part + entry
    recorder = ChangeRecorder(parts_of(5, 4), "NEW_AND_OLD_IMAGES", clock)
    yield "stream entry INSERT", recorder.entry(row_key, None, new, by_service=False)[1]
    yield "stream entry REMOVE", recorder.entry(row_key, old, None, by_service=False)[1]
    yield "stream entry REMOVE by the service", recorder.entry(row_key, old, None, by_service=True)[1]
    yield "end of a shard", shard_end(clock.now_ns())
    part, entry = capture_recorder(parts_of(6, 4), clock).entry(row_key, old, new, by_service=False)
    yield "captured entry", part + entry


def _physical() -> Iterator[tuple[str, bytes]]:
    """What RocksDB holds after two commits into an empty store."""
    import tempfile  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    from faradisc.storage.rocks import RocksStore  # noqa: PLC0415
    from faradisc.storage.rocks_files import open_files  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as place:
        db = open_files(Path(place))
        store = RocksStore(db, "inline")
        run(
            store.commit(
                [Batch(b"\x01p", puts=[(b"k", b"v")], log=[b"a", b"b"], items_delta=1, bytes_delta=9)]
            )
        )
        run(store.commit([Batch(b"\x01p", puts=[(b"", b"")], bytes_delta=-10), Batch(b"q", log=[b"c"])]))
        for key, value in db.items():
            yield f"physical {key.hex()}", value
        run(store.close())


def format_2() -> Iterator[tuple[str, bytes]]:
    yield "history key", change_key(TABLE.row_key(ITEM), 1_700_000_000_123_456_789, 7)


BY_FORMAT = {1: format_1, 2: format_2}
"""What each format added."""

if __name__ == "__main__":
    for version, vectors in BY_FORMAT.items():
        print(version, json.dumps({name: data.hex() for name, data in vectors()}, indent=1))
