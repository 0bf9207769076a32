"""The advice of the console in a real browser."""

from __future__ import annotations

from typing import Any

from browser.conftest import Served
from browser.test_console import create


def test_advice_shows_findings_with_their_code(page: Any, served: Served) -> None:
    create(served, "unprotected")
    page.goto(f"{served.console}/advice")
    page.get_by_text("unprotected has no point-in-time recovery").wait_for()
    page.get_by_text("The change as code").first.click()
    page.get_by_text("update_continuous_backups").first.wait_for()
    served.dynamodb.delete_table(TableName="unprotected")
