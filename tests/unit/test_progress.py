"""The progress of long commands: share, rate and time left on a terminal, and nothing elsewhere."""

from __future__ import annotations

import io
import sys

import pytest

from faradisc.clock import ManualClock
from faradisc.tools.transfer import progress as module
from faradisc.tools.transfer.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    made = ManualClock(1_000_000)
    monkeypatch.setattr(module, "SystemClock", lambda: made)
    return made


def test_items_with_a_total(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    out = Terminal()
    monkeypatch.setattr(sys, "stderr", out)
    with Progress(1000, "seed") as progress:
        clock.advance(10)
        progress.add(250, 5_000_000, 250)
        assert out.getvalue().strip() == (
            "seed [######                  ]  25% 250 items, 5.0 MB, 0.5 MB/s, 0:30 left"
        )
        progress.add(250, 0, 250)  # at once: not drawn again
    assert out.getvalue().count("\r") == 3
    assert out.getvalue().endswith(" \r")
    assert progress.line().startswith("[############            ]  50% 500 items")


@pytest.mark.parametrize(
    ("unit", "total", "line"),
    [
        ("bytes", 4_000_000, "backup [############            ]  50% 2.0 MB, 1.0 MB/s, 0:02 left"),
        ("rows", None, "backup 2,000,000 rows, 1,000,000/s"),
    ],
)
def test_other_units(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch, unit: str, total: int | None, line: str
) -> None:
    out = Terminal()
    monkeypatch.setattr(sys, "stderr", out)
    with Progress(total, "backup", unit) as progress:
        clock.advance(2)
        progress.reach(1_500_000)
        progress.passed(500_000)
    assert line.startswith(f"backup {progress.line()}")


def test_nothing_without_a_terminal(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stderr", out)
    with Progress(10) as progress:
        clock.advance(10)
        progress.add(5, 100, 5)
    assert out.getvalue() == ""
