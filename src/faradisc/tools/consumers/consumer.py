"""A consumer: one worker of a group that reads one stream.

    consumer = consume("orders", handler, group="billing", endpoint_url="http://127.0.0.1:8000")
    consumer.run()                  # until stop() is called, from a signal handler or another thread

The workers of a group share the shards by leases (leases.py, balance.py). Every record that is read before it
is trimmed is handled at least once; records of one item are handled in order, parent shards before their
children.

Without threads, `step` does the work that is due and `drain` works until nothing is left; with an injected
clock both run the whole protocol without waiting.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from faradisc.clock import Clock
from faradisc.tools.consumers.balance import LeaseAges, plan
from faradisc.tools.consumers.dead_letters import DeadLetters
from faradisc.tools.consumers.delivery import Delivery
from faradisc.tools.consumers.handlers import Context, Invoke
from faradisc.tools.consumers.leases import LATEST, GroupStart, ShardLease, ShardLeaseLost, ShardLeases
from faradisc.tools.consumers.lineage import group_start, list_shards, new_leases, old_leases
from faradisc.tools.consumers.publishing import ConsumerMetrics
from faradisc.tools.consumers.reader import ShardReader, StreamUnavailable
from faradisc.tools.consumers.settings import ConsumerSettings
from faradisc.tools.consumers.shard_work import ShardWork
from faradisc.tools.consumers.statistics import Statistics

log = logging.getLogger("faradisc.tools.consumers")

_FAILURES = (StreamUnavailable, ClientError, BotoCoreError)
"""Errors of the stream or of the lease table; the operation is retried."""

_PAUSE_S_MAX = 0.5
"""Longest wait of `run` while handlers are busy, which limits the delay of a renewal."""


class Consumer:
    def __init__(
        self,
        streams: Any,
        stream_arn: str,
        *,
        group: str,
        worker: str,
        invoke: Invoke,
        leases: ShardLeases,
        settings: ConsumerSettings,
        clock: Clock,
        dead_letters: DeadLetters | None = None,
        metrics: ConsumerMetrics | None = None,
        sleep: Callable[[float], Any] | None = None,
    ) -> None:
        """streams: a boto3 client of dynamodbstreams. sleep: used by `run` and `drain` to wait; by default a
        wait that `stop` ends. `consume` has a simpler interface."""
        self.stream_arn = stream_arn
        self.group = group
        self.worker = worker
        self.settings = settings
        self._streams = streams
        self._invoke = invoke
        self._leases = leases
        self._clock = clock
        self._dead_letters = dead_letters
        self._metrics = metrics
        self._stop = threading.Event()
        self._sleep = sleep or self._stop.wait
        self._statistics = Statistics()
        self._lease_ages = LeaseAges(int(settings.lease_s * 1e9))
        self._start: GroupStart | None = None
        self._fresh: set[str] = set()
        """Shards at whose end this worker has just started the group: LATEST means now."""
        self._work: dict[str, ShardWork] = {}
        self._sync_due_ns = 0

    # --- Interface -------------------------------------------------------------------------------

    @property
    def shards(self) -> list[str]:
        """The shards of this worker."""
        return sorted(self._work)

    def statistics(self) -> dict[str, Any]:
        """Returns the counts (statistics.Counts), `iterator_age_ms`, and the present number of `shards`."""
        return {**self._statistics.snapshot(), "shards": len(self._work)}

    def step(self) -> bool:
        """Does the work that is due, in this thread. Returns False when there was nothing to do.

        Raises exceptions of boto3 when the group cannot be started, for example without the stream or without
        the right to create the lease table. Later failures are counted and retried.
        """
        busy = self._maintain()
        for work in [self._work[shard_id] for shard_id in self.shards]:
            if not work.over and work.due_ns <= self._clock.now_ns():
                busy = self._round(work, None) or busy
                self._renew()
        self._collect()
        return busy

    def drain(self) -> None:
        """Works until all records of this worker's shards and of their children are done, including those of
        changes that the handler makes to the table meanwhile.

        Waits for pauses and batch windows, so it never returns if a handler always fails and retries are
        unlimited, or if each invocation causes another.
        """
        while not self._stop.is_set():
            before = self._statistics.counts.invocations
            self._read_all_shards()
            if self._statistics.counts.invocations == before:
                return

    def _read_all_shards(self) -> None:
        """Works until each shard's end was reached once. Invocations for later shards may have added records
        to earlier ones."""
        for work in self._work.values():
            work.caught_up = False
            work.due_ns = min(work.due_ns, self._clock.now_ns())
        self._sync_due_ns = 0
        while not self._stop.is_set():
            busy = self.step()
            pending = [work for work in self._work.values() if not work.caught_up]
            if busy or self._sync_due_ns == 0:
                continue
            if not pending:
                return
            due_ns = min(work.due_ns for work in pending)
            pause_ns = min(due_ns, self._sync_due_ns) - self._clock.now_ns()
            if pause_ns > 0:
                self._sleep(pause_ns / 1e9)

    def run(self) -> None:
        """Works until `stop` is called, shards in parallel threads. Then releases the leases."""
        try:
            with ExitStack() as pools:
                shard_pool = pools.enter_context(ThreadPoolExecutor(self.settings.threads, "faradisc-shard"))
                queue_pool = None
                if self.settings.parallel > 1:
                    queue_pool = pools.enter_context(
                        ThreadPoolExecutor(self.settings.threads, "faradisc-queue")
                    )
                # Called before the pools are shut down, so that no queue starts another invocation.
                pools.callback(self._stop.set)
                self._run(shard_pool, queue_pool)
        finally:
            self.close()

    def stop(self) -> None:
        """Makes `run` and `drain` return after the running invocations. May be called from any thread."""
        self._stop.set()

    def close(self) -> None:
        """Releases the leases, so that other workers take them at once."""
        self._stop.set()
        for work in self._work.values():
            try:
                work.release()
            except (ShardLeaseLost, *_FAILURES) as error:
                # The lease expires.
                log.info("%s: the lease of %s was not released: %s", self.group, work.shard_id, error)
        self._work.clear()

    def __enter__(self) -> Consumer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- With threads ----------------------------------------------------------------------------

    def _run(self, shard_pool: Executor, queue_pool: Executor | None) -> None:
        running: dict[Future[bool], ShardWork] = {}
        while not self._stop.is_set():
            self._maintain()
            now_ns = self._clock.now_ns()
            active = {work.shard_id for work in running.values()}
            idle = [work for work in self._work.values() if work.shard_id not in active and not work.over]
            for work in idle:
                if work.due_ns <= now_ns:
                    running[shard_pool.submit(self._round, work, queue_pool)] = work
            due_ns = min([work.due_ns for work in idle if work.due_ns > now_ns] + [self._sync_due_ns])
            pause_s = max(min((due_ns - now_ns) / 1e9, _PAUSE_S_MAX), 0.001)
            if running:
                done, _ = wait_for(running, timeout=pause_s, return_when=FIRST_COMPLETED)
                for future in done:
                    running.pop(future)
                    future.result()
            else:
                self._sleep(pause_s)
            self._collect(but={work.shard_id for work in running.values()})

    # --- Rounds ----------------------------------------------------------------------------------

    def _round(self, work: ShardWork, queues: Executor | None) -> bool:
        """Does a round of one shard, and handles its failures."""
        if self._clock.now_ns() - work.renewed_ns >= self.settings.lease_s * 1e9:
            # Another worker may have the shard; the next renewal decides.
            work.due_ns = self._clock.now_ns() + int(self.settings.poll_s * 1e9)
            return False
        try:
            busy = work.round(queues)
            work.failures = 0
            return busy
        except ShardLeaseLost:
            self._lose(work)
        except _FAILURES as error:
            self._failed(error)
            pause_s = self.settings.backoff_s * 2 ** min(work.failures, 30)
            work.failures += 1
            work.due_ns = self._clock.now_ns() + int(min(pause_s, self.settings.backoff_s_max) * 1e9)
        return False

    def _collect(self, but: set[str] | frozenset[str] = frozenset()) -> None:
        """Removes the shards that are over, except those in `but`, which are still in a round."""
        for shard_id in [each for each, work in self._work.items() if work.over and each not in but]:
            if self._work.pop(shard_id).ended:
                # Its children may be read now.
                self._sync_due_ns = 0
            self._statistics.remove(shard_id)

    def _lose(self, work: ShardWork) -> None:
        if not work.lost:
            work.lost = True
            self._statistics.add("leases_lost")

    def _failed(self, error: Exception) -> None:
        self._statistics.add("errors")
        log.warning("%s: %s; it will be retried", self.group, error)

    # --- Leases ----------------------------------------------------------------------------------

    def _maintain(self) -> bool:
        """Renews leases and reads shards and leases when it is due. Returns True when its shards have
        changed."""
        self._renew()
        self._publish()
        now_ns = self._clock.now_ns()
        if now_ns < self._sync_due_ns:
            return False
        self._sync_due_ns = now_ns + int(self.settings.sync_s * 1e9)
        if self._start is None:
            return self._sync()
        try:
            return self._sync()
        except _FAILURES as error:
            self._failed(error)
            return False

    def _publish(self) -> None:
        if self._metrics is not None:
            try:
                self._metrics.publish(self._statistics, self._clock)
            except _FAILURES as error:
                self._failed(error)

    def _renew(self) -> None:
        """Renews every lease after a third of its time."""
        now_ns = self._clock.now_ns()
        for work in list(self._work.values()):
            if work.over or now_ns - work.renewed_ns < self.settings.lease_s * 1e9 / 3:
                continue
            try:
                work.handoff_to = self._leases.renew(work.lease).handoff_to
                work.renewed_ns = now_ns
            except ShardLeaseLost:
                self._lose(work)
            except _FAILURES as error:
                self._failed(error)

    def _sync(self) -> bool:
        """Reads shards and leases; creates, deletes, takes and requests leases."""
        shards = list_shards(self._streams, self.stream_arn)
        now_ns = self._clock.now_ns()
        if self._start is None:
            self._leases.ensure()
            mine = group_start(shards, now_ns // 1_000_000, latest=self.settings.start == "latest")
            self._start = self._leases.begin(mine)
            if self._start is mine:
                self._fresh = set(mine.open_shards)
        leases = self._leases.all()
        for lease in new_leases(shards, leases, self._start):
            if self._leases.create(lease):
                leases[lease.shard_id] = lease
        for lease in old_leases(shards, leases.values()):
            self._leases.delete(lease)
        self._lease_ages.observe(leases, now_ns)
        for work in self._work.values():
            lease_now = leases.get(work.shard_id)
            if lease_now is None or lease_now.switches != work.lease.switches:
                self._lose(work)
        changed = False
        # Handed over to this worker, or left by an earlier one of the same name.
        given = [lease for lease in leases.values() if lease.owner == self.worker and not lease.ended]
        for lease in [lease for lease in given if lease.shard_id not in self._work]:
            changed = self._take(lease) or changed
        planned = plan(leases.values(), self.worker, self._lease_ages, now_ns)
        for lease in planned.take:
            if lease.shard_id not in self._work:
                changed = self._take(lease) or changed
        for lease in planned.request:
            self._leases.request(lease, self.worker)
        return changed

    def _take(self, lease: ShardLease) -> bool:
        assert self._start is not None, "leases are read after the start of the group"
        taken = self._leases.take(lease, self.worker)
        if taken is None:
            return False
        self._statistics.add("leases_taken")
        latest_is_ms = None
        if taken.checkpoint == LATEST and taken.shard_id not in self._fresh:
            latest_is_ms = self._start.began_ms
        self._fresh.discard(taken.shard_id)
        reader = ShardReader(
            self._streams, self.stream_arn, taken, self._statistics, latest_is_ms=latest_is_ms
        )
        delivery = Delivery(
            invoke=self._invoke,
            context=Context(self.group, self.stream_arn, taken.shard_id, self.worker),
            settings=self.settings,
            clock=self._clock,
            statistics=self._statistics,
            dead_letters=self._dead_letters,
        )
        self._work[taken.shard_id] = ShardWork(
            taken,
            reader=reader,
            delivery=delivery,
            leases=self._leases,
            settings=self.settings,
            clock=self._clock,
            statistics=self._statistics,
            stopping=self._stop.is_set,
        )
        try:
            # At once, because LATEST means the present time.
            reader.begin(self._clock.now_ns() // 1_000_000)
        except _FAILURES as error:
            self._failed(error)
        return True
