"""The code of docs/guide/scaling.md runs as one program."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

GUIDE = (Path(__file__).parents[2] / "docs" / "guide" / "scaling.md").read_text()


def test_code_of_the_guide_runs() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 7
    names: dict[str, Any] = {}
    exec(compile("\n".join(blocks), "docs/guide/scaling.md", "exec"), names)
