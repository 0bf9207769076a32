"""Times what a test pays for its database: `python -m bench.micro.databases_of_tests`.

Prints the best and the median of REPETITIONS, in milliseconds of CPU time.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import process_time

from faradisc import local

REPETITIONS = 200
TABLES = 10
ITEMS = 10_000


def prepared() -> local.LocalDatabase:
    """Returns a database with TABLES tables, the first of which has ITEMS items of 300 bytes."""
    database = local.LocalDatabase()
    client = database.client()
    for number in range(TABLES):
        client.create_table(
            TableName=f"table-{number}",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
    with database.resource().Table("table-0").batch_writer() as batch:
        for number in range(ITEMS):
            batch.put_item(Item={"pk": str(number), "text": "x" * 290})
    return database


def report(name: str, function: Callable[[], None]) -> None:
    taken = []
    for _ in range(REPETITIONS):
        began = process_time()
        function()
        taken.append((process_time() - began) * 1000)
    print(f"{name:<52}{min(taken):>8.3f} ms best{median(taken):>9.3f} ms median", flush=True)


def main() -> None:
    def fresh() -> None:
        local.LocalDatabase().close()

    def patched() -> None:
        with local.patch():
            pass

    report("a new database in memory", fresh)
    report("patch(): a new database, and redirected clients", patched)
    with prepared() as database:
        report(f"fork() of {TABLES} tables, {ITEMS:,} items", lambda: database.fork().close())

        def written() -> None:
            with database.fork() as fork:
                fork.client().put_item(TableName="table-0", Item={"pk": {"S": "0"}})

        report("the same, with a client and a write to those items", written)


if __name__ == "__main__":
    main()
