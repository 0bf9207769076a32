"""Texts that differ in their values only: recognised and taken apart by one regular expression each.

The items of a table are mostly written by one program, so line after line has the same attributes of the same
types in the same order. A *stencil* is cut from such a line: its text with holes where values stand. One call
of its regular expression tells of another line that it is like the first, and takes out the values; measured,
that costs a tenth of parsing, checking and writing the JSON anew.

A stencil must be sure: it fits nothing that the careful way would read differently. What fits none goes the
careful way, so nothing but the time depends on how many fit. Here is what all stencils share; row_stencils.py
and ion_stencils.py cut them.

No pattern can run away: repetitions without a bound are possessive, so no byte is looked at twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar

STENCILS_MAX = 128
FEW = 4
"""Stencils that are tried one after another; which of more, a text's quotes are counted for."""
MARKS_MAX = 4096
WINDOW = 4096
"""Texts after which it is judged which stencils were worth having."""
CUT_EVERY = 31
"""Of so many texts that fit none one is cut, because cutting takes some milliseconds. A prime, lest data with
a rhythm always show the same text."""
WORTH_HITS = WINDOW // 256
"""In a window; a stencil with fewer goes."""
TEXT_BYTES_MAX = 8 * 1024
"""Longer texts are neither cut nor tried. Where values are long there is little to gain (measured: a pattern
takes 2.7 ns for a byte), and one text of megabytes would keep many stencils busy for seconds."""
_RESTS_MAX = 10


class Stencil:
    __slots__ = ("fullmatch", "hits")

    def __init__(self, pattern: bytes) -> None:
        self.fullmatch = re.compile(pattern).fullmatch
        self.hits = 0
        """In this window."""


S = TypeVar("S", bound=Stencil)


class Tried(Protocol):
    hits: int


T = TypeVar("T", bound=Tried)


def worth_keeping(stencils: list[T]) -> list[T]:
    """At the end of a window: those that enough texts have fitted, the most frequent first; hits anew."""
    kept = sorted((each for each in stencils if each.hits >= WORTH_HITS), key=lambda each: -each.hits)
    for each in kept:
        each.hits = 0
    return kept


class Window:
    """When to leave data alone that has no forms, which must not pay for the search: when less than a quarter
    of a window's texts fit, none is tried for as long as a window, the next time for two, four, and so on."""

    def __init__(self) -> None:
        self.resting = False
        self._left = WINDOW
        """Texts until the end of the window, or of the rest."""
        self._rests = 0
        """In a row."""

    def passed(self, texts: int, judged: Callable[[], int]) -> None:
        """So many have come by. judged: called at the end of a window or a rest, tells the window's hits."""
        self._left -= texts
        if self._left >= 0:
            return
        hits = judged()
        self._left = WINDOW
        if self.resting:
            self.resting = False
        elif 4 * hits < WINDOW:
            self.resting = True
            self._left = WINDOW << min(self._rests, _RESTS_MAX)
            self._rests += 1
        else:
            self._rests = 0


class Stencils(Generic[S]):
    """The stencils of one job, the most frequent first.

    Which of many to try, the number of quotes in a text gives away: texts with as many mostly fit the same.
    """

    def __init__(self, cut: Callable[[bytes], S | None]) -> None:
        """cut: makes a stencil of a text; None when that cannot be done."""
        self._cut = cut
        self._stencils: list[S] = []
        self._by_mark: dict[int, list[S]] = {}
        """Those that a text with so many quotes has fitted, in this window."""
        self._window = Window()
        self._misses = 0

    def find(self, text: bytes) -> tuple[S, re.Match[bytes]] | None:
        """A stencil that the text fits, and how; None sends the text the careful way."""
        if len(text) > TEXT_BYTES_MAX:
            return None
        self._window.passed(1, self._judged)
        if self._window.resting:
            return None
        mark = 0
        if len(self._stencils) > FEW:
            mark = text.count(b'"')
            for stencil in self._by_mark.get(mark, ()):
                match = stencil.fullmatch(text)
                if match is not None:
                    stencil.hits += 1
                    return stencil, match
        for stencil in self._stencils:
            match = stencil.fullmatch(text)
            if match is not None:
                stencil.hits += 1
                if mark:
                    self._remember(mark, stencil)
                return stencil, match
        if self._misses % CUT_EVERY == 0:
            self._learn(text)
        self._misses += 1
        return None

    def _remember(self, mark: int, stencil: S) -> None:
        if len(self._by_mark) < MARKS_MAX:
            self._by_mark.setdefault(mark, []).append(stencil)

    def _learn(self, text: bytes) -> None:
        if len(self._stencils) < STENCILS_MAX:
            stencil = self._cut(text)
            re.purge()  # `re` would keep the last 512 patterns when their jobs are over: tens of megabytes
            if stencil is not None:
                self._stencils.append(stencil)

    def _judged(self) -> int:
        """A window has ended, or a rest; how many texts have fitted in it."""
        hits = sum(each.hits for each in self._stencils)
        self._misses = 0
        self._by_mark.clear()
        self._stencils = worth_keeping(self._stencils)
        return hits


# --- Cutting -------------------------------------------------------------------------------------

Pieces = list[bytes | int]
"""Of a text: parts of it, and the numbers of holes."""


def string_of(plain: bytes, escaped: bytes) -> bytes:
    """The pattern of a JSON string's inside.

    plain: what stands for itself, as inside brackets; escaped: what may stand behind a backslash.
    """
    return rb"[%b]*+(?:\\[%b][%b]*+)*+" % (plain, escaped, plain)


def joined(parts: Iterable[Pieces], between: bytes) -> Pieces:
    pieces: Pieces = []
    for part in parts:
        pieces += [between, *part] if pieces else part
    return pieces


def template_of(pieces: Pieces) -> tuple[bytes, tuple[int, ...]]:
    """A template for `%`, and the holes whose contents it takes, in order."""
    texts = [b"%b" if isinstance(each, int) else each.replace(b"%", b"%%") for each in pieces]
    return b"".join(texts), tuple(each for each in pieces if isinstance(each, int))
