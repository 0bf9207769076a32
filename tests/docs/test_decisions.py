"""The list of decisions is complete."""

from __future__ import annotations

from pathlib import Path

DECISIONS = Path(__file__).resolve().parents[2] / "docs" / "decisions"


def test_list_names_every_decision_by_its_title() -> None:
    listed = [line for line in (DECISIONS / "README.md").read_text().splitlines() if line.startswith("- ")]
    assert listed == [
        f"- [{path.read_text().splitlines()[0].removeprefix('# ')}]({path.name})"
        for path in sorted(DECISIONS.glob("[0-9]*.md"))
    ]
