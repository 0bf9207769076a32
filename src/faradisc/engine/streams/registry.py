"""All streams of a database: look-up by name, and rolling, trimming and deletion on the clock.

The streams' part of the store (resource 0) has a row per stream: its resource number, and its state as JSON.
All of it is in memory too. A stream is switched on or off in the commit of its table's row, so the catalog
writes these rows (`batches_for`, `put`). Everything later is done here, by a step of the background work, or
by a reader of the stream before that step has run.

A roll closes shards that are some hours old, or whose partition has split. It is two commits: the entries
that end the shards, then the row with the log sequences of these ends. Readers take the stream's lock, so
none sees the state between; entries without a row, left by a crash, end nothing and are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import orjson

from faradisc.clock import Clock, Entropy
from faradisc.engine.catalog_log import CatalogLog, Followed
from faradisc.engine.sealing.sealer import KeyDenied
from faradisc.engine.sealing.sealers import Sealers
from faradisc.engine.sealing.state import SealState
from faradisc.engine.streams.records import ChangeRecorder, created_ms, shard_end
from faradisc.engine.streams.shards import Shard, children, first_shards, slots_for
from faradisc.engine.streams.stream import RETENTION_NS, Stream, StreamState, label_of
from faradisc.limits import SHARD_LIFETIME_S
from faradisc.model.codec.keyspace import STREAMS_PART
from faradisc.records import dataclass, replace
from faradisc.storage.api import Batch, Conflict, Part, Row, Stale, Store, all_rows

Name = tuple[str, str, str]
"""Namespace, table name, label."""

_NEVER_NS = 1 << 63
_DENIED_NS = 60 * 1_000_000_000
"""Pause of rolling and trimming while the entries cannot be sealed and opened."""


def _owner(state: StreamState) -> str:
    return f"stream {state.resource}"


@dataclass(frozen=True, slots=True)
class StreamedTable:
    """The facts of a table that its stream uses."""

    namespace: str
    name: str
    region: str
    account: str
    key_schema: list[tuple[str, str]]
    types: dict[str, Any]
    partitions: Sequence[bytes]
    """Where its partitions begin, ascending; the first one is b""."""


class Streams:
    def __init__(
        self,
        store: Store,
        log: CatalogLog,
        clock: Clock,
        entropy: Entropy,
        *,
        partitions: Callable[[StreamState], Sequence[bytes]],
        transition_ns: int,
        shard_lifetime_s: float = SHARD_LIFETIME_S,
        sealers: Sealers,
    ) -> None:
        """partitions: where the partitions of an open stream's table begin, as in StreamedTable."""
        self.store = store
        self._log = log
        self._partitions = partitions
        self._sealers = sealers
        self.clock = clock
        self.transition_ns = transition_ns
        self._entropy = entropy
        self._lifetime_ns = int(shard_lifetime_s * 1_000_000_000)
        self._streams: dict[int, Stream] = {}
        self._names: dict[Name, Stream] = {}
        self._due_ns = 0
        """Nothing is due before this time."""
        log.add(Followed(STREAMS_PART, self._row_keys, self._take_over))

    async def load(self) -> None:
        """Loads every stream."""
        self._take_over(await all_rows(self.store, STREAMS_PART))

    def _row_keys(self) -> Iterator[bytes]:
        return (stream.row_key for stream in self._streams.values())

    def _take_over(self, rows: Sequence[tuple[bytes, Row | None]]) -> None:
        """Takes over rows that are read for the first time, or that another node may have changed."""
        for key, row in rows:
            known = self._streams.get(int.from_bytes(key, "big"))
            if row is None:
                if known is not None:
                    self._remove(known)
            elif known is None or known.version != row[0]:
                self.put(StreamState.from_json(orjson.loads(row[1]))).version = row[0]

    # --- Finding ---

    def find(self, namespace: str, table_name: str, label: str) -> Stream | None:
        stream = self._names.get((namespace, table_name, label))
        return None if stream is None or stream.is_gone(self.clock.now_ns()) else stream

    def listed(self, namespace: str, table_name: str | None) -> list[Stream]:
        """Returns the streams of a namespace, or of all tables that had a name, sorted by ARN."""
        now_ns = self.clock.now_ns()
        found = [
            stream
            for (space, name, _), stream in self._names.items()
            if space == namespace and table_name in (None, name) and not stream.is_gone(now_ns)
        ]
        return sorted(found, key=lambda stream: stream.arn)

    def recorder(self, resource: int) -> ChangeRecorder:
        stream = self._streams[resource]
        return ChangeRecorder(stream.parts, stream.state.view_type, self.clock)

    # --- On and off ---

    def beginning(self, table: StreamedTable, resource: int, view_type: str) -> StreamState:
        """Returns the state of a new stream of a table, with an unused label."""
        now_ns = self.clock.now_ns()
        labelled_ns = now_ns
        while (table.namespace, table.name, label_of(labelled_ns)) in self._names:
            labelled_ns += 1_000_000
        label = label_of(labelled_ns)
        slots = slots_for(table.partitions)
        return StreamState(
            resource=resource,
            slots=slots,
            namespace=table.namespace,
            table_name=table.name,
            region=table.region,
            account=table.account,
            label=label,
            view_type=view_type,
            key_schema=table.key_schema,
            types=table.types,
            secret=self._entropy.token_bytes(16).hex(),
            created_ns=now_ns,
            shards=first_shards(now_ns, slots, table.partitions, label),
        )

    def ending(self, stream: Stream, sealing: SealState | None) -> StreamState:
        """Returns the state of a stream that is switched off now. Requires: the stream's lock held.

        sealing: the encryption of its table, which the table may take with it.
        """
        return replace(stream.state, ended_ns=self.clock.now_ns(), sealing=sealing)

    def stream(self, resource: int) -> Stream:
        return self._streams[resource]

    def batches_for(self, state: StreamState) -> list[Batch]:
        """Returns the batches that store a state, unless another node has changed it since it was read; call
        `committed` after their commit."""
        key = state.resource.to_bytes(4, "big")
        known = self._streams.get(state.resource)
        row = (key, orjson.dumps(state.to_json()))
        stored = Batch(STREAMS_PART, checks=[(key, 0 if known is None else known.version)], puts=[row])
        return [stored, *self._log.batches(STREAMS_PART, key)]

    async def committed(self, state: StreamState) -> None:
        """Notes that a state is stored."""
        stream = self._streams[state.resource]
        (row,) = await self.store.get(STREAMS_PART, (stream.row_key,), for_update=True)
        if row is not None and row[1] == orjson.dumps(state.to_json()):
            stream.version = row[0]  # else another node has changed it since, and the log brings that

    def put(self, state: StreamState) -> Stream:
        """Sets the state in memory."""
        stream = self._streams.get(state.resource)
        if stream is None:
            stream = self._streams[state.resource] = Stream(state)
            self._names[(state.namespace, state.table_name, state.label)] = stream
        stream.state = state
        self._due_ns = 0
        if state.sealing is not None:
            self._sealers.attach(_owner(state), state.sealing, (state.resource,))
        return stream

    def take_back(self, resource: int, state: StreamState | None) -> None:
        """Undoes a `put`: sets an earlier state, or removes the stream."""
        if state is not None:
            self.put(state)
        elif resource in self._streams:
            self._remove(self._streams[resource])

    def state_of(self, resource: int) -> StreamState | None:
        stream = self._streams.get(resource)
        return stream.state if stream is not None else None

    def _remove(self, stream: Stream) -> None:
        state = stream.state
        self._streams.pop(state.resource, None)
        self._sealers.forget(_owner(state))
        self._names.pop((state.namespace, state.table_name, state.label), None)

    def drop_all(self) -> tuple[Batch, Batch, list[Part]]:
        """Removes every stream from memory.

        Returns the batch that marks them as ended, the batch that deletes them, and the parts to clear
        between the two commits.
        """
        streams, self._streams, self._names = list(self._streams.values()), {}, {}
        ended = [(each.row_key, orjson.dumps(replace(each.state, ended_ns=0).to_json())) for each in streams]
        keys = [stream.row_key for stream in streams]
        return (
            Batch(STREAMS_PART, puts=ended),
            Batch(STREAMS_PART, deletes=keys),
            [part for stream in streams for part in stream.parts],
        )

    async def change(self, stream: Stream, change: Callable[[StreamState], StreamState]) -> None:
        """Replaces the state of a stream; `change` gets the present one, and may raise an ApiError."""
        async with stream.rolling:
            state = stream.state
            await self._store(stream, state, change(state))

    # --- For readers ---

    async def shards(self, stream: Stream) -> list[Shard]:
        """Returns the current shards, sorted by id. Requires: the stream's lock held."""
        await self._roll(stream)
        state = stream.state
        if state.ended_ns is None:
            return state.shards
        ends = await self.last_sequences(stream.parts)
        return [
            replace(shard, last=ends[shard.slot]) if shard.last is None else shard for shard in state.shards
        ]

    async def last_sequences(self, parts: tuple[Part, ...]) -> list[int]:
        """Returns the newest log sequence of each part, 0 where none was written."""
        answer = await self.store.commit([Batch(part) for part in parts])
        assert not isinstance(answer, Conflict), "nothing was checked"
        return answer

    async def oldest_sequence(self, part: Part) -> int:
        """Returns the log sequence of the oldest entry; of the next one if there is none."""
        (last,) = await self.last_sequences((part,))  # first, so that no entry written meanwhile is missed
        oldest = await self.store.log(part, 0, 1)
        return oldest[0][0] if oldest else last + 1

    async def first_created_from(self, part: Part, at_ms: int, low: int, high: int) -> int:
        """Returns the first log sequence in low..high with an entry of `at_ms` or later; high + 1 if none.

        O(log n) reads of one entry each.
        """
        while low <= high:
            middle = (low + high) // 2
            found = await self.store.log(part, middle - 1, 1)
            if found and created_ms(found[0][1]) < at_ms:
                low = found[0][0] + 1
            else:
                high = middle - 1
        return low

    # --- Background work ---

    async def step(self) -> bool:
        """Rolls, trims or deletes one stream that is due. Returns False when none is."""
        now_ns = self.clock.now_ns()
        if now_ns < self._due_ns:
            return False
        earliest_ns = _NEVER_NS
        for stream in list(self._streams.values()):
            due_ns = stream.due_ns(self._lifetime_ns)
            if due_ns <= now_ns:
                await self._maintain(stream, now_ns)
                return True
            earliest_ns = min(earliest_ns, due_ns)
        self._due_ns = earliest_ns
        return False

    async def _maintain(self, stream: Stream, now_ns: int) -> None:
        if stream.is_gone(now_ns):
            self._remove(stream)
            for part in stream.parts:
                await self.store.clear(part)
            gone = Batch(STREAMS_PART, deletes=[stream.row_key])
            await self.store.commit([gone, *self._log.batches(STREAMS_PART, stream.row_key)])
            return
        try:
            async with stream.rolling:
                await self._roll(stream)
                await self._forget_shards(stream, now_ns)
                if stream.trim_due_ns <= now_ns:
                    stream.trim_due_ns = await self._trim(stream, now_ns)
        except KeyDenied:  # its entries stay as they are until the key is back
            stream.denied_until_ns = now_ns + _DENIED_NS

    async def _roll(self, stream: Stream) -> None:
        """Closes the open shards that are due, and opens their children. Requires: the lock held."""
        state = stream.state
        if state.ended_ns is not None:
            return
        now_ns = self.clock.now_ns()
        bounds = self._partitions(state)
        partitions = len(bounds)  # more may come while this waits
        split = partitions != stream.partitions  # they never merge, so other ones are more
        closing = [
            shard
            for shard in state.shards
            if shard.last is None
            and (now_ns >= shard.began_ns + self._lifetime_ns or (split and shard.cuts(bounds)))
        ]
        if closing:
            slots = sorted({shard.slot for shard in closing})
            entry = shard_end(now_ns)
            ended = await self.store.commit([Batch(stream.parts[slot], log=[entry]) for slot in slots])
            assert not isinstance(ended, Conflict), "nothing was checked"
            lasts = dict(zip(slots, ended, strict=True))
            # Shard ids distinguish rolls by milliseconds.
            began_ns = max(now_ns, max(shard.began_ns for shard in state.shards) + 1_000_000)
            closed = {
                shard.id: replace(shard, ended_ns=began_ns, last=lasts[shard.slot]) for shard in closing
            }
            shards = [closed.get(shard.id, shard) for shard in state.shards]
            shards += children(closing, bounds, began_ns, lasts, state.label)
            await self._store(stream, state, replace(state, shards=shards))
        stream.partitions = partitions

    async def _forget_shards(self, stream: Stream, now_ns: int) -> None:
        """Deletes the shards that closed 24 hours ago: all their records are trimmed. Requires: the lock."""
        shards = stream.state.shards
        kept = [each for each in shards if each.ended_ns is None or now_ns < each.ended_ns + RETENTION_NS]
        if len(kept) < len(shards):
            await self._store(stream, stream.state, replace(stream.state, shards=kept))

    async def _store(self, stream: Stream, before: StreamState, state: StreamState) -> None:
        """Stores what has become of a state. Raises Stale when another node has changed it too."""
        if stream.state is not before or isinstance(
            await self.store.commit(self.batches_for(state)), Conflict
        ):
            raise Stale
        if stream.state is before:  # else the log has been faster
            stream.state = state
        await self.committed(state)
        self._due_ns = 0

    async def _trim(self, stream: Stream, now_ns: int) -> int:
        """Deletes records that are too old. Returns when the next one will be."""
        keep_from_ms = (now_ns - RETENTION_NS) // 1_000_000 + 1
        due_ns = now_ns + RETENTION_NS
        for part in stream.parts:
            oldest = await self.store.log(part, 0, 1)
            if not oldest:
                continue
            sequence, entry = oldest[0]
            if created_ms(entry) < keep_from_ms:
                (last,) = await self.last_sequences((part,))
                kept = await self.first_created_from(part, keep_from_ms, sequence, last)
                await self.store.trim(part, kept)
                oldest = await self.store.log(part, kept - 1, 1)
            if oldest:
                due_ns = min(due_ns, created_ms(oldest[0][1]) * 1_000_000 + RETENTION_NS)
        return due_ns
