"""The auditor checks every commit when it is made, and the stored state after every crash.

At the storage interface it reads which items a commit changes, and for which client: the change must follow
from the client's request by the rules of `requests`. At the client it compares answers with the model. All
tested code lies between the two.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import Any

import orjson

from faradisc.clock import ManualClock
from faradisc.engine.tables.layout import TableLayout
from faradisc.engine.tables.state import TableState
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import CATALOG_PART, SCALING_PART, key_of_row
from faradisc.storage.api import Batch, ReadOnlyStore
from fixtures import integrity
from fixtures.faulty_store import FaultyDisk
from fixtures.seeded_loop import running
from simulation.bulk import BulkBook
from simulation.model import Model, Place
from simulation.requests import THROTTLED, Changes, Request
from simulation.throughput import SERVICE, ThroughputAudit
from simulation.writes import Item, Key, key_of, number

_CATALOG_COUNTER = b"\xff"
SWEEP_SLACK_S = 10
"""The clock goes on while the last sweep is under way."""
RESTORED, IMPORTED = "restored-", "imported-"
"""Tables whose names begin so are filled by restores and imports, and judged by who asked for those."""
FILLED = (RESTORED, IMPORTED)


class Auditor:
    def __init__(self, disk: FaultyDisk, clock: ManualClock) -> None:
        self.disk = disk
        self.clock = clock
        self.model = Model()
        self.failures: list[str] = []
        self.seen: Counter[str] = Counter()
        """What the run has met, to know that a simulation simulates."""
        self.under_way: dict[str, Request] = {}
        """By strand: the request whose commits are made in its name."""
        self.streams: dict[tuple[str, str], list[int | None]] = {}
        """By table and label: the version with which a stream begins, and the one with which it ends."""
        self.captures: dict[tuple[str, int], list[int | None]] = {}
        """The same of what is captured for Kinesis, by table and resource."""
        self.bulk = BulkBook()
        self.throughput = ThroughputAudit(self.fail)
        self._tables: dict[int, TableLayout] = {}
        """By resource."""
        self._acknowledged = 0
        self._times_ns: list[tuple[int, int]] = []
        """When each commit was made, with its version."""

    def fail(self, text: str) -> None:
        self.failures.append(text)

    # --- At the storage seam ---------------------------------------------------------------------

    def watch(self, batches: Sequence[Batch], version: int) -> None:
        self.seen["commits"] += 1
        self._times_ns.append((self.clock.now_ns(), version))
        changes = self._changes(batches)
        if changes:
            self._judge_commit(changes, version)
            by_table: dict[str, dict[Key, Item | None]] = {}
            for (table, key), item in changes.items():
                by_table.setdefault(table, {})[key] = item
            for table, items in by_table.items():
                self.model.put(version, table, items)
        for batch in batches:
            if batch.part == CATALOG_PART:
                self._note_catalog(batch, version)
            elif batch.part == SCALING_PART:
                self.throughput.note_targets(batch, version, running())

    def _changes(self, batches: Sequence[Batch]) -> Changes:
        """Returns the changes of items that the rows of a commit make."""
        found: Changes = {}
        for batch in batches:
            table = self._tables.get(int.from_bytes(batch.part[:4], "big"))
            if table is None:
                continue
            for _, payload in batch.puts:
                item = item_record.decode(payload)
                found[table.name, key_of(item)] = item
            for row_key in batch.deletes:
                found[table.name, key_of(key_of_row(row_key, table.key))] = None
        return found

    def _judge_commit(self, changes: Changes, version: int) -> None:
        name = running()
        request = self.under_way.get(name)
        if name == SERVICE:
            for place, new in changes.items():
                self._judge_service(place, new, version)
        elif request is None:
            self.fail(f"no request asked for {changes} in version {version} ({name})")
        else:
            wrong = request.committed(self.model, version, changes, self.clock.now_ns())
            request.commits.append(version)
            if wrong is not None:
                self.fail(wrong)

    def _judge_service(self, place: Place, new: Item | None, version: int) -> None:
        """Checks commits of the background work: records of bulk operations, deletes of expired items."""
        if new is None:
            self._judge_expiry(place[0], self.model.newest(*place))
            return
        self.seen["items put in bulk"] += 1
        wrong = self.bulk.committed(self.model, place, new, version)
        if wrong is not None:
            self.fail(wrong)

    def _judge_expiry(self, table: str, old: Item | None) -> None:
        self.seen["expired items"] += 1
        ttl = self.model.tables[table]["ttl"]
        at_s = number(old, ttl["attribute"]) if ttl is not None and ttl["enabled"] else None
        if at_s is None or at_s > self.clock.now_ns() // 1_000_000_000:
            self.fail(f"{table}: the service deleted {old}, which did not expire: {ttl}")

    def _note_catalog(self, batch: Batch, version: int) -> None:
        tables = dict(self.model.tables)
        for key in batch.deletes:
            tables.pop(key.split(b"\x00")[1].decode(), None)
        for key, payload in batch.puts:
            if key == _CATALOG_COUNTER:
                continue
            state = orjson.loads(payload)
            before = tables.get(state["name"])
            tables[state["name"]] = state
            self._note_stream(state, before, version)
            self._note_captures(state, version)
            if state["name"] == THROTTLED and before is not None:
                self.throughput.note_table(state, before, version, running())
                self.seen["scaled"] = self.throughput.scaled
            if state["status"] == "DELETING":
                gone = dict.fromkeys(self.model.table_at(version, state["name"]))
                self.model.put(version, state["name"], gone)
        self.model.put_catalog(version, tables)
        self._learn_tables()

    def _note_stream(self, state: dict[str, Any], before: dict[str, Any] | None, version: int) -> None:
        was = before["stream"] if before is not None else None
        if was is not None and was != state["stream"]:
            assert before is not None
            self.streams[before["name"], before["latest_stream_label"]][1] = version
        if state["stream"] is not None and state["stream"] != was:
            self.streams[state["name"], state["latest_stream_label"]] = [version, None]

    def _note_captures(self, state: dict[str, Any], version: int) -> None:
        for destination in state["kinesis"]:
            if destination["resource"] is None:
                continue
            capture = self.captures.setdefault((state["name"], destination["resource"]), [version, None])
            if not destination["enabled"] and capture[1] is None:
                capture[1] = version

    def _learn_tables(self) -> None:
        states = [TableState.from_json(state) for state in self.model.tables.values()]
        self._tables = {
            state.resource: TableLayout(state)
            for state in states
            if state.status != "DELETING" and not state.name.startswith(FILLED)
        }

    def table(self, name: str) -> TableLayout:
        """Returns a table. Raises StopIteration when it does not exist."""
        return next(table for table in self._tables.values() if table.name == name)

    def version_at(self, moment_ns: int) -> int:
        """Returns the version of the last commit up to a time."""
        place = bisect_right(self._times_ns, (moment_ns, 1 << 62))
        return self._times_ns[place - 1][1] if place else 0

    # --- At the clients' end ---------------------------------------------------------------------

    def acknowledged(self, request: Request) -> None:
        self._acknowledged = max([self._acknowledged, *request.commits])

    # --- Judging a store -------------------------------------------------------------------------

    def crashed(self, kept: int) -> None:
        """Compares the state after a crash with the model, and continues from it."""
        if kept < self._acknowledged:
            self.fail(f"version {self._acknowledged} was acknowledged, the disk ends at {kept}")
        self.seen["crashes"] += 1
        self._times_ns = [each for each in self._times_ns if each[1] <= kept]
        self.seen["changes lost"] += self.model.roll_back(kept)
        self.bulk.roll_back(kept)
        self.throughput.crashed(self.disk.synced, kept)
        for noted in (self.streams, self.captures):
            for name, (began, ended) in list(noted.items()):  # type: ignore[attr-defined]
                if began > kept:
                    del noted[name]  # type: ignore[attr-defined]
                elif ended is not None and ended > kept:
                    noted[name][1] = None  # type: ignore[index]
        self._learn_tables()
        for request in self.under_way.values():
            self.seen["requests whose answer was lost"] += 1
            if any(version <= kept for version in request.commits):
                self.seen["writes kept without an answer"] += 1
        self.under_way.clear()
        self.judge(self.disk.synced, kept, "after a crash")

    def judge(self, store: ReadOnlyStore, version: int, when: str) -> None:
        """Checks the whole store at a version: every item, index, counter and collection.

        Requires: a store that never suspends (an image of the disk, a snapshot).
        """
        self.failures += [f"{when}: {text}" for text in integrity.problems(store)]  # type: ignore[arg-type]
        for table in integrity.tables(store):  # type: ignore[arg-type]
            if table.state.status == "DELETING" or table.name.startswith(FILLED):
                continue
            stored = {key_of(item): item for item in integrity.items_of(store, table.placement)}  # type: ignore[arg-type]
            modelled = self.model.table_at(version, table.name)
            if stored != modelled:
                wrong = sorted(
                    key for key in stored.keys() | modelled.keys() if stored.get(key) != modelled.get(key)
                )
                reported = [f"{key}: {stored.get(key)} instead of {modelled.get(key)}" for key in wrong]
                self.fail(f"{when}, version {version}: {table.name} holds {'; '.join(reported)}")

    def judge_expired(self) -> None:
        """Checks, after the background work, that no expired item is left except very recent ones."""
        now_s = self.clock.now_ns() // 1_000_000_000 - SWEEP_SLACK_S
        for table, state in self.model.tables.items():
            if state["ttl"] is None or not state["ttl"]["enabled"] or state["status"] == "DELETING":
                continue
            for key, item in self.model.table_at(1 << 62, table).items():
                at_s = number(item, state["ttl"]["attribute"])
                if at_s is not None and at_s <= now_s:
                    self.fail(f"{table} {key} has expired at {at_s} and is still there at {now_s}: {item}")
