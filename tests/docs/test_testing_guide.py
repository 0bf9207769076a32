"""The tests of docs/guide/testing.md pass."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "testing.md"


def test_examples_of_the_guide_pass(pytester: pytest.Pytester) -> None:
    examples = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    pytester.makeini("[pytest]\naddopts = --strict-markers -p no:cacheprovider\nfilterwarnings = error\n")
    pytester.makepyfile(**{f"test_{number}": text for number, text in enumerate(examples)})
    pytester.runpytest_inprocess().assert_outcomes(passed=sum(text.count("def test_") for text in examples))
