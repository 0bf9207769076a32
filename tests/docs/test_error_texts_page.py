"""docs/reference/error-texts.md agrees with the source."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_error_texts_page_is_current() -> None:
    page = runpy.run_path(str(ROOT / "tools" / "error_texts_page.py"))["render"]()
    assert (ROOT / "docs" / "reference" / "error-texts.md").read_text() == page, (
        "run python tools/error_texts_page.py"
    )


def test_error_texts_page_contains_texts_of_each_source() -> None:
    """One text of a class, one of a table, and some of the source."""
    page = (ROOT / "docs" / "reference" / "error-texts.md").read_text()
    for text in (
        "`Request is missing Authentication Token`",
        "`[INDEXES, TOTAL, NONE]`",
        "`The expression has redundant parentheses;`",
        "`Invalid KeySchema: The first KeySchemaElement is not a HASH key type`",
        "`One or more parameter values were invalid: Duplicate index name: <name>`",
    ):
        assert text in page
