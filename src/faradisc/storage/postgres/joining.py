"""Opens a store that has several places, and finds out which place each PostgreSQL is.

Each place keeps the store's number and its own, so that it is known whatever its address is, and no place
belongs to two stores. Home, the first that is named, also keeps the last address of each: so a server can
start while a place does not answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from faradisc.errors import StorageError
from faradisc.records import dataclass
from faradisc.storage.api import IOFailed
from faradisc.storage.postgres.connecting import address_of, connector, prepare, schema_of
from faradisc.storage.postgres.errors import translated
from faradisc.storage.postgres.place import Place
from faradisc.storage.postgres.placement import SEVERAL
from faradisc.storage.postgres.pool import Connection
from faradisc.storage.postgres.routed import RoutedStore
from faradisc.storage.postgres.store import POOL_SIZE, first_connection

log = logging.getLogger(__name__)
PLACES_MAX = 200
PREPARED_MIN = POOL_SIZE
"""Of max_prepared_transactions: what one server can have prepared at a time."""
SKEW_US_MAX = 1_000_000
_FACTS = """SELECT current_setting('max_prepared_transactions')::bigint,
 (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"""
_META = "SELECT name, value FROM kv_meta"
_NEW_ID = "SELECT ('x' || left(replace(gen_random_uuid()::text, '-', ''), 12))::bit(48)::bigint"
_SET_META = "INSERT INTO kv_meta VALUES ($1::bytea, $2) ON CONFLICT DO NOTHING"
_ANY_PART = "SELECT FROM kv_part LIMIT 1"
_PLACES = "SELECT number, address FROM kv_place ORDER BY number"
_NEXT = """INSERT INTO kv_place SELECT coalesce(max(number) + 1, 0), $1::bytea, $2::bigint FROM kv_place
 RETURNING number"""
_SET_ADDRESS = "UPDATE kv_place SET address = $2 WHERE number = $1 AND address <> $2"
_NEEDED = (
    "SELECT DISTINCT get_byte(places, n)::bigint FROM kv_placement, generate_series(0, length(places) - 1) n"
)


@dataclass(frozen=True)
class Named:
    """A PostgreSQL that --store names."""

    dsn: str
    connect: Callable[[], Awaitable[Connection]]
    leave: Callable[[], object] | None = None

    @property
    def address(self) -> str:
        return address_of(self.dsn)


class Joining:
    """Knows the store of a home, and makes places of further PostgreSQLs."""

    def __init__(self, home: Named, size: int, *, create: bool) -> None:
        self._home = home
        self._size = size
        self._create = create
        self._fresh = False
        """Whether this store has just got its first places, which are all used at once."""
        self._store_id = 0
        self._ahead_us = 0
        """The clock of home minus that of the loop."""

    async def open(self, others: Sequence[Named]) -> RoutedStore:
        """Raises StorageError."""
        connection = await first_connection(self._home.connect)
        try:
            number = await self._identify(connection, self._home, connection)
            if number:
                raise StorageError(
                    f"{self._home.address} is place {number} of its store: name place 0 first."
                )
            places = {0: Place(0, self._home.address, self._home.connect, self._size, self._home.leave)}
            for named in others:
                place = await self._place(named, connection)
                if place.number in places:
                    raise StorageError(f"{named.address} and {places[place.number].address} are one place.")
                places[place.number] = place
            known = {number: address.decode() for number, address in await connection.fetch(_PLACES)}
            for (number,) in await connection.fetch(_NEEDED):
                if number not in places:
                    raise StorageError(
                        f"--store does not name place {number}, {known.get(number)}, which has tables."
                    )
        except StorageError:
            raise
        except Exception as error:
            raise translated(error) from error
        finally:
            await asyncio.ensure_future(connection.close())
        self._fresh = False
        store = RoutedStore(self._store_id, places)
        await store.refresh()
        return store

    async def add(self, store: RoutedStore, named: Named) -> None:
        """Adds a place to an open store. Raises StorageError."""
        connection = await asyncio.ensure_future(self._home.connect())
        try:
            place = await self._place(named, connection)
        finally:
            await asyncio.ensure_future(connection.close())
        if place.number in store.places:
            raise StorageError(f"{named.address} is a place already.")
        store.places[place.number] = place
        log.warning("%s is place %d", named.address, place.number)

    async def _place(self, named: Named, home: Connection) -> Place:
        """Returns the place that a PostgreSQL is. One that was used before need not answer."""
        checked = False

        async def connect() -> Connection:
            nonlocal checked
            connection = await named.connect()
            if not checked:
                try:
                    await self._identify(connection, named, None)
                except BaseException:
                    connection.terminate()
                    raise
                checked = True
            return connection

        try:
            connection = await asyncio.ensure_future(named.connect())
            try:
                number = await self._identify(connection, named, home)
                checked = True
            finally:
                await asyncio.ensure_future(connection.close())
        except IOFailed as error:
            numbers = {address.decode(): number for number, address in await home.fetch(_PLACES)}
            if named.address not in numbers:
                raise
            number = numbers[named.address]
            log.error("place %d, %s: %s", number, named.address, error)
        return Place(number, named.address, connect, self._size, named.leave)

    async def _identify(self, connection: Connection, named: Named, home: Connection | None) -> int:
        """Returns the number of the place at the end of a connection. Raises StorageError.

        home: where a place that is new gets its number; None: it is not new.
        """
        await prepare(connection, schema_of(named.dsn), create=self._create, places=True)
        [(prepared_max, now_us)] = await connection.fetch(_FACTS)
        if prepared_max < PREPARED_MIN:
            raise StorageError(
                f"max_prepared_transactions of {named.address} is {prepared_max}: "
                f"set it to at least {PREPARED_MIN} for each server, and restart PostgreSQL."
            )
        ahead_us = now_us - int(asyncio.get_running_loop().time() * 1e6)
        if named is self._home:
            self._ahead_us = ahead_us
        difference_us = abs(ahead_us - self._ahead_us)
        if difference_us > SKEW_US_MAX:
            raise StorageError(
                f"The clocks of {named.address} and {self._home.address} differ by "
                f"{difference_us / 1e6:.1f} s; at most 1 s is allowed. Let a time service set them."
            )
        meta = dict(await connection.fetch(_META))
        if b"place" not in meta:
            if home is None or not self._create:
                raise StorageError(f"{named.address} is no place of this store.")
            await self._found(connection, named, home)
            meta = dict(await connection.fetch(_META))
        if named is self._home:
            self._store_id = meta[b"store"]
        elif meta[b"store"] != self._store_id:
            raise StorageError(f"{named.address} is a place of another store.")
        number = int(meta[b"place"])
        if home is not None and self._create:
            await home.fetch(_SET_ADDRESS, number, named.address.encode())
        return number

    async def _found(self, connection: Connection, named: Named, home: Connection) -> None:
        """Makes a PostgreSQL a place of the store. Two servers that do it at once agree."""
        if named is self._home:
            self._fresh = not await home.fetch(_PLACES)
            [(store_id,)] = await home.fetch(_NEW_ID)
        else:
            store_id = self._store_id
            if await connection.fetch(_ANY_PART):
                raise StorageError(
                    f"{named.address} has data of its own: it cannot become a place of a store."
                )
        await home.execute("BEGIN; LOCK TABLE kv_place IN EXCLUSIVE MODE")
        try:
            numbers = {address.decode(): number for number, address in await home.fetch(_PLACES)}
            number = numbers.get(named.address)
            if number is None:
                if len(numbers) >= PLACES_MAX:
                    raise StorageError(f"A store has at most {PLACES_MAX} places.")
                unused = 0 if self._fresh or not numbers else 1
                [(number,)] = await home.fetch(_NEXT, named.address.encode(), unused)
            await connection.fetch(_SET_META, b"store", store_id)
            await connection.fetch(_SET_META, b"place", number)
            if number:  # home may be opened alone until a table is elsewhere
                await connection.fetch(SEVERAL)
        finally:
            await home.execute("COMMIT")


def named(dsn: str) -> Named:
    """Raises StorageError for a wrong address."""
    return Named(dsn, connector(dsn))


async def open_places(
    places: Sequence[Named],
    *,
    size: int = POOL_SIZE,
    create: bool = True,
    more: Callable[[], Sequence[str]] | None = None,
) -> RoutedStore:
    """Opens the store whose home is the first of `places`. Raises StorageError.

    create: what is missing. more: returns the addresses of today, which are added while the store is open.
    """
    joining = Joining(places[0], size, create=create)
    try:
        store = await joining.open(places[1:])
    except BaseException:
        for each in places:
            if each.leave is not None:
                await asyncio.to_thread(each.leave)
        raise
    seen = {each.dsn for each in places}

    async def look_for_places() -> None:
        for dsn in more() if more is not None else ():
            if dsn not in seen:
                seen.add(dsn)
                try:
                    await joining.add(store, named(dsn))
                except StorageError as error:
                    log.error("%s is not used: %s", address_of(dsn), error)

    store.look_for_places = look_for_places
    return store
