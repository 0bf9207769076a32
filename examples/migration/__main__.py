"""python -m examples.migration: the migration in this process, while a thread places and changes orders."""

from __future__ import annotations

import itertools
import tempfile
import threading
import time
from pathlib import Path

from examples.connections import create
from examples.migration.migration import Migration
from examples.migration.orders import Order, Orders, definitions
from examples.migration.story import migrate
from faradisc.local import LocalDatabase


class Load:
    """A thread that places an order and changes another in turn, and reads the flags before each pair."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._turn = threading.Condition()
        self._turns = 0
        self._stop = False
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        for number in itertools.count():
            self._orders.refresh()
            self._orders.place(Order("ada", f"new-{number:05}", "PLACED", 1990, "EUR"))
            self._orders.set_state("ada", f"new-{number // 2:05}", f"SHIPPED-{number}")
            time.sleep(0.02)
            with self._turn:
                self._turns += 1
                self._turn.notify_all()
                if self._stop:
                    return

    def settle(self) -> None:
        """Waits for a turn that began after this call."""
        with self._turn:
            wanted = self._turns + 2
            self._turn.wait_for(lambda: self._turns >= wanted)

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop = True
        self._thread.join()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, LocalDatabase(s3_root=folder) as database:
        bucket = Path(folder, "bucket")
        bucket.mkdir()
        documents = database.resource("dynamodb").meta.client
        for definition in definitions():
            create(documents, definition)
        orders = Orders(documents)
        for number in range(100):
            orders.place(Order("grace", f"old-{number:05}", "PLACED", 100 * number, "USD"))
        with Load(orders) as load:
            migration = Migration(documents, load.settle)
            migrate(
                migration,
                print,
                bucket="bucket",
                read=lambda key: (bucket / key).read_bytes(),
                units_per_second=1_000,
            )
        print({customer: len(orders.of_customer(customer)) for customer in ("ada", "grace")})


if __name__ == "__main__":
    main()
