"""Arbitrary bytes for the functions that read input of clients.

What it proves: the stored inputs of coverage-guided fuzzing raise nothing and satisfy the assertions in
targets.py; in the slow set so do the thousands that atheris derives from them, within limited memory.
"""

from __future__ import annotations

import pytest

from .guided import run_target
from .seeds import FOLDER, read_seeds
from .targets import TARGETS

RUNS = {"requests": 4_000}
RUNS_OTHERS = 40_000


@pytest.mark.parametrize("name", TARGETS)
def test_stored_inputs_raise_no_exception(name: str) -> None:
    seeds = read_seeds(name)
    assert seeds
    for seed in seeds:
        TARGETS[name](seed)


def test_every_stored_input_has_a_target() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == set(TARGETS)


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_coverage_guided_fuzzing_runs(name: str) -> None:
    pytest.importorskip("atheris", reason="it needs: pip install -r tests/requirements-slow.txt")
    run_target(name, runs=RUNS.get(name, RUNS_OTHERS))
