"""The background job that delivers captured changes to Kinesis.

The log of each slot is delivered separately, oldest entries first, one request at a time. Delivered entries
are trimmed from the log, so the log contains what is still to be delivered; after a crash trimmed entries may
return and be delivered again. The service guarantees neither order nor uniqueness, and retries for 24 hours
(streams.md section 7); so does this job.

A new destination begins with a question for its stream. A request that the endpoint rejects is sent again in
halves, until the rejected record is alone; it is logged and skipped. The deletion of a table ends its
delivery.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial

from faradisc.clock import Clock, Entropy
from faradisc.engine.derived.capture import Capture
from faradisc.engine.jobs.runner import Attempts, Work
from faradisc.engine.kinesis.destinations import DEFAULT_PRECISION, parse_arn
from faradisc.engine.kinesis.document import document, partition_key
from faradisc.engine.kinesis.sender import Outgoing, Rejected, Sender
from faradisc.engine.streams.records import parse_entry
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.state import KinesisDestination, TableState
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.table_lifecycle import INACCESSIBLE
from faradisc.errors import ApiError
from faradisc.limits import STREAM_RETENTION_S
from faradisc.model.codec.keyspace import key_of_row, parts_of
from faradisc.records import dataclass
from faradisc.storage.api import Part, Store

log = logging.getLogger("faradisc.engine.kinesis")

REQUEST_BYTES_MAX = 5 * 1024 * 1024
"""Size of one PutRecords request."""
READ_MAX = 100
"""Entries read from a log at once; each may have two images of 400 KB."""

_PAUSE_S = 0.5
_PAUSE_S_MAX = 60.0


@dataclass(slots=True)
class _Flow:
    """The delivery of one slot."""

    part: Part
    sent: Future[list[int]] | None = None
    sequences: tuple[int, ...] = ()
    """Sequence numbers of the entries in the running request."""
    at_most: int = READ_MAX
    failures: int = 0
    due_ns: int = 0
    error: str = ""


class KinesisDelivery:
    def __init__(
        self, store: Store, catalog: Catalog, clock: Clock, entropy: Entropy, sender: Sender | None
    ) -> None:
        """sender: None without a configured endpoint; then captured changes are dropped after 24 hours."""
        self._store = store
        self._catalog = catalog
        self._clock = clock
        self._entropy = entropy
        self._sender = sender
        self._flows: dict[Part, _Flow] = {}
        self.attempts = Attempts(clock, each=True)
        self._asked: dict[int, Future[bool]] = {}
        """Questions for a stream that have no answer yet, by the destination's resource."""

    async def step(self) -> bool:
        """Collects results and sends what is due. Returns False when there was nothing to do."""
        found = list(self._destinations())
        known = {part for table, _, resource in found for part in parts_of(resource, table.state.slots)}
        for part in self._flows.keys() - known:
            del self._flows[part]
        return await self.attempts.step([self._work(*each) for each in found])

    def _work(self, table: Table, destination: KinesisDestination, resource: int) -> Work:
        async def lost() -> None:
            self._asked.pop(resource, None)
            for part in parts_of(resource, table.state.slots):
                self._flows.pop(part, None)

        step = partial(self._deliver, table, destination, resource)
        return Work(f"{destination.arn} of {table.arn}", step, lost=lost)

    async def _deliver(self, table: Table, destination: KinesisDestination, resource: int) -> bool:
        """Does what is due for one destination; returns False if that is nothing."""
        if destination.failed:
            return await self._finish(table, resource)
        if destination.enabled and not destination.asked:
            return await self._ask(table, destination, resource)
        busy, empty = False, True
        for part in parts_of(resource, table.state.slots):
            flow = self._flows.setdefault(part, _Flow(part))
            did, has_more = await self._flow_step(table, destination, flow)
            busy = did or busy
            empty = empty and not has_more
        ended_ns = destination.changed_ns + self._catalog.tables.transition_ns
        if empty and not destination.enabled and self._clock.now_ns() >= ended_ns:
            busy = await self._finish(table, resource) or busy
        return busy

    @property
    def can_deliver(self) -> bool:
        return self._sender is not None

    def error(self, resource: int | None, slots: int) -> str:
        """Returns the present error of a destination's deliveries; empty without one."""
        if resource is None:
            return ""
        flows = [self._flows.get(part) for part in parts_of(resource, slots)]
        return next((flow.error for flow in flows if flow is not None and flow.error), "")

    def close(self) -> None:
        if self._sender is not None:
            self._sender.close()

    def _destinations(self) -> Iterator[tuple[Table, KinesisDestination, int]]:
        for table, captured in self._catalog.tables.background_index.having(Capture):
            if table.state.status != INACCESSIBLE:
                yield table, captured.destination, captured.resource

    async def _ask(self, table: Table, destination: KinesisDestination, resource: int) -> bool:
        """Asks for the stream of a new destination, which has failed if there is none.

        Any other answer, and none, is one for the deliveries to find.
        """
        if self._sender is None:
            return False
        asked = self._asked.get(resource)
        if asked is None:
            asked = self._asked[resource] = self._sender.exists(*parse_arn(destination.arn))
        if not asked.done():
            return False
        del self._asked[resource]
        missing = asked.exception() is None and not asked.result()

        def change(state: TableState) -> bool:
            for each in state.kinesis:
                if each.resource == resource and each.enabled:
                    each.asked, each.failed, each.enabled = True, missing, not missing
            return False

        return await self._update(table, change)

    async def _flow_step(
        self, table: Table, destination: KinesisDestination, flow: _Flow
    ) -> tuple[bool, bool]:
        """Returns whether anything was done, and whether there is more to deliver."""
        collected = False
        if flow.sent is not None:
            if not flow.sent.done():
                return False, True
            await self._collect(flow, flow.sent)
            collected = True
        now_ns = self._clock.now_ns()
        if now_ns < flow.due_ns:
            return collected, True
        entries = await self._store.log(flow.part, 0, flow.at_most)
        if not entries:
            return collected, False
        oldest_us = (now_ns // 1_000_000_000 - STREAM_RETENTION_S) * 1_000_000
        region, stream = parse_arn(destination.arn)
        records: list[Outgoing] = []
        sequences: list[int] = []
        size = 0
        too_old = 0
        for sequence, entry in entries:
            change = parse_entry(entry)
            if change.at < oldest_us:
                too_old = sequence
                continue
            data = document(
                change,
                key_of_row(change.row_key, table.key),
                table=table.name,
                region=table.state.region,
                precision=destination.precision or DEFAULT_PRECISION,
                entropy=self._entropy,
            )
            size += len(data)
            if records and size > REQUEST_BYTES_MAX:
                break
            records.append(Outgoing(partition_key(change), data))
            sequences.append(sequence)
        if too_old:
            log.error("%s: records were dropped 24 hours after they were captured", table.name)
            await self._store.trim(flow.part, too_old + 1)
        if self._sender is None:
            flow.due_ns = now_ns + int(_PAUSE_S_MAX * 1e9)
            return collected or too_old > 0, True
        if records:
            flow.sequences = tuple(sequences)
            flow.sent = self._sender.send(region, stream, records)
        return True, True

    async def _collect(self, flow: _Flow, sent: Future[list[int]]) -> None:
        """Handles the result of a request: trims delivered entries, or sets the time of a retry.

        Only entries from the oldest on can be trimmed: records accepted after a failed one are sent again
        with it.
        """
        flow.sent = None
        error = sent.exception()
        if isinstance(error, Rejected) and len(flow.sequences) == 1:
            log.error("a record is skipped: %s", error)
            delivered = 1
        elif error is not None:
            flow.at_most = max(len(flow.sequences) // 2, 1) if isinstance(error, Rejected) else flow.at_most
            self._failed(flow, f"{type(error).__name__}: {error}", pause=not isinstance(error, Rejected))
            return
        else:
            failed = sent.result()
            delivered = min(failed) if failed else len(flow.sequences)
            if failed:
                if len(failed) < len(flow.sequences):
                    flow.failures = 0  # the endpoint accepts some: retry after the shortest pause
                self._failed(flow, f"{len(failed)} of {len(flow.sequences)} records were not accepted")
        if delivered:
            await self._store.trim(flow.part, flow.sequences[delivered - 1] + 1)
        if delivered == len(flow.sequences):
            flow.failures, flow.due_ns, flow.error = 0, 0, ""
            flow.at_most = min(2 * flow.at_most, READ_MAX)

    def _failed(self, flow: _Flow, text: str, *, pause: bool = True) -> None:
        if text != flow.error:
            log.warning("delivery to Kinesis failed: %s", text)
        flow.error = text
        if pause:
            pause_s = min(_PAUSE_S * 2 ** min(flow.failures, 30), _PAUSE_S_MAX)
            flow.due_ns = self._clock.now_ns() + int(pause_s * 1e9)
            flow.failures += 1

    async def _finish(self, table: Table, resource: int) -> bool:
        """Deletes the log of a disabled destination that is delivered completely.

        The log is deleted before its owner's entry, so a crash in between leaves no log without an owner.
        """
        for part in parts_of(resource, table.state.slots):
            await self._store.clear(part)

        def change(state: TableState) -> bool:
            for each in state.kinesis:
                if each.resource == resource and not each.enabled:
                    each.resource = None
            return False

        return await self._update(table, change)

    async def _update(self, table: Table, change: Callable[[TableState], bool]) -> bool:
        try:
            await self._catalog.update(table, change, while_in_use=True)
        except ApiError:
            return False  # the table was deleted or is being changed; the next step tries again
        return True
