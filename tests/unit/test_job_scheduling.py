"""Workers: a failed job does not stop the others."""

from __future__ import annotations

import pytest

from faradisc.engine.jobs.runner import Job, Workers
from faradisc.storage.immediate import run


def test_failed_job_does_not_stop_other_jobs() -> None:
    ran: list[str] = []

    def job(name: str, outcome: bool | Exception) -> Job:
        async def step() -> bool:
            ran.append(name)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        return Job(name, step)

    workers = Workers([job("a", False), job("b", ValueError("first")), job("c", OSError()), job("d", True)])
    with pytest.raises(ValueError, match="first"):
        run(workers.step())
    assert ran == ["a", "b", "c", "d"]
    assert run(Workers([job("e", False), job("f", True), job("g", False)]).step())
    assert not run(Workers([job("h", False)]).step())
