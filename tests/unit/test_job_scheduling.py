"""Workers: a failed job does not stop the others. Attempts: what follows an error of what a job works on."""

from __future__ import annotations

import pytest

from faradisc.clock import ManualClock
from faradisc.engine.jobs.runner import TRIES, Attempts, Job, Work, Workers
from faradisc.errors import AccessDeniedException, StorageError
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


class Scene:
    """Works of one job; each step takes the next outcome of the first work that is not ready."""

    def __init__(self, *, is_lasting: bool = False, **outcomes: list[object]) -> None:
        """outcomes: of the steps of each work. is_lasting: none is given up."""
        self.clock = ManualClock()
        self.attempts = Attempts(self.clock)
        self.log: list[str] = []
        self._outcomes = outcomes
        self._is_lasting = is_lasting

    def step(self) -> bool:
        return run(self.attempts.step(self._work(name) for name, left in self._outcomes.items() if left))

    def _work(self, name: str) -> Work:
        async def step() -> int | None:
            outcome = self._outcomes[name].pop(0)
            self.log.append(f"{name}: {outcome}")
            if isinstance(outcome, Exception):
                raise outcome
            assert outcome is None or isinstance(outcome, int)
            return outcome

        async def give_up(reason: Exception) -> None:
            self.log.append(f"{name} ends: {reason}")
            self._outcomes[name].clear()

        async def undo() -> None:
            self.log.append(f"{name} back")

        return Work(name, step, None if self._is_lasting else give_up, undo, (LookupError,))


def test_work_is_tried_again_and_then_given_up() -> None:
    fault = RuntimeError("a fault")
    scene = Scene(a=[None, fault, None, fault, fault, None], b=[3, 0])
    assert [scene.step() for _ in range(7)] == [True, True, True, True, True, True, False]
    assert scene.log == [
        *("a: None", "a: a fault", "a back", "a: None", "a: a fault", "a back", "a: a fault", "a back"),
        *("a ends: An internal error ended it: RuntimeError: a fault", "b: 3", "b: 0"),
    ]
    assert scene.attempts.failed == {} and TRIES == 3


def test_hopeless_work_is_given_up_at_once() -> None:
    scene = Scene(a=[LookupError("gone"), None])
    assert scene.step() and not scene.step()
    assert scene.log == ["a: gone", "a back", "a ends: gone"]


@pytest.mark.parametrize("error", [StorageError("the disk"), AccessDeniedException("no key")])
def test_error_of_the_store_is_raised_and_undone_before_the_next_step(error: Exception) -> None:
    scene = Scene(a=[error, error, error, error, None])
    for _ in range(4):
        with pytest.raises(type(error)):
            scene.step()
    assert scene.step()
    assert scene.log == [f"a: {error}", *["a back", f"a: {error}"] * 3, "a back", "a: None"]


def test_work_that_is_never_given_up_pauses_and_others_go_on() -> None:
    faults: list[object] = [RuntimeError("a fault")] * 9
    scene = Scene(is_lasting=True, a=[*faults, None], b=[LookupError("away"), 1])
    assert [scene.step() for _ in range(3)] == [True, True, False]
    assert scene.log == ["a: a fault", "a back", "b: away", "b back"]
    pauses = []
    for _ in range(8):
        pause_s = 0
        while scene.log[-2:] != ["a: a fault", "a back"]:
            scene.clock.advance(1)
            pause_s += 1
            scene.step()
        pauses.append(pause_s)
        scene.log.clear()
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    assert scene.attempts.failed.keys() == {"a"}, "b is done"
