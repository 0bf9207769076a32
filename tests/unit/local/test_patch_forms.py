"""`faradisc.local.patch` in each form in which such a thing is used: started, bare, on classes."""

from __future__ import annotations

import unittest
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from faradisc import local
from fixtures.schemas import schema

SCHEMA = schema("pk:S")


@pytest.fixture(autouse=True)
def _ends() -> Iterator[None]:
    yield
    assert local.patched() == []


def create(name: str) -> None:
    boto3.client("dynamodb").create_table(TableName=name, **SCHEMA)


def tables() -> list[str]:
    return list(boto3.client("dynamodb").list_tables()["TableNames"])


# --- Started and stopped --------------------------------------------------------------------------


def test_started_and_stopped() -> None:
    patch = local.patch()
    database = patch.start()
    create("things")
    assert database.client().list_tables()["TableNames"] == tables() == ["things"]
    assert patch.start() is not database  # nested
    assert tables() == []
    patch.stop()
    assert tables() == ["things"]
    patch.stop()
    with pytest.raises(RuntimeError, match="was not started"):
        patch.stop()


def test_a_database_of_the_caller_stays_open_after_stop() -> None:
    with local.LocalDatabase() as database:
        patch = local.patch(database)
        assert patch.start() is database
        create("things")
        patch.stop()
        assert database.client().list_tables()["TableNames"] == ["things"]


# --- Functions ------------------------------------------------------------------------------------


@local.patch
def test_bare_decorator() -> None:
    assert tables() == []
    create("things")


# --- Classes that pytest runs: each test has a database, from setup_method to teardown_method --------------


@local.patch
class TestWithSetUp:
    def setup_method(self, method: Any) -> None:
        assert tables() == []
        create(method.__name__)

    def teardown_method(self) -> None:
        assert "second" in tables()

    @pytest.fixture(autouse=True)
    def second(self) -> None:
        create("second")

    def test_one(self) -> None:
        assert tables() == ["second", "test_one"]

    def test_other(self) -> None:
        assert tables() == ["second", "test_other"]


class TestInherited(TestWithSetUp):
    def test_of_the_child(self) -> None:
        assert tables() == ["second", "test_of_the_child"]


@local.patch(per_region=True)
class TestWithoutSetUp:
    def test_regions_are_apart(self) -> None:
        create("things")
        assert boto3.client("dynamodb", "eu-west-3").list_tables()["TableNames"] == []

    def test_each_has_a_database(self) -> None:
        assert tables() == []


def test_a_set_up_that_fails_leaves_nothing_patched() -> None:
    @local.patch
    class Tests:
        def setup_method(self) -> None:
            raise ValueError

    tests: Any = Tests()
    with pytest.raises(ValueError):
        tests.setup_method(None)
    assert local.patched() == []


# --- TestCases ------------------------------------------------------------------------------------


@local.patch
class Base(unittest.TestCase):
    def tearDown(self) -> None:
        create("torn-down")


class Cases(Base):
    def setUp(self) -> None:  # of a subclass that is not decorated, and calls no other
        self.assertEqual(tables(), [])
        create("things")
        self.addCleanup(lambda: self.assertEqual(tables(), ["things", "torn-down"]))

    def test_it(self) -> None:
        self.assertEqual(tables(), ["things"])


@local.patch()
class Asynchronous(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        create("things")

    async def test_it(self) -> None:
        self.assertEqual(tables(), ["things"])

    async def test_other(self) -> None:
        self.assertEqual(tables(), ["things"])


@pytest.mark.parametrize(("tests", "count"), [(Cases, 1), (Asynchronous, 2)])
def test_a_test_case_has_a_database_from_its_set_up_to_its_clean_ups(
    tests: type[unittest.TestCase], count: int
) -> None:
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(tests).run(result)
    assert (result.testsRun, result.failures, result.errors) == (count, [], [])


# --- What cannot be decorated ---------------------------------------------------------------------


def test_what_is_no_function_and_no_class_is_rejected() -> None:
    decorate: Any = local.patch()
    with pytest.raises(TypeError, match="decorates functions and classes"):
        decorate("text")
    with pytest.raises(TypeError, match="takes a LocalDatabase"):
        local.patch("text")  # type: ignore[call-overload]
