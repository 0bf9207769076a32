"""The work of one worker on one shard: reads, delivers, stores checkpoints, and ends the shard.

A round does the work that is due and returns without waiting. Records are read into a buffer, leave it as a
batch when the batch is full or its window ends, and the checkpoint is stored when all records of the batch
are done.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from concurrent.futures import wait as wait_for

from faradisc.clock import Clock
from faradisc.tools.consumers.delivery import DeliveredBatch, Delivery
from faradisc.tools.consumers.events import Record
from faradisc.tools.consumers.leases import SHARD_END, ShardLease, ShardLeaseLost, ShardLeases
from faradisc.tools.consumers.reader import ShardReader
from faradisc.tools.consumers.settings import BATCH_BYTES_MAX, ConsumerSettings
from faradisc.tools.consumers.statistics import Statistics


class ShardWork:
    def __init__(
        self,
        lease: ShardLease,
        *,
        reader: ShardReader,
        delivery: Delivery,
        leases: ShardLeases,
        settings: ConsumerSettings,
        clock: Clock,
        statistics: Statistics,
        stopping: Callable[[], bool],
    ) -> None:
        self.shard_id = lease.shard_id
        self._lease = lease
        self._reader = reader
        self._delivery = delivery
        self._leases = leases
        self._settings = settings
        self._clock = clock
        self._statistics = statistics
        self._stopping = stopping
        self._buffer: list[Record] = []
        self._buffer_since_ns = 0
        self._batch: DeliveredBatch | None = None
        self.renewed_ns = clock.now_ns()
        """Time of the last successful renewal, set by the consumer."""
        self.handoff_to: str | None = None
        """The worker that requests the lease, which is handed over between two batches."""
        self.lost = False
        """Another worker has the lease."""
        self.ended = False
        """All records of the shard are done."""
        self.caught_up = False
        """The last read found no records, and none are buffered."""
        self.due_ns = 0
        """Time of the next round."""
        self.failures = 0
        """Consecutive rounds with a failure of the stream or the lease table."""

    @property
    def over(self) -> bool:
        return self.lost or self.ended

    @property
    def lease(self) -> ShardLease:
        return self._lease

    def round(self, queues: Executor | None = None) -> bool:
        """Does the work that is due. Returns False when there was none. `queues` runs the queues of a batch
        in parallel.

        Raises LeaseLost; Unavailable and exceptions of boto3 for failures of the stream or the lease table,
        after which the next round continues.
        """
        now_ns = self._clock.now_ns()
        if self._batch is None:
            if self.handoff_to is not None:
                self._leases.give(self._lease, self.handoff_to)
                self.lost = True
                return True
            found = self._fill(now_ns)
            self._batch = self._next_batch(now_ns)
            if self._batch is None:
                return self._idle(now_ns) or found
        batch = self._batch
        if not batch.done:
            self._deliver(batch, queues)
        if not batch.done:
            self.due_ns = batch.due_ns
            return False
        self._lease = self._leases.checkpoint(self._lease, batch.last_sequence_number)
        self._statistics.add("checkpoints")
        self._batch = None
        self.due_ns = 0
        return True

    def release(self) -> None:
        """Releases the lease; the next owner continues after the checkpoint."""
        if not self.over:
            self.lost = True
            self._leases.give(self._lease, None)

    # --- Reading ---------------------------------------------------------------------------------

    def _fill(self, now_ns: int) -> bool:
        """Reads a page unless the buffer has a full batch. Returns whether there were records."""
        if self._reader.ended or len(self._buffer) >= self._settings.batch_size:
            return False
        records = self._reader.read(now_ns // 1_000_000)
        if records:
            if not self._buffer:
                self._buffer_since_ns = now_ns
            self._buffer += records
        self.caught_up = not records and not self._buffer
        if self.caught_up:
            self._statistics.age(self.shard_id, 0)
        return bool(records)

    def _next_batch(self, now_ns: int) -> DeliveredBatch | None:
        """Returns the batch that is due, or None."""
        size = 0
        count = 0
        for record in self._buffer[: self._settings.batch_size]:
            size += record.size_bytes
            if count and size > BATCH_BYTES_MAX:
                break
            count += 1
        full = count == self._settings.batch_size or size > BATCH_BYTES_MAX or self._reader.ended
        if not count or not (full or now_ns >= self._window_end_ns):
            return None
        records, self._buffer = self._buffer[:count], self._buffer[count:]
        return DeliveredBatch(records, self._settings.parallel)

    @property
    def _window_end_ns(self) -> int:
        return self._buffer_since_ns + int(self._settings.batch_window_s * 1e9)

    def _idle(self, now_ns: int) -> bool:
        """Ends the shard, or sets the time of the next round. Returns whether the shard has ended."""
        if self._reader.ended and not self._buffer:
            self._lease = self._leases.checkpoint(self._lease, SHARD_END)
            self._statistics.add("shards_ended")
            self.ended = True
            return True
        self.due_ns = now_ns + int(self._settings.poll_s * 1e9)
        if self._buffer:
            self.due_ns = min(self.due_ns, self._window_end_ns)
        return False

    # --- Delivering ------------------------------------------------------------------------------

    def _deliver(self, batch: DeliveredBatch, queues: Executor | None) -> None:
        waiting = [queue for queue in batch.queues if not queue.done]
        if queues is None or len(waiting) == 1:
            for queue in waiting:
                self._delivery.process(queue, self._may_continue)
        else:
            running = [queues.submit(self._delivery.process, queue, self._may_continue) for queue in waiting]
            wait_for(running)
            for each in running:
                each.result()
        if self.lost:
            raise ShardLeaseLost(self.shard_id)

    def _may_continue(self) -> bool:
        return not self.lost and not self._stopping()
