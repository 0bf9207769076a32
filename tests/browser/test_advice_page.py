"""The advice of the console in a real browser."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import expect

from browser.conftest import Served
from browser.test_console import create


def test_advice_shows_findings_with_their_code(page: Any, served: Served) -> None:
    create(served, "unprotected")
    page.goto(f"{served.console}/advice")
    finding = page.get_by_text("unprotected has no point-in-time recovery")
    practice = "Do not go without point-in-time recovery."
    page.get_by_text(practice).wait_for()
    group = page.locator(".sheet", has_text=practice)
    if not finding.is_visible():
        group.get_by_text(re.compile(r"^\d+ more$")).click()
    finding.click()
    page.get_by_text("update_continuous_backups").locator("visible=true").first.wait_for()
    line = page.locator(".advice-line", has_text="unprotected has no point-in-time recovery")
    line.get_by_role("button", name="Dismiss").click()
    expect(finding).to_have_count(0)
    page.get_by_role("button", name="Show them again").click()
    expect(finding).to_have_count(1)
    if not finding.is_visible():
        group.get_by_text(re.compile(r"^\d+ more$")).click()
    finding.click()
    line.get_by_role("button", name="Apply").click()
    page.get_by_role("dialog").get_by_role("button", name="Apply").click()
    expect(page.get_by_text("Applied")).to_be_visible()
    expect(finding).to_have_count(0)
    state = served.dynamodb.describe_continuous_backups(TableName="unprotected")[
        "ContinuousBackupsDescription"
    ]
    assert state["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"
    served.dynamodb.delete_table(TableName="unprotected")
