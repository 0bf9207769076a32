"""The database's own time, stored where it is ahead of the machine's."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path

import pytest

from faradisc.clock import LAST_NS, ManualClock, MovableClock
from faradisc.server.setting import SettingsError
from faradisc.server.settings import ServerSettings
from faradisc.server.timekeeping import StoredTime, data_clock, keep_time

HOUR_NS = 3600 * 10**9


def settings(directory: Path, **more: object) -> ServerSettings:
    return ServerSettings(data_dir=str(directory), **more)  # type: ignore[arg-type]


def test_virtual_clock_continues_after_a_restart(tmp_path: Path) -> None:
    machine = ManualClock()
    clock, stored = data_clock(settings(tmp_path, virtual_clock=True), machine)
    assert isinstance(clock, MovableClock) and stored is None
    assert clock.now_ns() == machine.now_ns()
    clock.advance(3600)
    clock.advance(0.5)
    again, _ = data_clock(settings(tmp_path, virtual_clock=True), machine)
    assert again.now_ns() == clock.now_ns() == machine.now_ns() + HOUR_NS + 10**9 // 2
    machine.advance(7200)
    later, _ = data_clock(settings(tmp_path, virtual_clock=True), machine)
    assert later.now_ns() == machine.now_ns(), "the machine's has passed it"


@pytest.mark.parametrize("factor", [1.0, 60.0])
def test_running_clock_continues_after_a_restart(tmp_path: Path, factor: float) -> None:
    machine = ManualClock()
    StoredTime(tmp_path).write(machine.now_ns() + HOUR_NS)
    clock, stored = data_clock(settings(tmp_path, time_scale=factor), machine)
    assert clock.now_ns() == machine.now_ns() + HOUR_NS
    begun = clock.now_ns()
    machine.advance(10)
    assert clock.now_ns() == begun + 10 * 10**9 * factor
    assert stored is not None


def test_time_of_the_machines_clock_is_not_stored(tmp_path: Path) -> None:
    machine = ManualClock()
    assert data_clock(settings(tmp_path), machine) == (machine, None)
    StoredTime(tmp_path).write(machine.now_ns() - 1)
    assert data_clock(settings(tmp_path), machine) == (machine, None)


def test_data_in_memory_stores_no_time() -> None:
    clock, _ = data_clock(ServerSettings(memory=True, virtual_clock=True, data_dir=""), ManualClock())
    assert isinstance(clock, MovableClock)
    clock.advance(5)
    assert StoredTime(None).read() == 0


def _wait_for(stored: StoredTime, now_ns: int) -> None:
    while stored.read() != now_ns:
        time.sleep(0.001)


def test_time_of_a_running_clock_is_stored_until_the_end(tmp_path: Path) -> None:
    clock, stored = ManualClock(), StoredTime(tmp_path)

    async def run() -> None:
        stop = asyncio.Event()
        keeping = asyncio.create_task(keep_time(clock, stored, stop))
        await asyncio.to_thread(_wait_for, stored, clock.now_ns())
        clock.advance(10)
        stop.set()
        await keeping

    asyncio.run(run())
    assert stored.read() == clock.now_ns()


@pytest.mark.parametrize("text", ["", "soon\n", "12", "-5\n", f"{LAST_NS + 1}\n", "1" * 400 + "\n"])
def test_invalid_stored_time_raises_settings_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "CLOCK").write_text(text)
    with pytest.raises(SettingsError, match="CLOCK does not hold a time"):
        data_clock(settings(tmp_path), ManualClock())


def test_failed_write_of_the_time_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        StoredTime(tmp_path / "missing").write(5)
    assert "could not be stored" in caplog.text


def test_scaled_clock_ends_in_the_year_2200() -> None:
    clock = ManualClock()
    with pytest.raises(ValueError, match="2200"):
        clock.advance(6e9)
    assert clock.now_ns() == 1_700_000_000 * 10**9
