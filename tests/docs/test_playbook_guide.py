"""The code of docs/guide/playbook.md runs as one program."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_code_of_the_playbook_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    guide = (ROOT / "docs" / "guide" / "playbook.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", guide, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 9
    names: dict[str, Any] = {"__name__": "playbook"}
    exec(compile("\n".join(blocks), "docs/guide/playbook.md", "exec"), names)
