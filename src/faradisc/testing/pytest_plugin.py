"""The pytest plugin: databases, clients, a server and a clock for tests.

Every run of pytest imports this module where Faradisc is installed, so it imports nothing but pytest; the
fixtures import what they need.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from faradisc.clock import ManualClock
    from faradisc.local import LocalDatabase
    from faradisc.testing.served import Server

_SEEDED = pytest.StashKey["dict[str, LocalDatabase]"]()
"""Databases with the tables and items of a seed, by directory and settings; each test gets a fork."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("faradisc").addoption(
        "--faradisc-dump",
        action="store_true",
        help="add the tables of faradisc databases to the report of a test that fails",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "faradisc(seed=None, throughput='off', conflict_rate=0, **settings): how faradisc_database is made. "
        "seed: a seed directory, relative to pytest's root directory; the others are those of LocalDatabase.",
    )


def pytest_unconfigure(config: pytest.Config) -> None:
    for database in config.stash.get(_SEEDED, {}).values():
        database.close()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    outcome: Any = yield
    report = outcome.get_result()
    # Without the module nothing is patched.
    if report.failed and item.config.getoption("faradisc_dump") and "faradisc.local" in sys.modules:
        from faradisc.testing.dump import tables_as_text  # noqa: PLC0415 - imports boto3

        report.sections += tables_as_text()


@pytest.fixture
def faradisc_clock() -> ManualClock:
    """The clock of `faradisc_database`: it starts now, and stands still until `advance(seconds)`."""
    from faradisc.clock import ManualClock, SystemClock  # noqa: PLC0415

    return ManualClock(SystemClock().now_ns() / 1e9)


@pytest.fixture
def faradisc_database(request: pytest.FixtureRequest) -> Iterator[LocalDatabase]:
    """A database in this process. Every client of the process uses it meanwhile: `faradisc.local.patch`."""
    from faradisc.local import LocalDatabase, patch  # noqa: PLC0415
    from faradisc.local.database import LIMITS  # noqa: PLC0415

    settings = _settings(request.node)
    if "faradisc_clock" in request.fixturenames:
        settings["clock"] = request.getfixturevalue("faradisc_clock")
    seed = settings.pop("seed", None)
    if seed is None:
        database = LocalDatabase(**settings)
    else:
        limits = {  # a seed is not subject to them
            name: settings.pop(name) for name in LIMITS if name in settings
        }
        clock = settings.pop("clock", None)
        database = _seeded(request.config, seed, settings).fork(clock=clock, **limits)
    with database, patch(database):
        yield database


@pytest.fixture
def dynamodb(faradisc_database: LocalDatabase) -> Any:
    """A boto3 client of `faradisc_database`."""
    return faradisc_database.client()


@pytest.fixture
def dynamodb_resource(faradisc_database: LocalDatabase) -> Any:
    """A boto3 resource of `faradisc_database`."""
    return faradisc_database.resource()


@pytest.fixture(scope="session")
def faradisc_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A process that serves a database in memory on a free port: `url`, `client(service)`, `resource()`.

    There is one for the whole session, or for each worker of pytest-xdist. Clients of its URL reach it under
    a patch too.
    """
    from faradisc.testing.served import Server  # noqa: PLC0415

    with Server(tmp_path_factory.mktemp("faradisc")) as server:
        yield server


def _settings(node: pytest.Item) -> dict[str, Any]:
    """Returns the arguments of the test's markers; those of a function precede those of its module."""
    settings: dict[str, Any] = {}
    for marker in reversed(list(node.iter_markers("faradisc"))):
        if marker.args:
            raise pytest.UsageError(f"{node.nodeid}: the marker faradisc takes keyword arguments only")
        settings |= marker.kwargs
    return settings


def _seeded(config: pytest.Config, seed: Any, settings: dict[str, Any]) -> LocalDatabase:
    from faradisc.local import LocalDatabase  # noqa: PLC0415

    directory = config.rootpath / seed
    known = config.stash.setdefault(_SEEDED, {})
    name = f"{directory} {sorted(settings.items())}"
    if name not in known:
        database = LocalDatabase(**settings)
        try:
            database.seed(directory)
        except BaseException:
            database.close()
            raise
        known[name] = database
    return known[name]
