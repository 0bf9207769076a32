"""Delivers one batch: queues, retries, bisection, partial failures, dead letters.

The records of a batch are distributed to queues by item, so that all records of one item are in one queue. A
queue is a list of pieces, and processes its first piece until that is done:

    delivered            continue with the next piece; or, with `redeliver`, once more from some record on
    failed in part       the records before the first failed one are done; the rest is a new piece
    failed               bisected if that is set and possible, otherwise retried after a pause
    failed too often     stored as a dead letter, with retries until that succeeds; then the next piece
    too old              records at the front that are too old become dead letters without an invocation

Nothing here waits: a piece in a pause has a due time. A bisection does not count as a retry; retries are
counted from 0 again after a partial success. Source: the behaviour of Lambda's event source mappings
(streams.md section 6).
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from random import Random

from faradisc.clock import Clock
from faradisc.records import dataclass
from faradisc.tools.consumers.dead_letters import FAILED, TOO_OLD, DeadLetters, Letter
from faradisc.tools.consumers.events import Record, event_of, first_failure
from faradisc.tools.consumers.handlers import Context, Invoke
from faradisc.tools.consumers.settings import ConsumerSettings
from faradisc.tools.consumers.statistics import Statistics

log = logging.getLogger("faradisc.tools.consumers")


@dataclass(slots=True)
class Piece:
    """Records that are delivered together."""

    records: list[Record]
    invocations: int = 0
    failures: int = 0
    """Consecutive failures, without bisections."""
    due_ns: int = 0
    letter: Letter | None = None
    """Set when the retries are exhausted; it is still to be stored."""
    letter_failures: int = 0
    redelivered: bool = False


class Queue:
    def __init__(self, records: list[Record]) -> None:
        self.pieces: deque[Piece] = deque([Piece(records)])

    @property
    def done(self) -> bool:
        return not self.pieces

    @property
    def due_ns(self) -> int:
        return self.pieces[0].due_ns if self.pieces else 0


class DeliveredBatch:
    def __init__(self, records: Sequence[Record], queues: int) -> None:
        self.count = len(records)
        self.last_sequence_number = records[-1].sequence_number
        by_queue: dict[int, list[Record]] = {}
        for record in records:
            by_queue.setdefault(record.item_hash % queues, []).append(record)
        self.queues = [Queue(members) for _, members in sorted(by_queue.items())]

    @property
    def done(self) -> bool:
        return all(queue.done for queue in self.queues)

    @property
    def due_ns(self) -> int:
        """Time at which the next unfinished queue can continue."""
        return min((queue.due_ns for queue in self.queues if not queue.done), default=0)


class Delivery:
    """Processes the queues of one shard's batches, several of them from several threads."""

    def __init__(
        self,
        *,
        invoke: Invoke,
        context: Context,
        settings: ConsumerSettings,
        clock: Clock,
        statistics: Statistics,
        dead_letters: DeadLetters | None,
    ) -> None:
        self._invoke = invoke
        self._context = context
        self._settings = settings
        self._clock = clock
        self._statistics = statistics
        self._dead_letters = dead_letters

    def process(self, queue: Queue, may_continue: Callable[[], bool]) -> None:
        """Processes a queue until it is done or pauses. `may_continue` is called before each invocation."""
        while not queue.done and queue.due_ns <= self._clock.now_ns() and may_continue():
            piece = queue.pieces[0]
            if piece.letter is not None:
                self._store_letter(queue, piece, piece.letter)
            elif not self._set_aside_too_old(queue, piece):
                self._deliver(queue, piece)

    # --- One invocation --------------------------------------------------------------------------

    def _deliver(self, queue: Queue, piece: Piece) -> None:
        self._statistics.add("invocations")
        if piece.failures:
            self._statistics.add("retries")
        piece.invocations += 1
        self._statistics.age(
            self._context.shard_id, (self._clock.now_ns() - piece.records[-1].created_ns) // 1_000_000
        )
        try:
            answer = self._invoke(event_of(piece.records), self._context)
            failed_at = first_failure(answer, piece.records)
        except Exception as error:
            # Any exception of the handler means that the batch has failed.
            self._failed(queue, piece, f"{type(error).__name__}: {error}")
            return
        if failed_at is None:
            again_from = self._again_from(piece)
            if again_from < len(piece.records):
                again = Piece(piece.records[again_from:], piece.invocations, redelivered=True)
                self._statistics.add("redelivered", len(again.records))
                queue.pieces.insert(1, again)
            queue.pieces.popleft()
            self._done(again_from)
            return
        error_text = f"the handler reported {piece.records[failed_at].sequence_number} as failed"
        if failed_at == 0:
            self._failed(queue, piece, error_text)
            return
        self._done(failed_at)
        piece.records = piece.records[failed_at:]
        piece.failures = 0
        self._failed(queue, piece, error_text)

    def _again_from(self, piece: Piece) -> int:
        """Returns the position from which on a handled piece is delivered again, its length for none.

        The chance of a record follows from its number, so it does not depend on batches and threads. All
        later records come again with it, because a worker continues at a checkpoint.
        """
        share, seed = self._settings.redeliver, self._settings.redeliver_seed
        if share and not piece.redelivered:
            for position, record in enumerate(piece.records):
                if Random(f"{seed} {record.sequence_number}").random() < share:
                    return position
        return len(piece.records)

    def _failed(self, queue: Queue, piece: Piece, error: str) -> None:
        self._statistics.add("failures")
        log.warning(
            "%s: %d records from %s on failed: %s",
            self._context.group,
            len(piece.records),
            piece.records[0].sequence_number,
            error,
        )
        settings = self._settings
        if settings.bisect and len(piece.records) > 1:
            self._statistics.add("bisections")
            middle = len(piece.records) // 2
            first = Piece(piece.records[:middle], piece.invocations, due_ns=self._after_pause(0))
            second = Piece(piece.records[middle:], piece.invocations)
            queue.pieces.popleft()
            queue.pieces.extendleft((second, first))
            return
        piece.failures += 1
        if settings.retries is not None and piece.failures > settings.retries:
            self._create_letter(piece, FAILED, error)
        else:
            piece.due_ns = self._after_pause(piece.failures - 1)

    def _set_aside_too_old(self, queue: Queue, piece: Piece) -> bool:
        """Makes a letter of the records at the front that are too old. Returns whether there were any."""
        if self._settings.max_record_age_s is None:
            return False
        # A record's time is rounded down to a second, so the record may be younger by that.
        oldest_ns = self._clock.now_ns() - int(self._settings.max_record_age_s * 1e9) - 999_999_999
        count = 0
        while count < len(piece.records) and piece.records[count].created_ns < oldest_ns:
            count += 1
        if not count:
            return False
        self._statistics.add("too_old", count)
        if count < len(piece.records):
            queue.pieces.insert(1, Piece(piece.records[count:]))
            piece.records = piece.records[:count]
        self._create_letter(piece, TOO_OLD, "")
        return True

    def _after_pause(self, failures: int) -> int:
        """Returns the time of the next retry after `failures` failures before the last one."""
        pause_s = min(self._settings.backoff_s * 2 ** min(failures, 30), self._settings.backoff_s_max)
        return self._clock.now_ns() + int(pause_s * 1e9)

    # --- Dead letters ----------------------------------------------------------------------------

    def _create_letter(self, piece: Piece, condition: str, error: str) -> None:
        context = self._context
        piece.due_ns = 0
        piece.letter = Letter(
            context.group,
            context.stream_arn,
            context.shard_id,
            condition,
            error,
            piece.invocations,
            self._clock.now_ns(),
            piece.records,
        )

    def _store_letter(self, queue: Queue, piece: Piece, letter: Letter) -> None:
        count = len(piece.records)
        if self._dead_letters is None:
            self._statistics.add("dropped", count)
            log.error(
                "%s: %d records from %s on are skipped (%s), because there is no dead-letter destination",
                letter.group,
                count,
                piece.records[0].sequence_number,
                letter.condition,
            )
        else:
            try:
                self._dead_letters.keep(letter)
            except Exception as error:
                # Retried after any error: the records are not stored elsewhere.
                self._statistics.add("dead_letter_failures")
                log.warning("%s: the dead-letter destination failed: %s", letter.group, error)
                piece.due_ns = self._after_pause(piece.letter_failures)
                piece.letter_failures += 1
                return
            self._statistics.add("dead_letters", count)
        queue.pieces.popleft()
        self._done(count)

    def _done(self, count: int) -> None:
        self._statistics.add("records_done", count)
