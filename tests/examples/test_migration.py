"""The migration without downtime, while threads place, change, delete and read orders.

What it proves: no program fails, misses its own write, or finds another state at any step; at the end the
new table has exactly what all programs have written.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from examples.connections import create
from examples.endpoint import connect
from examples.migration.migration import Migration
from examples.migration.orders import NEW, OLD, Changed, Order, Orders, definitions, parse
from examples.migration.story import migrate

from faradisc.local import LocalDatabase
from fixtures.served import Server

ROOT = Path(__file__).resolve().parents[2]
SHARED = Order("shared", "shared", "PLACED", 1, "EUR")


class Program(threading.Thread):
    """One instance of the program, with customers of its own and one order that all instances change.

    It reads the flags again after every second round only, so instances obey different flags for a while.
    """

    def __init__(self, number: int, documents: Any, pause_s: float) -> None:
        super().__init__(name=f"program-{number}")
        self.customer = f"customer-{number}"
        self.orders = Orders(documents)
        self.expected: dict[str, Order] = {}
        self.rounds = 0
        self.pause_s = pause_s
        self.error: BaseException | None = None
        self.ended = threading.Event()

    def run(self) -> None:
        try:
            while not self.ended.is_set():
                self._round()
                self.rounds += 1
                time.sleep(self.pause_s)
        except BaseException as error:
            self.error = error

    def _round(self) -> None:
        orders, number = self.orders, self.rounds
        if number % 2 == 0:
            orders.refresh()
        placed = Order(self.customer, f"{self.customer}-{number:06}", "PLACED", number, "EUR")
        orders.place(placed)
        self.expected[placed.order] = placed
        with pytest.raises(Changed):
            orders.place(placed)
        for before, state in ((1, "PAID"), (4, "SHIPPED")):
            order = f"{self.customer}-{number - before:06}"
            if order in self.expected:
                self.expected[order] = orders.set_state(self.customer, order, state)
        deleted = f"{self.customer}-{number - 5:06}"
        if number % 2 and deleted in self.expected:
            orders.delete(self.customer, deleted)
            del self.expected[deleted]
        orders.set_state(SHARED.customer, SHARED.order, f"{self.customer}-{number}")
        assert orders.get(self.customer, placed.order) == placed
        if number % 10 == 0:
            assert {one.order: one for one in orders.of_customer(self.customer)} == self.expected


class Load:
    """Running programs, and the orders that are there before them."""

    def __init__(
        self, make_documents: Callable[[], Any], programs: int, before: int, pause_s: float = 0
    ) -> None:
        self.documents = make_documents()
        for definition in definitions():
            create(self.documents, definition)
        first = Orders(self.documents)
        first.place(SHARED)
        self.before = [
            Order(f"early-{number % 50}", f"early-{number}", "PLACED", number, "USD")
            for number in range(before)
        ]
        for order in self.before:
            first.place(order)
        self.programs = [Program(number, make_documents(), pause_s) for number in range(programs)]
        self.steps: list[str] = []

    def wait(self, done: Callable[[Program], bool]) -> None:
        for program in self.programs:
            while program.error is None and not done(program):
                time.sleep(0.001)
            if program.error is not None:
                raise program.error

    def settle(self) -> None:
        """Waits until each program has finished the round in which it read the flags again."""
        self._work(3)

    def between(self, step: str) -> None:
        """Lets every program work for a while at this step."""
        self.steps.append(step)
        self._work(2)

    def _work(self, rounds: int) -> None:
        wanted = {program.name: program.rounds + rounds for program in self.programs}
        self.wait(lambda program: program.rounds >= wanted[program.name])

    def __enter__(self) -> Load:
        for program in self.programs:
            program.start()
        return self

    def __exit__(self, *_: Any) -> None:
        for program in self.programs:
            program.ended.set()
        for program in self.programs:
            program.join()

    def check(self) -> None:
        """Compares the new table with all that programs have written."""
        assert [program.error for program in self.programs] == [None] * len(self.programs)
        expected = {order.order: order for order in self.before}
        for program in self.programs:
            expected |= program.expected
        pages = self.documents.get_paginator("scan").paginate(TableName=NEW, ConsistentRead=True)
        found = {item["order"]: item for page in pages for item in page["Items"]}
        assert {item["schema_version"] for item in found.values()} == {2}
        shared = parse(found.pop(SHARED.order))
        assert {name: parse(item) for name, item in found.items()} == expected
        assert shared.revision == 1 + sum(program.rounds for program in self.programs), "no change was lost"


def migrate_under(load: Load, bucket: Path) -> None:
    bucket.mkdir(parents=True, exist_ok=True)
    with load:
        migration = Migration(
            load.documents, load.settle, sleep=lambda seconds: time.sleep(min(seconds, 0.01))
        )
        migrate(
            migration,
            load.between,
            bucket=bucket.name,
            read=lambda key: (bucket / key).read_bytes(),
            units_per_second=1_000,
        )
    load.check()
    assert len(load.steps) == 9


def test_migration_under_load(tmp_path: Path) -> None:
    with LocalDatabase(s3_root=tmp_path) as database:
        load = Load(lambda: database.resource("dynamodb").meta.client, programs=2, before=40, pause_s=0.02)
        migrate_under(load, tmp_path / "bucket")


@pytest.mark.slow
def test_longer_migration_of_a_server_on_disk(tmp_path: Path) -> None:
    root = tmp_path / "s3"
    with Server("--data-dir", str(tmp_path / "data"), "--s3-root", str(root)) as server:
        load = Load(lambda: connect(server.url, resource=True).meta.client, programs=4, before=1_000)
        migrate_under(load, root / "bucket")
        assert server.stop() == 0


# --- Single steps ------------------------------------------------------------------------------------


@pytest.fixture
def documents() -> Iterator[Any]:
    with LocalDatabase() as database:
        client = database.resource("dynamodb").meta.client
        for definition in definitions():
            create(client, definition)
        yield client


@pytest.fixture
def migration(documents: Any) -> Migration:
    return Migration(documents, lambda: None, sleep=lambda seconds: None)


def order(name: str, **more: Any) -> Order:
    return Order(
        **{"customer": "ada", "order": name, "state": "PLACED", "cents": 1990, "currency": "EUR", **more}
    )


def test_both_shapes_are_read() -> None:
    for cents in (0, 5, 1990, 123_456_789):
        one = order("o", cents=cents)
        assert parse(one.item(OLD)) == parse(one.item(NEW)) == one
    with pytest.raises(ValueError, match="version 3"):
        parse({**order("o").item(NEW), "schema_version": 3})


def test_throttled_scan_copies_everything_once(documents: Any, migration: Migration) -> None:
    orders = Orders(documents)
    for number in range(120):
        orders.place(order(f"o-{number}"))
    assert len(migration.differences(1_000)) == 120
    migration.switch(write="old+new", read="old")
    pauses: list[float] = []
    migration._sleep = pauses.append
    assert migration.backfill_by_scan(10) == 120
    units = 120 * 100 / 8192  # some 100 bytes an item, read eventually consistent
    assert sum(pauses) == pytest.approx(units / 10, rel=0.5)
    assert migration.backfill_by_scan(10) == 0
    assert migration.differences(1_000) == []


def test_instances_that_still_write_the_old_table_alone_are_made_up_for(
    documents: Any, migration: Migration
) -> None:
    late = Orders(documents)  # never reads the flags again
    migration.switch(write="old+new", read="old")
    early = Orders(documents)
    for name in ("changed", "deleted", "same"):
        early.place(order(name))
    late.set_state("ada", "changed", "PAID")
    late.delete("ada", "deleted")
    late.place(order("placed"))
    assert migration.differences(1_000) == ["changed", "deleted", "placed"]
    assert migration.backfill_by_scan(1_000) == 2
    assert migration.remove_orphans(1_000) == 1
    assert migration.differences(1_000) == []
    assert Orders(documents).get("ada", "changed").state == "PAID"  # type: ignore[union-attr]


def test_what_changed_after_it_was_read_is_not_overwritten(documents: Any, migration: Migration) -> None:
    Orders(documents).place(order("changed"))
    Orders(documents).place(order("deleted"))
    migration.switch(write="old+new", read="old")
    current = Orders(documents)
    current.set_state("ada", "changed", "PAID")
    current.delete("ada", "deleted")
    assert not migration._copy(order("changed"))
    assert not migration._copy(order("deleted"))
    assert migration.differences(1_000) == []


def test_roll_back_finds_what_was_written_after_the_flip(documents: Any, migration: Migration) -> None:
    migration.switch(write="new+old", read="new")
    Orders(documents).place(order("o"))
    migration.roll_back()
    assert Orders(documents).get("ada", "o") == order("o")
    assert Orders(documents).of_customer("ada") == [order("o")]
    with pytest.raises(KeyError):
        Orders(documents).delete("ada", "none")


@pytest.mark.slow
def test_migration_runs_as_a_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.migration"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "an export was copied: " in done.stdout
    assert "'grace': 100" in done.stdout
