"""Where exports, imports and bulk puts are asked for, and where their jobs get their turns.

The jobs' modules are imported when the first of their kind has something to do: a server that exchanges
nothing starts without them.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from faradisc.clock import Clock, Entropy
from faradisc.exchange.buckets import Buckets, DirectoryBuckets
from faradisc.exchange.ledger import IMPORT, Ledger
from faradisc.storage.api import Store
from faradisc.tables.catalog import Catalog

if TYPE_CHECKING:
    from faradisc.exchange.importing import Importing


@dataclass(frozen=True, slots=True)
class Places:
    """Where data comes from and goes to."""

    buckets: Buckets
    logs: Path
    """Directory of the error logs; made when there is something to write."""


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
        self.places = places
        self.ledger = Ledger(store, clock, entropy)
        self._importing: Importing | None = None

    async def load(self) -> None:
        await self.ledger.load()
        if self.places is not None and self._catalog.being_filled("import"):
            await self._importer(self.places).recover()

    async def step(self) -> bool:
        """A bounded piece of every kind of work. False when there is none."""
        busy = False
        if self.places is not None and next(self.ledger.running(IMPORT), None) is not None:
            busy = await self._importer(self.places).step()
        return await self.ledger.forget_old() or busy

    def _importer(self, places: Places) -> Importing:
        if self._importing is None:
            from faradisc.exchange.importing import Importing  # noqa: PLC0415 - only those that import

            self._importing = Importing(self._store, self._catalog, self.ledger, places.buckets, places.logs)
        return self._importing

    async def drop_all(self) -> None:
        """Forget every task. Objects in buckets stay."""
        self.close()
        await self.ledger.drop_all()

    def close(self) -> None:
        """Release the files of jobs under way; they go on when the database is opened again."""
        if self._importing is not None:
            self._importing.close()
