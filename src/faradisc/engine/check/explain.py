"""Describes all parts of a store, for `faradisc inspect`: those of tables and streams, and the system's.

What a table has beside its items describes itself (engine/derived/); the layouts are those of docs/formats/.
"""

from __future__ import annotations

from faradisc.engine.check.inventory import Inventory, stream_name
from faradisc.engine.derived.history import PART_BYTES as HISTORY_PART_BYTES
from faradisc.engine.derived.streams import entry_of
from faradisc.engine.inspection.layouts import (
    Explain,
    Field,
    Fields,
    Layout,
    json,
    moment,
    number,
    opaque,
    printable,
    record,
    row_key_of,
    string,
    time,
)
from faradisc.engine.tables.state import DAY_NS
from faradisc.model.codec import keyspace
from faradisc.model.codec.keyspace import LEASES_PREFIX, WORKS_MARK, Placement
from faradisc.model.values.schema import KeySchema
from faradisc.storage.api import Part

SYSTEM_PARTS: dict[Part, str] = {
    value: f"the system's {name.removesuffix('_PART').lower()}"
    for name, value in vars(keyspace).items()
    if name.endswith("_PART")
}


class Explainer:
    """Describes the parts of one store."""

    def __init__(self, inventory: Inventory) -> None:
        self._layouts: dict[int, Layout] = {}
        for table in inventory.tables:
            layout = Layout(f"items of {table.title}", row_key_of(table.placement), record)
            self._layouts[table.state.resource] = layout
            for each in inventory.derived[table.state.resource]:
                self._layouts[each.resource] = each.layout()
        for stream in inventory.streams.values():
            key = KeySchema.of_elements(stream.key_schema, stream.types)
            self._layouts[stream.resource] = Layout(
                stream_name(stream), entry=entry_of(Placement(stream.resource, stream.slots, key), "ms")
            )
        self._owners = inventory.owners

    def layout(self, part: Part) -> Layout:
        if part.startswith(keyspace.TOKENS_PART):
            part = keyspace.TOKENS_PART  # or that of another place
        if part in SYSTEM_PARTS:
            return Layout(SYSTEM_PARTS[part], _SYSTEM_KEYS.get(part, opaque), json)
        if part.startswith(LEASES_PREFIX + WORKS_MARK):
            return Layout("leases of works that servers share", opaque, json)
        if part.startswith(LEASES_PREFIX):
            return Layout(f"the lease of the job {printable(part[5:])}", payload=json)
        resource = int.from_bytes(part[:4], "big")
        known = self._layouts.get(resource)
        if known is not None:
            return known
        owner, _ = self._owners.get(resource, ("nothing that the catalog knows", 0))
        return Layout(owner, payload=json)


def part_name(part: Part) -> Fields:
    """Returns the fields of a part's name."""
    if len(part) < 5:
        return opaque(part)
    fields = [number("resource", part[:4]), number("slot", part[4:5])]
    if len(part) == HISTORY_PART_BYTES:
        day = int.from_bytes(part[5:], "big")
        fields.append(Field("day", part[5:], moment(day * DAY_NS)[:10]))
    elif len(part) > 5:
        fields += opaque(part[5:])
    return fields


def _catalog_key(data: bytes) -> Fields:
    if data == b"\xff":
        return [Field("row", data, "the last resource number given out")]
    namespace, zero, name = data.partition(b"\x00")
    return [
        Field("namespace", namespace, namespace.decode(errors="replace") or "(the one of all regions)"),
        Field("end", zero, "of the namespace"),
        string("table", name),
    ]


def _token_key(data: bytes) -> Fields:
    if data[:1] == b"x":
        row = Field("row", data[:1], "finds a token when it expires")
        return [row, time("expires", data[1:9], "ns"), *_token_key(data[9:])]
    account, zero, token = data[1:].partition(b"\x00")
    return [
        Field("row", data[:1], "a token"),
        string("account", account),
        Field("end", zero, "of the account"),
        string("token", token),
    ]


def _job_key(data: bytes) -> Fields:
    if len(data) < 5:
        return opaque(data)
    return [string("job", data[:-4]), number("resource", data[-4:])]


def _stream_key(data: bytes) -> Fields:
    return [number("resource", data)]


_SYSTEM_KEYS: dict[Part, Explain] = {
    keyspace.CATALOG_PART: _catalog_key,
    keyspace.TOKENS_PART: _token_key,
    keyspace.JOBS_PART: _job_key,
    keyspace.STREAMS_PART: _stream_key,
    keyspace.LINKS_PART: lambda data: [string("cut link", data)],
}
