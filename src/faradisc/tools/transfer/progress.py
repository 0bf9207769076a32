"""The progress of a transfer, as one line that is rewritten on a terminal."""

from __future__ import annotations

import sys
import threading

from faradisc.clock import SystemClock

_EVERY_NS = 200_000_000
_BAR = 24
_MB = 1_000_000


class Progress:
    def __init__(self, total: int | None = None) -> None:
        """total: expected total of `done`, if it is known."""
        self._out = sys.stderr
        self._clock = SystemClock()
        self._live = self._out.isatty()
        self._began_ns = self._shown_ns = self._clock.now_ns()
        self._lock = threading.Lock()
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
            now = self._clock.now_ns()
            if self._live and now - self._shown_ns >= _EVERY_NS:
                self._shown_ns = now
                self._out.write("\r" + self.line().ljust(78)[:78])
                self._out.flush()

    def line(self) -> str:
        seconds = max((self._clock.now_ns() - self._began_ns) / 1e9, 1e-9)
        size_mb = self.size_bytes / _MB
        rate = f"{self.items:,} items, {size_mb:,.1f} MB, {size_mb / seconds:,.1f} MB/s"
        if not self.total:
            return rate
        share = min(self.done / self.total, 1.0)
        bar = "#" * int(share * _BAR)
        return f"[{bar:<{_BAR}}] {share:4.0%} {rate}"

    def end(self) -> None:
        if self._live:
            self._out.write("\r" + " " * 78 + "\r")
            self._out.flush()
