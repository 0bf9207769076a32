"""The advice of the console in a real browser."""

from __future__ import annotations

import re
from typing import Any

from browser.conftest import Served
from browser.test_console import create


def test_advice_shows_findings_with_their_code(page: Any, served: Served) -> None:
    create(served, "unprotected")
    page.goto(f"{served.console}/advice")
    finding = page.get_by_text("unprotected has no point-in-time recovery")
    page.get_by_text("Do not go without point-in-time recovery.").wait_for()
    if not finding.is_visible():
        page.get_by_text(re.compile(r"^\d+ more$")).last.click()
    finding.click()
    page.get_by_text("update_continuous_backups").locator("visible=true").first.wait_for()
    served.dynamodb.delete_table(TableName="unprotected")
