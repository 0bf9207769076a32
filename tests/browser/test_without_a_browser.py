"""What the console answers to requests that are not from its own pages; what a rerun begins with."""

from __future__ import annotations

import urllib.request
from pathlib import Path
from urllib.error import HTTPError

import pytest

from browser.conftest import Served


@pytest.mark.parametrize("path", ["/", "/tables/none/items", "/no-such-page"])
def test_no_answer_may_be_framed(served: Served, path: str) -> None:
    request = urllib.request.Request(served.console + path, headers={"Sec-Fetch-Dest": "iframe"})
    try:
        answer = urllib.request.urlopen(request, timeout=20)
    except HTTPError as error:
        answer = error
    with answer:
        assert answer.headers["content-security-policy"] == "frame-ancestors 'none'"
        assert answer.headers["x-frame-options"] == "DENY"


def test_rejection_of_a_foreign_host_may_not_be_framed_either(served: Served) -> None:
    request = urllib.request.Request(served.console, headers={"Host": "evil.example"})
    with pytest.raises(HTTPError) as refused:
        urllib.request.urlopen(request, timeout=20)
    with refused.value as answer:
        assert (answer.code, answer.headers["x-frame-options"]) == (403, "DENY")


def test_page_has_no_content_before_its_browser_connects(served: Served) -> None:
    with urllib.request.urlopen(served.console + "/tables/none/items", timeout=20) as answer:
        text = answer.read().decode()
    assert "none / Items" not in text
    assert "Retry" not in text
    assert "Go to (Ctrl K)" not in text


def test_an_unknown_address_leads_to_the_start(served: Served) -> None:
    with pytest.raises(HTTPError) as missing:
        urllib.request.urlopen(served.console + "/no-such-page", timeout=20)
    with missing.value as answer:
        text = answer.read().decode()
        assert (answer.code, answer.headers["x-frame-options"]) == (404, "DENY")
    assert "There is no such page" in text
    assert "href='/'" in text


def test_a_download_of_no_export_is_the_error_of_the_service(served: Served) -> None:
    arn = "arn:aws:dynamodb:us-east-1:000000000000:table/none/export/01693685827463-2d8752fd"
    with pytest.raises(HTTPError) as missing:
        urllib.request.urlopen(f"{served.console}/exports/download?arn={arn}", timeout=20)
    with missing.value as answer:
        assert answer.code == 502
        assert b"ExportNotFoundException" in answer.read()


def test_a_rerun_begins_with_new_fixtures(pytester: pytest.Pytester) -> None:
    pytester.makeconftest((Path(__file__).parent / "conftest.py").read_text())
    pytester.makepyfile(
        """
        import pytest

        made = []

        @pytest.fixture(scope="module")
        def browser():
            made.append(len(made) + 1)
            yield made[-1]

        def test_first(browser):
            assert browser == 2

        def test_next(browser):
            assert browser == 2
        """
    )
    ran = pytester.runpytest_inprocess("-p", "no:xdist", "-rR")
    ran.assert_outcomes(passed=2)
    ran.stdout.fnmatch_lines(["RERUN *::test_first"])
