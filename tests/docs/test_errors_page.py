"""docs/reference/errors.md says what the source says."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_errors_page_is_current() -> None:
    page = runpy.run_path(str(ROOT / "tools" / "errors_page.py"))["render"]()
    assert (ROOT / "docs" / "reference" / "errors.md").read_text() == page, "run python tools/errors_page.py"


def test_the_errors_page_names_what_clients_may_see() -> None:
    """One text of each of its sources: a class, a table, the source."""
    page = (ROOT / "docs" / "reference" / "errors.md").read_text()
    for text in (
        "`Request is missing Authentication Token`",
        "`[INDEXES, TOTAL, NONE]`",
        "`The expression has redundant parentheses;`",
        "`Invalid KeySchema: The first KeySchemaElement is not a HASH key type`",
        "`One or more parameter values were invalid: Duplicate index name: <name>`",
    ):
        assert text in page
