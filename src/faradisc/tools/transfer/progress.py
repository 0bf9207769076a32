"""The progress of a long command: one line on standard error, rewritten, and only on a terminal."""

from __future__ import annotations

import sys
import threading
from types import TracebackType

from faradisc.clock import SystemClock

_EVERY_NS = 200_000_000
_BAR = 24
_WIDTH = 79
_MB = 1_000_000


class Progress:
    """How far a command is: rate, and with a total the share and the time left. A context manager, which
    clears the line at its end."""

    def __init__(self, total: int | None = None, what: str = "", unit: str = "items") -> None:
        """total: expected total of `done`, if it is known. what: the beginning of the line.
        unit: of `done` where no items are added; bytes are shown as megabytes."""
        self._out = sys.stderr
        self._clock = SystemClock()
        self._live = self._out.isatty()
        self._began_ns = self._shown_ns = self._clock.now_ns()
        self._lock = threading.Lock()
        self._what = f"{what} " if what else ""
        self._unit = unit
        self.total = total
        self.done = 0
        self.items = 0
        self.size_bytes = 0

    def add(self, items: int, size_bytes: int, done: int) -> None:
        """Adds items, their size, and a part of the total. May be called from any thread."""
        with self._lock:
            self.items += items
            self.size_bytes += size_bytes
            self.done += done
            self._show()

    def reach(self, done: int) -> None:
        """Sets how much is done."""
        with self._lock:
            self.done = done
            self._show()

    def passed(self, done: int) -> None:
        """Adds a part of the total."""
        self.reach(self.done + done)

    def _show(self) -> None:
        now = self._clock.now_ns()
        if self._live and now - self._shown_ns >= _EVERY_NS:
            self._shown_ns = now
            self._out.write("\r" + (self._what + self.line() + self._left()).ljust(_WIDTH)[:_WIDTH])
            self._out.flush()

    @property
    def _seconds(self) -> float:
        return max((self._clock.now_ns() - self._began_ns) / 1e9, 1e-9)

    def line(self) -> str:
        """Returns share and rate."""
        if not self.total:
            return self._rate()
        share = min(self.done / self.total, 1.0)
        bar = "#" * int(share * _BAR)
        return f"[{bar:<{_BAR}}] {share:4.0%} {self._rate()}"

    def _rate(self) -> str:
        if self.items or self._unit == "items":
            size_mb = self.size_bytes / _MB
            return f"{self.items:,} items, {size_mb:,.1f} MB, {size_mb / self._seconds:,.1f} MB/s"
        if self._unit == "bytes":
            return f"{self.done / _MB:,.1f} MB, {self.done / _MB / self._seconds:,.1f} MB/s"
        return f"{self.done:,} {self._unit}, {self.done / self._seconds:,.0f}/s"

    def _left(self) -> str:
        if not self.total or not 0 < self.done < self.total:
            return ""
        left_s = round(self._seconds * (self.total - self.done) / self.done)
        return f", {left_s // 60}:{left_s % 60:02} left"

    def end(self) -> None:
        """Clears the line."""
        if self._live:
            self._out.write("\r" + " " * _WIDTH + "\r")
            self._out.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
