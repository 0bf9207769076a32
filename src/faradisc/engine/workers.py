"""Background work: named jobs, each a step function, under one scheduler.

A step is bounded: it does a little and says whether there was something to do. Nobody but the scheduler
decides when steps run, so the same jobs run in a server's loop, between the calls of an in-process
client, and in a simulation.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

log = logging.getLogger("faradisc.engine.workers")

Step = Callable[[], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Job:
    name: str
    step: Step
    """Does one bounded piece of work; False when there was nothing to do."""


class Workers:
    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = tuple(jobs)

    async def step(self) -> bool:
        """One step of every job. True when any of them found work.

        Raises what the first job that failed raised, when all others have had their step.
        """
        busy = False
        failure: Exception | None = None
        for job in self._jobs:
            try:
                busy = await job.step() or busy
            except Exception as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return busy
