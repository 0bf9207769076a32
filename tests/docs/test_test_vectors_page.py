"""docs/reference/test-vectors.md lists every test vector and the tests that check it."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "test_vectors_page.py"))


def test_test_vectors_page_is_current() -> None:
    page = (ROOT / "docs" / "reference" / "test-vectors.md").read_text()
    assert page == TOOL["render"](), "run python tools/test_vectors_page.py"


def test_every_vector_is_listed_once_and_checked_by_a_test() -> None:
    names = [vector.name for vector in TOOL["vectors"]()]
    assert len(names) == len(set(names)) == 141
    assert set(names) == set(TOOL["tests_by_vector"]())
