"""Every test runs on a database in memory, and on two nodes over one PostgreSQL, where each request goes to a
random one of them.

On the nodes `make test` runs the first case of every test whose subject a shared store can change. The others
are slow tests.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from faradisc.engine.cluster import nodes
from faradisc.engine.ttl import sweep
from fixtures.in_process import InProcess

NODES = "nodes"
NEVER_NS = 10**20

VECTORS = "vector indexes are rejected on a shared store (docs/differences.md)"
NOT_ON_NODES = {
    "test_vector_indexes.py": VECTORS,
    "test_vector_search.py": VECTORS,
    "test_vector_writes.py": VECTORS,
    "test_restores.py::test_a_restore_contains_vector_indexes": VECTORS,
    "test_transactions_tokens.py::test_a_token_in_use_is_in_progress": (
        "marks a token in the memory of one node"
    ),
    "test_transactions_conflicts.py::test_the_rate_is_a_share_and_the_seed_gives_a_sequence": (
        "expects one sequence of conflicts; every node has its own"
    ),
    "test_index_life.py::test_an_index_can_be_deleted_while_it_is_filled": (
        "counts steps; PostgreSQL deletes the rows of a deleted index in further steps"
    ),
    "test_index_life.py::test_a_table_can_be_deleted_while_its_index_is_filled": (
        "counts steps; PostgreSQL deletes the rows of a deleted table in further steps"
    ),
}
"""Modules and tests that do not apply to several nodes, and why."""
SLOW_ON_NODES = {
    "test_target_tracking.py",
    "test_streams_partitions.py::test_partitions_of_uneven_width_share_a_log_and_each_reader_gets_its_own",
    "test_streams_shards.py::test_closed_shards_disappear_after_a_day",
    "test_throughput_settings.py::test_at_most_27_decreases_fit_into_a_day",
}
"""They let hours of a clock pass."""
ON_ONE_NODE = {
    *("test_absent_features.py", "test_batches.py", "test_bodies.py", "test_conditions.py"),
    *("test_consumed_capacity.py", "test_corrections_http.py", "test_corrections_items.py"),
    *("test_global_indexes.py", "test_list_tables.py", "test_partiql_writes.py"),
    "test_huge_timestamps.py",
    *("test_item_sizes.py", "test_item_types.py", "test_keys.py", "test_legacy_parameters.py"),
    *("test_local_indexes.py", "test_metric_reads.py", "test_number_values.py"),
    *("test_partiql_batches.py", "test_partiql_refusals.py", "test_partiql_select.py"),
    *("test_projections.py", "test_query.py", "test_query_refusals.py", "test_return_values.py"),
    *("test_scan.py", "test_table_names.py", "test_table_refusals.py", "test_transactions_capacity.py"),
    *("test_transactions_refusals.py", "test_updates.py", "test_wire_formats.py"),
}
"""Modules about what one request does to one item or finds in one table, which depends on no other node: slow
on nodes, as all rejected requests (errors/) are."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.config.getoption("--endpoint") is None:
        option = metafunc.config.getoption
        alone = option("--encrypted") or option("--late") or "memory_server" in metafunc.fixturenames
        alone |= option("-m") == "not slow" and _is_slow_on_nodes(metafunc.definition.path)
        engines = ["memory"] if alone else ["memory", NODES]
        metafunc.parametrize("engine", engines, indirect=True, scope="session")


def _is_slow_on_nodes(path: Path) -> bool:
    """Whether every test of a module is slow on nodes; the gate does not collect these thousands."""
    return path.parent.name == "errors" or path.name in ON_ONE_NODE


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    seen: set[tuple[str, ...]] = set()
    here = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if not isinstance(item, pytest.Function) or not str(item.path).startswith(here):
            continue
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        if parameters.get("engine") != NODES:
            continue
        names = (item.path.name, f"{item.path.name}::{item.originalname}")
        if reason := NOT_ON_NODES.get(names[0]) or NOT_ON_NODES.get(names[1]):
            item.add_marker(pytest.mark.skip(reason=reason))
        representative = (str(item.path), item.originalname)
        if _is_slow_on_nodes(item.path) or representative in seen or SLOW_ON_NODES.intersection(names):
            item.add_marker(pytest.mark.slow)
        seen.add(representative)


@pytest.fixture(scope="session")
def places(postgres: str) -> Iterator[Any]:
    """The schemas of this worker."""
    from fixtures.local_nodes import Places  # noqa: PLC0415 - needs asyncpg

    schema = f"search_path=conformance_{os.getpid()}"
    places = Places(f"{postgres}{'&' if '?' in postgres else '?'}{schema}")
    yield places
    places.close()


@pytest.fixture(scope="session")
def engine(request: pytest.FixtureRequest) -> str:
    """Where the databases of a test are: "memory" or "nodes"."""
    return str(getattr(request, "param", "memory"))


@pytest.fixture(scope="session")
def on_engine(engine: str, request: pytest.FixtureRequest) -> Callable[[], AbstractContextManager[None]]:
    """on_engine() -> a context in which databases are opened on the engine, and work there."""
    if engine != NODES:
        return nullcontext
    places = request.getfixturevalue("places")
    from fixtures.local_nodes import LocalNodes  # noqa: PLC0415 - needs asyncpg

    @contextmanager
    def on_nodes() -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(InProcess, "open_nodes", partial(LocalNodes, places))
            # The clocks of tests jump: no node dies of it, and the expiries that another node has written are
            # known at once. tests/nodes proves both with the real intervals.
            patch.setattr(nodes, "DEAD_NS", NEVER_NS)
            patch.setattr(nodes, "FORGOTTEN_NS", NEVER_NS)
            patch.setattr(sweep, "HINTS_NS", 0)
            yield

    return on_nodes


@pytest.fixture(autouse=True)
def chosen_by_seed(
    engine: str, on_engine: Callable[[], AbstractContextManager[None]], request: pytest.FixtureRequest
) -> Iterator[None]:
    """Runs a test on its engine. The nodes of its requests are chosen by its name and --nodes-seed."""
    if engine != NODES:
        yield
        return
    places = request.getfixturevalue("places")
    seed = f"{request.config.getoption('--nodes-seed')} {request.node.nodeid}"
    print(f"nodes chosen by the seed {seed!r}")
    places.chance = random.Random(seed)
    with on_engine():
        yield
    places.forget_paths()
