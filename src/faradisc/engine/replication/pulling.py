"""Asks the peers (peers.py) for what their replicas have written, and applies it here.

One question to a peer is under way at a time, on another thread. What comes is applied as deliveries in one
server are (delivery.py): the same commits, cursors and conflicts. After an answer with something in it the
next question follows at once.
"""

from __future__ import annotations

import asyncio
import logging
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import orjson

from faradisc.clock import Clock, monotonic_s
from faradisc.engine.derived.replication import Replication, replication_of
from faradisc.engine.jobs.walk import WalkPosition
from faradisc.engine.replication.answering import ENTRIES_MAX
from faradisc.engine.replication.delivery import (
    ENTRIES_PER_STEP,
    Origin,
    ReplicaDelivery,
    SlotEntry,
    distant_origin,
    positions,
)
from faradisc.engine.replication.filling import FillPage
from faradisc.engine.replication.peers import (
    APART_MAX_S,
    PEER_FORMAT,
    PeerRegion,
    Peers,
    PeerTable,
    PeerUnusable,
    WantedPage,
)
from faradisc.engine.sealing.sealer import KeyDenied
from faradisc.engine.tables.replicas import ReplicaGroup
from faradisc.engine.tables.state import TableState
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.table_lifecycle import INACCESSIBLE
from faradisc.errors import ResourceInUseException, ResourceNotFoundException
from faradisc.records import dataclass, field
from faradisc.storage.api import Store

RETRY_S = 1.0
"""Before a peer that has not answered is asked again, and between two looks."""
LED_S = 5.0
"""After this time without a step another node of a shared store replicates."""
WAIT_S = 0.05
"""Longest wait for an answer while there is much to get; other background work waits, too."""
LATE_MAX = 1000
"""Latencies that one question reports."""

_log = logging.getLogger(__name__)

Key = tuple[PeerTable, str]
"""A table, and the region here that gets its writes."""


@dataclass(slots=True)
class Arrived:
    """What has come of one table and is not applied yet, and what the next question reports of it."""

    table_id: str
    slots: int
    entries: dict[int, list[tuple[int, bytes]]] = field(default_factory=dict)
    """By slot: number and entry."""
    delivered: int = 0
    superseded: int = 0
    late_ms: list[float] = field(default_factory=list)


class _Asking:
    """The questions to one peer."""

    def __init__(self, peer: PeerRegion) -> None:
        self.peer = peer
        self.due_s = 0.0
        self.asked: Future[dict[str, Any]] | None = None
        self.asked_ns = self.answered_ns = 0
        self.question: dict[str, Any] = {}
        self.wanted: WantedPage | None = None
        """The page that the question asks for."""
        self.is_eager = False
        """Whether the last answer had something in it."""
        self.arrived: dict[Key, Arrived] = {}
        self.turn = 0

    def note_arrival(self, clock: Clock) -> None:
        self.answered_ns = clock.now_ns()


class PeerPulls:
    """Of one database."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        delivery: ReplicaDelivery,
        peers: Peers,
        regions: Sequence[str],
        *,
        pause_s: float,
        table_at: Callable[[str, str, str], Table | None],
        replicas: Callable[[], Iterable[tuple[Table, Replication]]],
    ) -> None:
        """regions: of this server. pause_s: between two questions while nothing happens."""
        self._store = store
        self._clock = clock
        self._delivery = delivery
        self._peers = peers
        self._regions = regions
        self._pause_s = pause_s
        self._table_at = table_at
        self._replicas = replicas
        self._led_s = -LED_S
        """When this node has last replicated."""
        self._asking = [_Asking(peer) for peer in peers.by_region.values()]

    def ask_now(self) -> None:
        """Lets the next step ask every peer, also one that has just not answered."""
        for asking in self._asking:
            asking.due_s = 0.0

    async def step(self) -> bool:
        """Applies some of what has come, and asks for more. Returns False when there was nothing to do."""
        if monotonic_s() > self._led_s + LED_S:
            self.ask_now()
        self._led_s = monotonic_s()
        busy = False
        for asking in self._asking:
            busy = await self._step(asking) or busy
        return busy

    async def look(self) -> None:
        """Asks what the peers show, and for no entries, unless this node has replicated a moment ago."""
        if monotonic_s() > self._led_s + LED_S:
            for asking in self._asking:
                asking.arrived = {}
                await self._step(asking, leads=False)

    async def _step(self, asking: _Asking, *, leads: bool = True) -> bool:
        busy = False
        for key, arrived in asking.arrived.items():
            # A table that was deleted or changed meanwhile, or whose key cannot be used any more, waits.
            with suppress(ResourceNotFoundException, ResourceInUseException, KeyDenied):
                if arrived.entries:
                    busy = await self._apply(asking.peer, key, arrived) or busy
        if asking.asked is None:
            if busy or monotonic_s() < asking.due_s:
                return busy
            asking.question = await self._question(asking, leads=leads)
            asking.asked_ns = self._clock.now_ns()
            asking.asked = asking.peer.client.ask(asking.question)
            asking.asked.add_done_callback(lambda _: asking.note_arrival(self._clock))
        if not asking.asked.done() and asking.is_eager and not busy:
            waiting = asyncio.wrap_future(asking.asked)
            waiting.add_done_callback(_seen)
            await asyncio.wait([waiting], timeout=WAIT_S)
        if not asking.asked.done():
            return busy
        asked, asking.asked = asking.asked, None
        asking.due_s = monotonic_s() + RETRY_S
        peer = asking.peer
        try:
            asking.is_eager = self._take(asking, asked.result())
            if peer.problem:
                _log.warning("the server of %s replicates again", peer.region)
            peer.problem = ""
        except PeerUnusable as error:
            asking.is_eager = False
            if peer.problem != str(error):
                _log.warning("nothing comes from %s: %s", peer.region, error)
            peer.problem = str(error)
            return busy
        if asking.is_eager and leads:
            asking.due_s = 0.0
        elif leads:
            asking.due_s = monotonic_s() + self._pause_s
        return busy or asking.is_eager

    # --- Questions -------------------------------------------------------------------------------

    async def _question(self, asking: _Asking, *, leads: bool) -> dict[str, Any]:
        peer = asking.peer
        pulls = []
        present: dict[Key, Arrived] = {}
        for table, replication in self._replicas() if leads else ():
            if table.state.status == INACCESSIBLE:
                continue
            to, name = table.state.region, (table.state.account, table.name)
            state = peer.states.get(name)
            group = None if state is None else ReplicaGroup.of(state)
            if state is None or group is None or group.group != replication.group.group:
                continue
            replica = group.find(to)
            if replica is None or self._delivery.links.is_cut((peer.region, to)):
                continue
            arrived = asking.arrived.get((name, to))
            if arrived is None or arrived.table_id != state.table_id:
                arrived = Arrived(state.table_id, state.slots)
            present[name, to] = arrived
            at = await positions(self._store, _origin(peer, to, arrived), replication)
            waits = any(arrived.entries.values())
            pulls.append(
                {
                    "account": name[0],
                    "table": name[1],
                    "to": to,
                    "id": state.table_id,
                    "since": replica.since_ns,
                    "has": [number for number, _ in at],
                    "room": 0 if waits else ENTRIES_MAX,
                    "delivered": arrived.delivered,
                    "superseded": arrived.superseded,
                    "late_ms": arrived.late_ms[:LATE_MAX],
                }
            )
        asking.arrived = present
        asking.turn += 1
        turn = asking.turn % len(pulls) if pulls else 0
        wanted = asking.wanted = peer.wanted
        fill = wanted and {
            "account": wanted.table[0],
            "table": wanted.table[1],
            "id": wanted.table_id,
            "position": orjson.Fragment(wanted.position.stored()),
        }
        return {
            **greeting(self._regions, peer.region),
            "tag": peer.tag,
            "pulls": pulls[turn:] + pulls[:turn],
            "fill": fill,
            "refused": [
                (to, *name, since_ns, text) for (to, name), (since_ns, text) in self._peers.refused.items()
            ],
        }

    # --- Answers ---------------------------------------------------------------------------------

    def _take(self, asking: _Asking, answer: Mapping[str, Any]) -> bool:
        """Takes over an answer; returns whether there was something in it. Raises PeerUnusable."""
        peer = asking.peer
        peer.apart_ms = check_fitting(peer, answer, asking.asked_ns, asking.answered_ns)
        try:
            changed = "tables" in answer
            if changed:
                self._take_tables(peer, answer["tables"])
            peer.tag = answer["tag"]
            for pull in asking.question["pulls"]:
                arrived = asking.arrived[(pull["account"], pull["table"]), pull["to"]]
                arrived.delivered -= pull["delivered"]
                arrived.superseded -= pull["superseded"]
                del arrived.late_ms[: len(pull["late_ms"])]
            coming: set[int] = set()
            for number, slot, at, entry in answer["entries"]:
                pull = asking.question["pulls"][number]
                arrived = asking.arrived[(pull["account"], pull["table"]), pull["to"]]
                arrived.entries.setdefault(slot, []).append((at, b64decode(entry)))
                coming.add(number)
            for number, pull in enumerate(asking.question["pulls"]):
                name = (pull["account"], pull["table"])
                (peer.idle.add if pull["room"] and number not in coming else peer.idle.discard)(name)
            fill = answer.get("fill")
            if fill is not None and peer.wanted == asking.wanted:
                items = [(b64decode(record), b64decode(stamp)) for record, stamp in fill["items"]]
                peer.page = FillPage(items, WalkPosition.of(orjson.dumps(fill["moved"])))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise unreadable(peer, error) from error
        peer.lists += 1
        peer.answered_ns = asking.answered_ns
        return changed or bool(answer["entries"]) or fill is not None

    def _take_tables(self, peer: PeerRegion, tables: Sequence[Mapping[str, Any]]) -> None:
        """Raises PeerUnusable."""
        states: dict[PeerTable, TableState] = {}
        encrypted: set[PeerTable] = set()
        scaling = {}
        for each in tables:
            state = TableState.from_json(each["state"])
            name = (state.account, state.name)
            group = ReplicaGroup.of(state)
            for replica in () if group is None else group.replicas:
                own = self._table_at(replica.region, *name) if replica.region in self._regions else None
                present = None if own is None else ReplicaGroup.of(own.state)
                if own is None or group is None or present is None or present.group != group.group:
                    continue
                if _keys(own.state) != _keys(state):
                    raise PeerUnusable(f"The table {state.name} has other keys in {peer.region}.")
            states[name], scaling[name] = state, each["scaling"]
            if each["encrypted"]:
                encrypted.add(name)
        peer.states, peer.encrypted, peer.scaling = states, encrypted, scaling

    async def _apply(self, peer: PeerRegion, key: Key, arrived: Arrived) -> bool:
        """Applies the next entries of a table; returns whether there were some that could be."""
        (account, name), to = key
        target = self._table_at(to, account, name)
        into = None if target is None else replication_of(target)
        if target is None or into is None or target.state.status == INACCESSIBLE:
            arrived.entries.clear()
            return False
        origin = _origin(peer, to, arrived)
        if self._delivery.links.is_cut(origin.link):
            return False
        at = await positions(self._store, origin, into)
        chosen: list[SlotEntry] = []
        for slot, entries in arrived.entries.items():
            found = self._delivery.due(origin.link, slot, entries[: ENTRIES_PER_STEP - len(chosen)])
            chosen += [entry for entry in found if entry.number > at[slot][0]]
        done = await self._delivery.apply(target, origin, at, chosen)
        busy = False
        for slot, last in enumerate(done.reached):
            entries = arrived.entries.get(slot, [])
            rest = [entry for entry in entries if entry[0] > last]
            busy = busy or len(rest) < len(entries)
            if rest:
                arrived.entries[slot] = rest
            else:
                arrived.entries.pop(slot, None)
        arrived.delivered += len(done.late_ms)
        arrived.superseded += done.superseded
        arrived.late_ms += done.late_ms
        return busy


def greeting(regions: Sequence[str], region: str) -> dict[str, Any]:
    """Returns what every question has. regions: those that ask. region: the one that is asked."""
    return {"format": PEER_FORMAT, "from": list(regions), "region": region}


def check_fitting(peer: PeerRegion, answer: Mapping[str, Any], asked_ns: int, now_ns: int) -> float:
    """Returns how far the peer's clock is ahead, in milliseconds. Raises PeerUnusable where the peer is of
    another version, or the clocks are too far apart, whatever the time was that the answer took."""
    if not isinstance(answer, Mapping) or answer.get("format") != PEER_FORMAT:
        raise PeerUnusable(f"The server of {peer.region} is of another version, which replicates otherwise.")
    try:
        ahead_ns: int = answer["now_ns"] - (asked_ns + now_ns) // 2
    except (KeyError, TypeError) as error:
        raise unreadable(peer, error) from error
    if abs(ahead_ns) - (now_ns - asked_ns) // 2 > APART_MAX_S * 1e9:
        raise PeerUnusable(
            f"The clocks of the servers are {abs(ahead_ns) / 1e9:.1f} s apart, and the last writer is found "
            f"by time: set them; {APART_MAX_S:g} s are accepted."
        )
    return ahead_ns / 1e6


def _seen(done: asyncio.Future[Any]) -> None:
    """Looks at the error, which `_take` meets too, so that none is reported as overlooked."""
    if not done.cancelled():
        done.exception()


def unreadable(peer: PeerRegion, error: Exception) -> PeerUnusable:
    return PeerUnusable(f"What the server of {peer.region} answers cannot be read: {error!r}.")


def _origin(peer: PeerRegion, to: str, arrived: Arrived) -> Origin:
    return distant_origin((peer.region, to), arrived.table_id, arrived.slots)


def _keys(state: TableState) -> list[tuple[str, str, str]]:
    types = dict(state.definitions)
    return [(name, kind, types[name]) for name, kind in state.key_schema]
