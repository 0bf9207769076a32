"""The scripts of this folder (fixtures/answer_scripts.py): every case has a database of its own, in which a
change of state takes ten seconds. Source: errors.md section 6.10, unless a case names another.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.answer_scripts import Case, Script, cases, settings_of
from fixtures.in_process import InProcess

TRANSITION_S = 10


@pytest.mark.parametrize("case", cases(*Path(__file__).parent.glob("*.script")))
def test_a_request_is_answered_as_recorded(
    open_process: Callable[..., InProcess], bugs_surface: None, case: Case
) -> None:
    Script(open_process(**{"transition_ms": TRANSITION_S * 1000, **settings_of(case)})).run(case)
