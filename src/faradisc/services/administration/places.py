"""Where tables are on a store of several PostgreSQLs, its places; who moves them; what is down.

The store knows prefixes of parts. A table's are those of its items, indexes, history and streams.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from faradisc.clock import Clock
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.table import Table
from faradisc.errors import StorageError
from faradisc.records import dataclass
from faradisc.services.administration.throughput import AdminError, NoSuchTable
from faradisc.storage.postgres.moving import Mover, ask
from faradisc.storage.postgres.placement import HOME, PREFIX_BYTES
from faradisc.storage.postgres.recovery import Prepared
from faradisc.storage.postgres.routed import RoutedStore

LOADS_NS = 15_000_000_000
"""Between two looks at the loads, which decide where new tables are put."""
LOAD_MINUTES = 5
_UNITS = ("ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits")
_SIZES = (
    "SELECT substr(part, 1, 4), sum(bytes)::bigint FROM kv_part WHERE gen > 0 GROUP BY substr(part, 1, 4)"
)
_PLACES = "SELECT number, address, drained FROM kv_place ORDER BY number"
_MOVES = "SELECT prefix, target, done FROM kv_placement WHERE target IS NOT NULL"
_DRAIN = "UPDATE kv_place SET drained = $2 WHERE number = $1"
_ASK = (
    'Ask for {"table": NAME, "to": PLACE}, {"table": NAME, "spread": true}, {"add": PLACE}, {"drain": PLACE} '
    'or {"balance": true}.'
)
WORTH = 0.1
"""A move to balance must lower the largest load by this share of the mean."""


@dataclass(frozen=True)
class PlaceState:
    """A place, as a server sees it."""

    number: int
    address: str
    failure: str
    prepared: Sequence[Prepared]
    """Prepared transactions that nobody has ended for seconds."""
    load: float
    """Units per second of its tables."""


class Places:
    def __init__(self, store: RoutedStore, catalog: Catalog, clock: Clock) -> None:
        self.mover = Mover(store)
        self._store = store
        self._catalog = catalog
        self._clock = clock
        self._due_ns = 0

    def _tables(self) -> dict[str, Table]:
        """Returns all tables by the name that people use: with the namespace, if there are several."""
        return {
            f"{table.state.namespace}/{table.name}" if table.state.namespace else table.name: table
            for table in self._catalog.tables.all()
        }

    def _prefixes(self, table: Table) -> list[bytes]:
        """Returns the prefixes of a table's parts, that of its items first."""
        streams = self._catalog.streams.listed(table.state.namespace, table.name)
        parts = [*table.parts(), *(part for stream in streams for part in stream.parts)]
        first = table.placement.parts[0][:PREFIX_BYTES]
        return [first, *sorted({part[:PREFIX_BYTES] for part in parts} - {first})]

    def _load(self, table: Table) -> float:
        """Returns the capacity units per second that a table consumed in the last minutes, on all servers."""
        series = self._catalog.throughput.registry(table.state.namespace).metrics.series
        since_ns = self._clock.now_ns() - LOAD_MINUTES * 60_000_000_000
        units = 0.0
        for (name, which), found in series.items():
            if name in _UNITS and ("TableName", table.name) in which:
                units += sum(each.sum for minute_ns, each in found.points if minute_ns >= since_ns)
        return round(units / (LOAD_MINUTES * 60), 2)

    async def step(self) -> bool:
        """Tells the store the loads of its places, if it is time."""
        if self._clock.now_ns() >= self._due_ns:
            self._due_ns = self._clock.now_ns() + LOADS_NS
            loads: dict[int, float] = {}
            for table in self._tables().values():
                places = self._store.map.places.get(table.placement.parts[0][:PREFIX_BYTES], HOME)
                for number in places:
                    loads[number] = loads.get(number, 0) + self._load(table) / len(places)
            self._store.loads = loads
        return False

    async def document(self) -> dict[str, Any]:
        """Returns places and tables, for people. A place that is away has no sizes. Raises StorageError."""
        store = self._store
        await store.refresh()
        rows = await store.home._fetch(_PLACES)
        moves = {prefix: (target, done) for prefix, target, done in await store.home._fetch(_MOVES)}
        sizes: dict[bytes, int] = {}
        places = {
            number: await self._place(number, address, drained, sizes) for number, address, drained in rows
        }
        tables = []
        for name, table in sorted(self._tables().items()):
            prefixes = self._prefixes(table)
            at = store.map.places.get(prefixes[0], HOME)
            moving = next((moves[prefix] for prefix in prefixes if prefix in moves), None)
            load = self._load(table)
            bytes_ = sum(sizes.get(prefix, 0) for prefix in prefixes)
            tables.append(
                {
                    "table": name,
                    "places": list(at),
                    "bytes": bytes_,
                    "load": load,
                    "moving": moving and {"to": list(moving[0]), "done": moving[1] / 1000},
                }
            )
            for number in at:
                places[number]["tables"] += 1
                places[number]["load"] = round(places[number]["load"] + load / len(at), 2)
        return {"places": list(places.values()), "tables": tables}

    async def _place(
        self, number: int, address: bytes, drained: int, sizes: dict[bytes, int]
    ) -> dict[str, Any]:
        place = self._store.places.get(number)
        failure = "this server was not told of it" if place is None else str(place.failure or "")
        total = 0
        if place is not None and not failure:
            try:
                for prefix, size in await place._fetch(_SIZES):
                    sizes[prefix] = sizes.get(prefix, 0) + size
                    total += size
            except StorageError as error:
                failure = str(error)
        return {
            "place": number,
            "address": address.decode(),
            "status": "down" if failure else "drained" if drained else "up",
            "reason": failure,
            "bytes": total,
            "tables": 0,
            "load": 0.0,
            "prepared": [
                {"name": each.name, "age_s": round(each.age_s, 1)}
                for each in self._store.recovery.left.get(number, ())
            ],
        }

    def states(self) -> list[PlaceState]:
        """Returns what this server knows of its places, without asking."""
        store = self._store
        return [
            PlaceState(
                number,
                place.address,
                str(place.failure or ""),
                store.recovery.left.get(number, []),
                store.loads.get(number, 0.0),
            )
            for number, place in sorted(store.places.items())
        ]

    def problems(self) -> list[str]:
        return self._store.recovery.problems()

    # --- changes ---

    async def change(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Does what an administrator asks for (_ASK). Returns what `document` then returns.

        Raises AdminError, StorageError.
        """
        match dict(wanted):
            case {"table": str() as name, "to": int() as number} if not isinstance(number, bool):
                await self._move(name, [number])
            case {"table": str() as name, "spread": True}:
                await self._move(name, await self._used())
            case {"add": int() as number}:
                await self._set_drained(number, 0)
            case {"drain": int() as number}:
                await self._drain(number)
            case {"balance": True}:
                for name, number in await self.proposals():
                    await self._move(name, [number])
            case _:
                raise AdminError(_ASK)
        return await self.document()

    async def _used(self, without: int | None = None) -> list[int]:
        """Returns the places that may get tables."""
        rows = await self._store.home._fetch(_PLACES)
        return [number for number, _, drained in rows if not drained and number != without]

    async def _move(self, name: str, to: list[int]) -> None:
        table = self._tables().get(name)
        if table is None:
            raise NoSuchTable(f"There is no table {name}.")
        used = await self._used()
        for number in to:
            if number not in used:
                raise AdminError(f"Place {number} is no place that tables can be put at: {used}.")
        await ask(self._store, self._prefixes(table), bytes(to))

    async def _set_drained(self, number: int, drained: int) -> None:
        if number not in self._store.places:
            raise AdminError(f"There is no place {number}: name it in --store of all servers first.")
        await self._store.home._fetch(_DRAIN, number, drained)
        await self._store.refresh()

    async def _drain(self, number: int) -> None:
        """Lets a place get no tables, and moves those that it has to the others."""
        left = await self._used(without=number)
        if not number or not left:
            raise AdminError("Place 0 has the catalog." if not number else "No other place takes tables.")
        await self._set_drained(number, 1)
        document = await self.document()
        loads = {each["place"]: each["load"] for each in document["places"] if each["place"] in left}
        for each in document["tables"]:
            if number in each["places"]:
                target = min(loads, key=lambda place: loads[place])
                loads[target] += each["load"] + 1e-9
                await self._move(each["table"], [target])

    async def proposals(self) -> list[tuple[str, int]]:
        """Returns moves that make the loads of the places more equal: tables, each with its new place.

        Load is units per second; where there is none, bytes.
        """
        document = await self.document()
        kind = "load" if any(each["load"] for each in document["tables"]) else "bytes"
        loads = dict.fromkeys(await self._used(), 0.0)
        tables = [each for each in document["tables"] if len(each["places"]) == 1 and not each["moving"]]
        for each in document["tables"]:
            for number in each["places"]:
                loads[number] = loads.get(number, 0.0) + each[kind] / len(each["places"])
        moves: list[tuple[str, int]] = []
        worth = WORTH * sum(loads.values()) / max(len(loads), 1)
        for each in sorted(tables, key=lambda each: -each[kind]):
            (source,) = each["places"]
            target = min(loads, key=lambda place: loads[place])
            if loads[source] - max(loads[target] + each[kind], loads[source] - each[kind]) > worth:
                loads[source] -= each[kind]
                loads[target] += each[kind]
                moves.append((each["table"], target))
        return moves
