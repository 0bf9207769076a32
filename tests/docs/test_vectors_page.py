"""docs/reference/vectors.md says which test holds which vector."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "vectors_page.py"))


def test_the_page_of_vectors_is_current() -> None:
    page = (ROOT / "docs" / "reference" / "vectors.md").read_text()
    assert page == TOOL["render"](), "run python tools/vectors_page.py"


def test_every_vector_is_listed_once_and_held_by_a_test() -> None:
    names = [vector.name for vector in TOOL["vectors"]()]
    assert len(names) == len(set(names)) == 141
    assert set(names) == set(TOOL["tests_by_vector"]())
