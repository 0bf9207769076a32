"""Delivering one batch: lanes, retries, bisection, partial failures, dead letters.

A batch is split into lanes by item, so that records of one item stay in one lane. A lane is a row of
pieces, and works off its first piece until that is done:

    delivered            the next piece
    failed in part       what comes before the first failed record is done; the rest is a new piece
    failed               halved if that was asked for and it can be; else tried again after a pause
    failed too often     kept as a dead letter, which is tried until it succeeds; then the next piece
    too old              records from the front on that are too old are dead letters without a trial

Nothing here waits: a piece that has to pause says until when. A bisection does not count as a retry, and
the retries of a piece begin anew where some of it was done. Source: the behaviour of Lambda's event
source mappings (streams.md section 6).
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from faradisc.clock import Clock
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
    """In a row, bisections apart."""
    due_ns: int = 0
    letter: Letter | None = None
    """Set once the records are given up: only this is left to be kept."""
    letter_failures: int = 0


class Lane:
    def __init__(self, records: list[Record]) -> None:
        self.pieces: deque[Piece] = deque([Piece(records)])

    @property
    def done(self) -> bool:
        return not self.pieces

    @property
    def due_ns(self) -> int:
        return self.pieces[0].due_ns if self.pieces else 0


class Batch:
    def __init__(self, records: Sequence[Record], lanes: int) -> None:
        self.count = len(records)
        self.last_sequence_number = records[-1].sequence_number
        by_lane: dict[int, list[Record]] = {}
        for record in records:
            by_lane.setdefault(record.lane_hash % lanes, []).append(record)
        self.lanes = [Lane(members) for _, members in sorted(by_lane.items())]

    @property
    def done(self) -> bool:
        return all(lane.done for lane in self.lanes)

    @property
    def due_ns(self) -> int:
        """When the next lane that is not done can go on."""
        return min((lane.due_ns for lane in self.lanes if not lane.done), default=0)


class Delivery:
    """Works off the lanes of one shard's batches. Lanes may be given to it from several threads at a time."""

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

    def work(self, lane: Lane, go_on: Callable[[], bool]) -> None:
        """Go on with a lane until it is done or has to pause. `go_on` is asked before each trial."""
        while not lane.done and lane.due_ns <= self._clock.now_ns() and go_on():
            piece = lane.pieces[0]
            if piece.letter is not None:
                self._keep_letter(lane, piece, piece.letter)
            elif not self._set_aside_too_old(lane, piece):
                self._deliver(lane, piece)

    # --- One trial -------------------------------------------------------------------------------

    def _deliver(self, lane: Lane, piece: Piece) -> None:
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
            # Whatever a handler raises means that it has not handled the batch.
            self._failed(lane, piece, f"{type(error).__name__}: {error}")
            return
        if failed_at is None:
            lane.pieces.popleft()
            self._done(len(piece.records))
            return
        error_text = f"the handler reported {piece.records[failed_at].sequence_number} as failed"
        if failed_at == 0:
            self._failed(lane, piece, error_text)
            return
        self._done(failed_at)
        piece.records = piece.records[failed_at:]
        piece.failures = 0
        self._failed(lane, piece, error_text)

    def _failed(self, lane: Lane, piece: Piece, error: str) -> None:
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
            lane.pieces.popleft()
            lane.pieces.extendleft((second, first))
            return
        piece.failures += 1
        if settings.retries is not None and piece.failures > settings.retries:
            self._give_up(piece, FAILED, error)
        else:
            piece.due_ns = self._after_pause(piece.failures - 1)

    def _set_aside_too_old(self, lane: Lane, piece: Piece) -> bool:
        """Give up the records at the front that are too old; whether there were any."""
        if self._settings.max_record_age_s is None:
            return False
        # A record's time is rounded down to a second; it may be that much younger.
        oldest_ns = self._clock.now_ns() - int(self._settings.max_record_age_s * 1e9) - 999_999_999
        count = 0
        while count < len(piece.records) and piece.records[count].created_ns < oldest_ns:
            count += 1
        if not count:
            return False
        self._statistics.add("too_old", count)
        if count < len(piece.records):
            lane.pieces.insert(1, Piece(piece.records[count:]))
            piece.records = piece.records[:count]
        self._give_up(piece, TOO_OLD, "")
        return True

    def _after_pause(self, failures: int) -> int:
        """When to try again after so many failures before the last one."""
        pause_s = min(self._settings.backoff_s * 2 ** min(failures, 30), self._settings.backoff_s_max)
        return self._clock.now_ns() + int(pause_s * 1e9)

    # --- The end of a record ---------------------------------------------------------------------

    def _give_up(self, piece: Piece, condition: str, error: str) -> None:
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

    def _keep_letter(self, lane: Lane, piece: Piece, letter: Letter) -> None:
        count = len(piece.records)
        if self._dead_letters is None:
            self._statistics.add("dropped", count)
            log.error(
                "%s: %d records from %s on are given up (%s), and there is no dead-letter destination",
                letter.group,
                count,
                piece.records[0].sequence_number,
                letter.condition,
            )
        else:
            try:
                self._dead_letters.keep(letter)
            except Exception as error:
                # Tried again, whatever it was: the records are in no other place.
                self._statistics.add("dead_letter_failures")
                log.warning("%s: the dead-letter destination failed: %s", letter.group, error)
                piece.due_ns = self._after_pause(piece.letter_failures)
                piece.letter_failures += 1
                return
            self._statistics.add("dead_letters", count)
        lane.pieces.popleft()
        self._done(count)

    def _done(self, count: int) -> None:
        self._statistics.add("records_done", count)
