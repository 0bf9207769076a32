"""The tests of the pages about testing pass."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide"


@pytest.mark.parametrize("page", ["testing.md", "late-reads-and-faults.md"])
def test_examples_of_the_guide_pass(page: str, pytester: pytest.Pytester) -> None:
    text = (GUIDE / page).read_text()
    examples = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    pytester.makeini("[pytest]\naddopts = --strict-markers -p no:cacheprovider\nfilterwarnings = error\n")
    pytester.makepyfile(**{f"test_{number}": text for number, text in enumerate(examples)})
    pytester.runpytest_inprocess().assert_outcomes(passed=sum(text.count("def test_") for text in examples))
