"""One shard in the hands of one worker: read, deliver, checkpoint, and at its end say so.

A round does what is due and returns; nothing here waits. Records come into a buffer, leave it as a batch
when that is full or its window is over, and the checkpoint follows when every record of the batch is done.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from concurrent.futures import wait as wait_for

from faradisc.clock import Clock
from faradisc.tools.consumers.delivery import Batch, Delivery
from faradisc.tools.consumers.events import Record
from faradisc.tools.consumers.leases import SHARD_END, Lease, LeaseLost, Leases
from faradisc.tools.consumers.reader import ShardReader
from faradisc.tools.consumers.settings import BATCH_BYTES_MAX, ConsumerSettings
from faradisc.tools.consumers.statistics import Statistics


class ShardWork:
    def __init__(
        self,
        lease: Lease,
        *,
        reader: ShardReader,
        delivery: Delivery,
        leases: Leases,
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
        self._batch: Batch | None = None
        self.renewed_ns = clock.now_ns()
        """When the lease was last seen to be ours. Set by whoever renews it."""
        self.handoff_to: str | None = None
        """The worker that wants the lease; it gets it between two batches."""
        self.lost = False
        """Somebody else has the lease."""
        self.ended = False
        """Everything in the shard is done."""
        self.caught_up = False
        """The last read found nothing, and nothing waits."""
        self.due_ns = 0
        """When the next round has something to do."""
        self.failures = 0
        """Rounds in a row that the stream or the lease table has failed."""

    @property
    def over(self) -> bool:
        return self.lost or self.ended

    @property
    def lease(self) -> Lease:
        return self._lease

    def round(self, lanes: Executor | None = None) -> bool:
        """Do what is due; False when there was nothing. `lanes` runs the lanes of a batch side by side.

        Raises: LeaseLost; Unavailable, and what boto3 raises, when the stream or the lease table fails: the
        next round goes on where this one stopped.
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
            self._deliver(batch, lanes)
        if not batch.done:
            self.due_ns = batch.due_ns
            return False
        self._lease = self._leases.checkpoint(self._lease, batch.last_sequence_number)
        self._statistics.add("checkpoints")
        self._batch = None
        self.due_ns = 0
        return True

    def let_go(self) -> None:
        """Give the lease up: the next owner goes on behind the checkpoint."""
        if not self.over:
            self.lost = True
            self._leases.give(self._lease, None)

    # --- Reading ---------------------------------------------------------------------------------

    def _fill(self, now_ns: int) -> bool:
        """Read a page unless a batch is there; whether anything new was."""
        if self._reader.ended or len(self._buffer) >= self._settings.batch_size:
            return False
        records = self._reader.read(now_ns // 1_000_000)
        if records:
            if not self._buffer:
                self._buffer_since_ns = now_ns
            self._buffer += records
        self.caught_up = not records and not self._buffer
        return bool(records)

    def _next_batch(self, now_ns: int) -> Batch | None:
        """The batch that is to be delivered now, if there is one."""
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
        return Batch(records, self._settings.parallel)

    @property
    def _window_end_ns(self) -> int:
        return self._buffer_since_ns + int(self._settings.batch_window_s * 1e9)

    def _idle(self, now_ns: int) -> bool:
        """Nothing to deliver: end the shard, or wait. True when it has ended."""
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

    def _deliver(self, batch: Batch, lanes: Executor | None) -> None:
        waiting = [lane for lane in batch.lanes if not lane.done]
        if lanes is None or len(waiting) == 1:
            for lane in waiting:
                self._delivery.work(lane, self._go_on)
        else:
            trials = [lanes.submit(self._delivery.work, lane, self._go_on) for lane in waiting]
            wait_for(trials)
            for trial in trials:
                trial.result()
        if self.lost:
            raise LeaseLost(self.shard_id)

    def _go_on(self) -> bool:
        return not self.lost and not self._stopping()
