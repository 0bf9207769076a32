"""Lists the fixtures kept in tests/fixtures, and the options of a run."""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest

gc.set_threshold(10_000)  # of 700: looking for cycles so often takes 8 % of the tests' processor time
pytest.register_assert_rewrite("faradisc.storage.testing")  # so that a failure shows both sides

pytest_plugins = [
    "pytester",
    "fixtures.rewriting",
    "fixtures.laws",
    "fixtures.in_process",
    "fixtures.postgres",
    "fixtures.s3",
    "fixtures.many_nodes",
    "fixtures.clients",
    "fixtures.schemas",
    "fixtures.stepped",
    "fixtures.encrypted",
    "fixtures.late_reads",
    "fixtures.exchanging",
    "fixtures.served",
    "fixtures.cluster",
    "fixtures.patroni",
    "fixtures.places",
    "fixtures.cluster_of_places",
    "fixtures.shards",
    "fixtures.sharded_nodes",
    "fixtures.streamed",
    "fixtures.other_services",
    "fixtures.access",
    "fixtures.identity_world",
    "fixtures.regions",
    "fixtures.peers",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--endpoint",
        metavar="URL",
        help="run the conformance tests against a server instead of a database in this process",
    )
    parser.addoption(
        "--encrypted", action="store_true", help="encrypt every table of a database in this process"
    )
    parser.addoption(
        "--late", action="store_true", help="make every read of a database in this process late, or strong"
    )
    parser.addoption(
        "--nodes-seed",
        metavar="N",
        type=int,
        default=0,
        help="choose the nodes that the requests of the conformance tests over two nodes go to",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Shows in the summary why a test was run once more."""
    if config.pluginmanager.hasplugin("rerunfailures"):
        config.option.rerun_show_tracebacks = True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None, object, object]:
    """Fails a test that leaves the collector off: without it a worker grows to gigabytes."""
    result = yield
    if not gc.isenabled():
        gc.enable()
        raise AssertionError("the test has left the garbage collector off")
    return result


def pytest_collection_finish() -> None:
    """Leaves the tests themselves, millions of objects, out of what the garbage collector looks through."""
    gc.freeze()
