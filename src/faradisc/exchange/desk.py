"""Where exports, imports and bulk puts are asked for, and where their jobs get their turns.

The jobs' modules are imported when the first of their kind has something to do: a server that exchanges
nothing starts without them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from faradisc.clock import Clock, Entropy
from faradisc.exchange.buckets import Buckets, DirectoryBuckets
from faradisc.exchange.ledger import BULK, EXPORT, IMPORT, Ledger
from faradisc.storage.api import Store
from faradisc.tables.catalog import Catalog
from faradisc.values.attribute import Item

if TYPE_CHECKING:
    from faradisc.exchange.importing import Importing


@dataclass(frozen=True, slots=True)
class Places:
    """Where data comes from and goes to."""

    buckets: Buckets
    logs: Path
    """Directory of the error logs; made when there is something to write."""
    transform: Callable[[Item], Item] | None = None
    """What becomes of every item on its way into a new table; `faradisc import` masks with it."""


class Job(Protocol):
    async def step(self) -> bool:
        """A bounded piece of the oldest task. False when there is none."""
        ...

    def close(self) -> None:
        """Release what a task under way holds; it goes on later."""
        ...


def directories(root: Path | str | PathLike[str], logs: Path | None) -> Places:
    """Buckets that are directories under `root`. Without a place for logs they lie there too."""
    root = Path(root).absolute()
    return Places(DirectoryBuckets(root), logs.absolute() if logs is not None else root / ".logs")


class Exchange:
    """Of one database. Without places nothing can be begun."""

    def __init__(
        self, store: Store, catalog: Catalog, clock: Clock, entropy: Entropy, places: Places | None
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._clock = clock
        self.places = places
        self.ledger = Ledger(store, clock, entropy)
        self._jobs: dict[str, Job] = {}

    async def load(self) -> None:
        await self.ledger.load()
        if self.places is not None and self._catalog.being_filled("import"):
            await self._importer(self.places).recover()

    async def step(self) -> bool:
        """A bounded piece of every kind of work. False when there is none."""
        busy = False
        for kind in self._running():
            busy = await self._job(kind).step() or busy
        return await self.ledger.forget_old() or busy

    def _running(self) -> Iterator[str]:
        """The kinds of which something is under way."""
        if self.places is not None:
            yield from (kind for kind in (EXPORT, IMPORT, BULK) if next(self.ledger.running(kind), None))

    def _job(self, kind: str) -> Job:
        if kind not in self._jobs:
            self._jobs[kind] = self._made(kind)
        return self._jobs[kind]

    def _made(self, kind: str) -> Job:
        places = self.places
        assert places is not None
        if kind == EXPORT:
            from faradisc.exchange.exporting import Exporting  # noqa: PLC0415 - only those that export

            return Exporting(self._store, self._catalog, self.ledger, places.buckets)
        if kind == BULK:
            from faradisc.exchange.bulk_putting import BulkPutting  # noqa: PLC0415 - only those that put

            return BulkPutting(
                self._store, self._catalog, self.ledger, places.buckets, places.logs, clock=self._clock
            )
        return self._importer(places)

    def _importer(self, places: Places) -> Importing:
        from faradisc.exchange.importing import Importing  # noqa: PLC0415 - only those that import

        return Importing(self._store, self._catalog, self.ledger, places)

    async def drop_all(self) -> None:
        """Forget every task. Objects in buckets stay."""
        self.close()
        await self.ledger.drop_all()

    def close(self) -> None:
        """Release the files of jobs under way; they go on when the database is opened again."""
        for job in self._jobs.values():
            job.close()
