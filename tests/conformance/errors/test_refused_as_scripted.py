"""The scripts of this folder (fixtures/answer_scripts.py), on the tables of fixtures/rejections.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.answer_scripts import Case, Script, cases
from fixtures.rejections import World


@pytest.mark.parametrize("case", cases(*Path(__file__).parent.glob("*.script")))
def test_a_request_is_refused_as_recorded(world: World, case: Case) -> None:
    Script(world.process).run(case)
