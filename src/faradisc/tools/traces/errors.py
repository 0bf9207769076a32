"""What is wrong with a plan or a trace: which file, which line, what, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class PlanError(Exception):
    """The input cannot be used. The text names file, line and remedy, in one line."""

    def __init__(self, file: str, line: int | None, what: str, remedy: str) -> None:
        super().__init__(f"{file}{'' if line is None else f':{line}'}: {what}. {remedy}")
        self.file = file
        self.line = line
        self.what = what
        self.remedy = remedy


def nearest(word: str, known: Iterable[str]) -> str:
    """A remedy for an unknown name: the nearest known one, or all there are."""
    names = list(known)
    folded = {name.lower(): name for name in names}
    close = get_close_matches(word.lower(), folded, n=1, cutoff=0.6)
    if close:
        return f"Did you mean {folded[close[0]]!r}?"
    return f"Known: {', '.join(names)}."
