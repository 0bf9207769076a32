"""Background work: jobs, what they work on, their attempts, and the scheduler.

A job has a name and a step. A step is bounded, and returns whether there was something to do. Only the
scheduler runs steps, so the same jobs run in a server's loop, between the requests of an in-process client,
and in a simulation. On a shared store one node at a time runs a job: the one that has the lease of its name;
or several nodes share the job, and each has the leases of some works (engine/cluster/leases.py).

What a job works on for many steps is a `Work`: an export, a table being restored, an index being filled.
Its progress is stored with what it has written, so that it goes on at its last commit. After an error:

    StorageError                     raised; it goes on when the store can be used again
    an error in `hopeless`           it is given up
    any other, which is a fault      it is tried again at the next step, TRIES times in all, and given up
    any, of what must not be lost    it is tried again after 1, 2, 4 ... 60 s, and others go on meanwhile

An example, an import whose second page has a fault, among two imports:

    step   work   what happens                        errors of A
    1      A      page 1 is committed                 0
    2      A      page 2 fails; back to page 1        1
    3, 4   A      page 2 fails again                  2, 3: A has failed, and its table is deleted
    5      B      page 1 is committed
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import ClassVar, Protocol

from faradisc.clock import Clock
from faradisc.errors import AccessDeniedException, StorageError
from faradisc.records import dataclass

log = logging.getLogger("faradisc.engine.jobs")

Step = Callable[[], Awaitable[bool]]

RAISE_UNEXPECTED = False
"""Raises the unexpected errors of works; set by simulations, so that a fault is found where it is."""
TRIES = 3
"""Unexpected errors of one work, after the last of which it is given up."""
PAUSE_S_MAX = 60
"""Longest pause before the next attempt of what is never given up."""


class InternalFault(Exception):
    """What a work is given up for after a fault of this program. The text names it."""


@dataclass(frozen=True, slots=True)
class Job:
    name: str
    step: Step
    """Does one bounded piece of work. Returns False when there was nothing to do."""
    taken: Callable[[], Awaitable[None]] | None = None
    """Called before the first step after this node has become the one of several that runs the job."""
    lost: Callable[[], Awaitable[None]] | None = None
    """Called when another node runs the job from now on."""
    stays: ClassVar[bool] = False
    """A job goes to a node that starts, if it is that one's turn."""
    shared: tuple[Attempts, ...] = ()
    """The attempts of the works that several nodes share, a lease each. Beside these works, `step` does only
    what any number of nodes may do at the same time. (): one node runs the job."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a job works on until it is done, as it is at the beginning of a step."""

    name: str
    """Unique among the works of a job; in log lines."""
    step: Callable[[], Awaitable[int | None]]
    """Does one bounded piece of it. Returns False, or 0, when it has to wait."""
    give_up: Callable[[Exception], Awaitable[None]] | None = None
    """Ends it, and removes what it has made; the text of the error says why. None: it is never given up."""
    undo: Callable[[], Awaitable[None]] | None = None
    """Brings what is in memory back to the last commit, after an error and before anything else."""
    hopeless: tuple[type[Exception], ...] = ()
    """Errors that another attempt does not mend."""
    taken: Callable[[], Awaitable[None]] | None = None
    """Called before the first step after this node has become the one of several that works on it."""
    lost: Callable[[], Awaitable[None]] | None = None
    """Called when another node works on it from now on, or when it has ended."""
    stays: bool = False
    """Whether it stays with its node as long as that lives: what it has there would be lost. Other works go
    to nodes that start, too."""


class WorkTurns(Protocol):
    """Which works of a job this node takes steps of, where several nodes share the job."""

    async def step(self, work: Work, attempt: Callable[[Work], Awaitable[bool]]) -> bool | None:
        """Returns what an attempt returns; None if another node works on it, or is about to."""
        ...

    async def settle(self) -> None:
        """Gives back what has had nothing to do for a while."""
        ...


@dataclass(slots=True)
class _Failed:
    """The errors of one work."""

    count: int = 0
    """Unexpected ones."""
    pauses: int = 0
    is_undone: bool = True
    due_ns: int = 0
    """When it is tried again."""


class Attempts:
    """Takes steps of the works of one job, and remembers which have failed."""

    def __init__(self, clock: Clock, *, one_at_a_time: bool = False, each: bool = False) -> None:
        """one_at_a_time: no step of another work while the first one of this node has to wait. each: a step
        of every work, because they have no end and must not wait for each other."""
        self._clock = clock
        self._each = each
        self._one_at_a_time = one_at_a_time
        self.failed: dict[str, _Failed] = {}
        """By name of a work that exists."""
        self.turns: WorkTurns | None = None
        """None: this node works on all."""

    async def step(self, works: Iterable[Work]) -> bool:
        """Takes a step of the first work with something to do, or of each. Returns False if nothing was done.

        Raises StorageError; AccessDeniedException when the key of a table cannot be used.
        """
        if self.failed:
            works = list(works)
            self.failed = {work.name: self.failed[work.name] for work in works if work.name in self.failed}
        busy = False
        for work in works:
            failed = self.failed.get(work.name)
            if failed is not None and self._clock.now_ns() < failed.due_ns:
                continue
            done = await (self._try(work) if self.turns is None else self.turns.step(work, self._try))
            busy = bool(done) or busy
            if not self._each and (done or (done is not None and self._one_at_a_time)):
                break
        if self.turns is not None:
            await self.turns.settle()
        return busy

    async def _try(self, work: Work) -> bool:
        try:
            await self._undo(work)
            done = await work.step()
            return done is None or done > 0
        except Exception as error:
            failed = self.failed.setdefault(work.name, _Failed())
            failed.is_undone = False
            reason = error
            if not isinstance(error, work.hopeless):
                if RAISE_UNEXPECTED or isinstance(error, StorageError | AccessDeniedException):
                    raise
                failed.count += 1
                log.error("%s: failure %d of %d: %s", work.name, failed.count, TRIES, error, exc_info=error)
                reason = InternalFault(f"An internal error ended it: {type(error).__name__}: {error}")
            await self._undo(work)
            if work.give_up is None:
                pause_s = min(2**failed.pauses, PAUSE_S_MAX)
                failed.pauses += 1
                failed.due_ns = self._clock.now_ns() + pause_s * 1_000_000_000
                log.error("%s is tried again in %d s: %s", work.name, pause_s, reason)
            elif failed.count >= TRIES or reason is error:
                await work.give_up(reason)
                del self.failed[work.name]
        return True

    async def _undo(self, work: Work) -> None:
        failed = self.failed.get(work.name)
        if failed is not None and not failed.is_undone:
            if work.undo is not None:
                await work.undo()
            failed.is_undone = True


class Workers:
    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = tuple(jobs)

    async def step(self) -> bool:
        """Runs one step of every job. Returns whether any of them had work to do.

        A failed job does not keep the others from their step; the first exception is raised at the end.
        """
        busy = False
        failure: Exception | None = None
        for job in self._jobs:
            try:
                busy = await job.step() or busy
            except AccessDeniedException as error:
                # The key of an encrypted table cannot be used, which the job of the keys has not seen yet.
                log.warning("%s: %s", job.name, error)
            except Exception as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return busy
