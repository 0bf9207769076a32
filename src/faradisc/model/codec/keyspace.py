"""Hashes, slots, parts and row keys.

A *resource* is a table or an index; it has a number, never reused. Its rows are spread over *slots* by
the top bits of a 128-bit hash of the partition key; a slot of a resource is a *part*, the unit the
storage engine knows.

    part      resource number (4 bytes, big-endian), slot (1 byte)
    row key   hash (16 bytes), HASH components, RANGE components
              and, in an index, the components of the table's key

In a table that was created encrypted, the HASH components of the table's and of every index's key are
replaced by a hash of them, of 16 bytes (`Placement.hashed`): the values are in the sealed records only.

The hash is MD5 over `Outliers` and the partition key's bytes: this gives the order in which the service
scans (docs/formats/keys.md). The key itself follows the hash, so two keys of one hash have different rows.
A global index with several HASH attributes hashes their concatenated components.

Resource 0 is the system's own: the catalog (engine/tables/catalog.py), the idempotency tokens
(engine/transactions/tokens.py), the progress of background jobs (workers.py), the streams
(engine/streams/registry.py), the backups (engine/backups/registry.py), alarms
(services/cloudwatch/alarms.py) and scalable targets (services/autoscaling/targets.py). A stream is a
resource too, of logs without rows.
"""

from __future__ import annotations

from hashlib import blake2b

from faradisc.model.codec.sortkey import decode_component, encode_bytes, encode_component, raw_bytes
from faradisc.model.values.attribute import AttributeValue, Item
from faradisc.model.values.schema import KeySchema
from faradisc.records import dataclass, field

try:
    # Python's own implementation, where it was built, takes half the time of OpenSSL's for a few bytes.
    from _md5 import md5  # type: ignore[import-not-found]
except ImportError:
    from functools import partial
    from hashlib import md5 as openssl_md5

    md5 = partial(openssl_md5, usedforsecurity=False)

HASH_BYTES = 16
CATALOG_PART = b"\x00\x00\x00\x00\x00"
TOKENS_PART = b"\x00\x00\x00\x00\x01"
JOBS_PART = b"\x00\x00\x00\x00\x02"
STREAMS_PART = b"\x00\x00\x00\x00\x03"
ALARMS_PART = b"\x00\x00\x00\x00\x10"
SCALING_PART = b"\x00\x00\x00\x00\x11"
METER_PART = b"\x00\x00\x00\x00\x04"
BACKUPS_PART = b"\x00\x00\x00\x00\x05"
EXCHANGE_PART = b"\x00\x00\x00\x00\x06"
NODES_PART = b"\x00\x00\x00\x00\x07"
ADMISSION_PART = b"\x00\x00\x00\x00\x09"
BROADCAST_PART = b"\x00\x00\x00\x00\x0a"
LINKS_PART = b"\x00\x00\x00\x00\x0b"
"""Cut links between regions (engine/replication/links.py)."""
LEASES_PREFIX = b"\x00\x00\x00\x00\x08"
"""With the name of a job after it; or the mark of works, and one byte (engine/cluster/leases.py)."""
WORKS_MARK = b"\xff"
_JOB_KINDS = (b"backfill", b"ttl", b"restore", b"sealing", b"feature")


def hash_of(data: bytes) -> bytes:
    """Returns the 128-bit hash of a partition key's bytes, 16 bytes."""
    digest: bytes = md5(b"Outliers" + data).digest()
    return digest


def parts_of(resource: int, slots: int) -> tuple[bytes, ...]:
    """Returns the parts of a resource, by slot."""
    number = resource.to_bytes(4, "big")
    return tuple(number + bytes([slot]) for slot in range(slots))


def job_key(kind: bytes, resource: int) -> bytes:
    """Returns the key of the row that stores a background job's progress on a resource."""
    return kind + resource.to_bytes(4, "big")


def job_keys_of(part: bytes) -> list[bytes]:
    """Returns the keys of all progress rows of the resource that a part belongs to."""
    return [kind + part[:4] for kind in _JOB_KINDS]


def slot_shift(slots: int) -> int:
    """Returns by how many bits a row key's first byte is shifted to the right to give its slot."""
    return 9 - slots.bit_length()


def slot_low(slot: int, slots: int) -> bytes:
    """Returns the lower bound of a slot's row keys; b"" for the first."""
    return bytes([slot << slot_shift(slots)]) if slot else b""


def key_of_row(row_key: bytes, key: KeySchema, *, hashed: bool = False) -> Item:
    """Returns the table key encoded in a table's row key; of a hashed one the RANGE attributes only.

    Raises ValueError or IndexError for other bytes.
    """
    at = HASH_BYTES * 2 if hashed else HASH_BYTES
    found: Item = {}
    for name in key.range if hashed else key.names:
        found[name], at = decode_component(row_key, at, key.types[name])
    return found


def _collection_prefix(values: tuple[AttributeValue, ...]) -> bytes:
    """Returns hash and HASH components: the common prefix of all row keys of one item collection."""
    if len(values) == 1:
        (value,) = values
        return hash_of(raw_bytes(value)) + encode_component(value)
    components = b"".join(map(encode_component, values))
    return hash_of(components) + components


def _components(item: Item, names: tuple[str, ...]) -> bytes:
    return b"".join([encode_component(item[name]) for name in names])


def _hashed(components: bytes) -> bytes:
    """Returns what stands for HASH components. Unlike for MD5, two values of one hash cannot be made."""
    return blake2b(components, digest_size=HASH_BYTES).digest()


@dataclass(frozen=True, slots=True)
class Placement:
    """The parts and row keys of one resource. `slots` is a power of two between 1 and 256."""

    resource: int
    slots: int
    key: KeySchema
    table_key: KeySchema | None = None
    """Set for an index: the table's key ends each row key."""
    hashed: bool = False
    """Whether row keys have a hash in the place of the HASH components."""
    parts: tuple[bytes, ...] = field(init=False)
    _shift: int = field(init=False)
    _only: str | None = field(init=False)
    """The HASH attribute, if there is only one."""
    _tail: tuple[str, ...] = field(init=False)
    """The attributes whose components follow the HASH components, or their hash, in a row key."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", parts_of(self.resource, self.slots))
        object.__setattr__(self, "_shift", slot_shift(self.slots))
        object.__setattr__(self, "_only", self.key.hash[0] if len(self.key.hash) == 1 else None)
        of_table = self.table_key.names if self.table_key is not None and not self.hashed else ()
        object.__setattr__(self, "_tail", self.key.range + of_table)

    def part_of(self, row_key: bytes) -> bytes:
        """Returns the part of a row key, or of a prefix of one, of at least a byte."""
        return self.parts[row_key[0] >> self._shift]

    def collection(self, values: tuple[AttributeValue, ...]) -> bytes:
        """Returns the row-key prefix of one item collection, from its HASH values in schema order."""
        prefix = _collection_prefix(values)
        return prefix[:HASH_BYTES] + _hashed(prefix[HASH_BYTES:]) if self.hashed else prefix

    def row_key(self, item: Item) -> bytes:
        """Returns the row key of an item, a key or an ExclusiveStartKey with all key attributes."""
        only = self._only
        text = item[only].get("S") if only is not None else None
        if text is not None:  # _collection_prefix written out for most keys, to save its calls
            data = text.encode()
            component = encode_bytes(data)
            digest: bytes = md5(b"Outliers" + data).digest()
            prefix = digest + (_hashed(component) if self.hashed else component)
        else:
            prefix = self.collection(tuple([item[name] for name in self.key.hash]))
        for name in self._tail:
            prefix += encode_component(item[name])
        if self.hashed and self.table_key is not None:
            prefix += _hashed(_components(item, self.table_key.hash))
            prefix += _components(item, self.table_key.range)
        return prefix

    def hash_ranges(self, segment: int, total: int) -> list[tuple[bytes, bytes, bytes | None]]:
        """The (part, from, to) key ranges of one of `total` equal segments of the hash space, in order.

        `to` is exclusive; None means the end of the part.
        """
        low = (segment << 128) // total
        high = ((segment + 1) << 128) // total
        width = (1 << 128) // self.slots
        key_ranges: list[tuple[bytes, bytes, bytes | None]] = []
        for slot, part in enumerate(self.parts):
            start, end = slot * width, (slot + 1) * width
            if high <= start or low >= end:
                continue
            first = max(low, start).to_bytes(HASH_BYTES, "big")
            last = high.to_bytes(HASH_BYTES, "big") if high < end else None
            key_ranges.append((part, first, last))
        return key_ranges
