"""Run as a process by test_unlogged_commits.py: commits that are not durable, and between them some that are.

    python unlogged_writer.py <directory> <first number>

Commit after commit puts a row of some kilobytes into one part, counts it there, and moves a mark in another
part. Every tenth time a durable commit puts a row into a third part and is reported as `durable <number>`;
every fortieth time all is flushed which is reported as `flushed <number>`.
"""

from __future__ import annotations

import asyncio
import os
import sys

from faradisc.storage.api import Batch
from faradisc.storage.rocks import open_rocks

ROWS, MARK, NOTES = b"rows", b"mark", b"notes"
ROW_BYTES = 400_000
"""RocksDB makes a table of every 32 MB by itself."""


async def main(directory: str, first: int) -> None:
    store = open_rocks(directory)
    for number in range(first, 1_000_000):
        name = b"%08d" % number
        row = Batch(ROWS, puts=[(name, os.urandom(ROW_BYTES))], items_delta=1, bytes_delta=ROW_BYTES)
        await store.commit([row, Batch(MARK, puts=[(b"", name)])], durable=False)
        if number % 10 == 0:
            await store.commit([Batch(NOTES, puts=[(name, b"")], log=[name])])
            os.write(1, b"durable %d\n" % number)
        if number % 40 == 0:
            await store.flush()
            os.write(1, b"flushed %d\n" % number)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
