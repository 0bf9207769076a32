"""Run as a process by test_crash.py: commits without end and reports what was acknowledged.

    python crash_writer.py <directory> <round>

Each commit puts one row into each of two parts, appends one log entry, counts one item, and adds one to a
counter by check and retry. After the store has answered, the commit's name goes to stdout as one line.
"""

from __future__ import annotations

import asyncio
import os
import sys

from faradisc.storage.api import Batch, Conflict
from faradisc.storage.rocks import open_rocks

LEFT, RIGHT, COUNTERS = b"left", b"right", b"counters"
WRITERS = 8


async def main(directory: str, run_name: str) -> None:
    store = open_rocks(directory)

    async def write(writer: int) -> None:
        number = 0
        while True:
            name = f"{run_name}.{writer}.{number}".encode()
            [row] = await store.get(COUNTERS, [b"commits"], for_update=True)
            version, count = (0, 0) if row is None else (row[0], int(row[1]))
            answer = await store.commit(
                [
                    Batch(LEFT, puts=[(name, name * 20)], log=[name], items_delta=1, bytes_delta=len(name)),
                    Batch(RIGHT, checks=[(name, 0)], puts=[(name, name)]),
                    Batch(COUNTERS, checks=[(b"commits", version)], puts=[(b"commits", b"%d" % (count + 1))]),
                ]
            )
            if not isinstance(answer, Conflict):
                os.write(1, b"%s %d\n" % (name, answer[0]))
                number += 1

    await asyncio.gather(*(write(writer) for writer in range(WRITERS)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
