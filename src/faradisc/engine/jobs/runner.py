"""Background work: named jobs, each a step function, and their scheduler.

A step is bounded, and returns whether there was something to do. Only the scheduler runs steps, so the same
jobs run in a server's loop, between the requests of an in-process client, and in a simulation.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from faradisc.errors import AccessDeniedException

log = logging.getLogger("faradisc.engine.jobs")

Step = Callable[[], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Job:
    name: str
    step: Step
    """Does one bounded piece of work. Returns False when there was nothing to do."""
    taken: Callable[[], Awaitable[None]] | None = None
    """Called before the first step after this node has become the one of several that runs the job."""
    lost: Callable[[], Awaitable[None]] | None = None
    """Called when another node runs the job from now on."""


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
