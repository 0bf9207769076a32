"""The documentation builds as a site: links and anchors exist, pages are in a menu, nothing is fetched."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_site_builds_without_warnings_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    site = tmp_path / "site"
    # A process of its own: MkDocs changes the logging and the warnings of the one it runs in.
    run = subprocess.run(
        [sys.executable, ROOT / "tools" / "build_site.py", site], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    pages = list(site.rglob("*.html"))
    assert (site / "index.html") in pages
    assert (site / "docs" / "guide" / "throughput.html") in pages
    loaded = re.compile(r"<(?:script|img|iframe)[^>]* src=\"(?:https?:)?//|<link[^>]* href=\"(?:https?:)?//")
    assert [page.name for page in pages if loaded.search(page.read_text())] == []


def test_guides_begin_with_what_one_can_do_after_them() -> None:
    for page in sorted((ROOT / "docs" / "guide").glob("*.md")):
        begun = page.read_text("utf-8").split("\n", 3)[2]
        assert begun.startswith("After this page "), page.name
