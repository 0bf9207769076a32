"""Every figure of the README has a source in docs/performance.md."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIGURE = re.compile(r"\d[\d,.]*(?: (?:ms|s|MB|GB|rounds)\b| requests a second| %)")


def test_every_figure_has_a_source() -> None:
    sources = (
        (ROOT / "docs" / "performance.md").read_text("utf-8").partition("## The figures of the README")[2]
    )
    told = " ".join(sources.split())
    figures = FIGURE.findall(" ".join((ROOT / "README.md").read_text("utf-8").split()))
    assert len(figures) > 10
    assert [figure for figure in figures if figure not in told] == []
