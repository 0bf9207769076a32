"""Random histories on both engines at once, against a plain dict.

The mirror insists that memory and RocksDB answer alike; the dict insists that both are right.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from faradisc.storage.api import Batch, Conflict, Part
from faradisc.storage.immediate import run
from faradisc.storage.memory import MemoryStore
from faradisc.storage.rocks import open_rocks
from fixtures.mirror_store import MirrorStore
from fixtures.searching import examples

PARTS = [b"a", b"ab", b"\xff"]
KEYS = [b"", b"\x00", b"a", b"ab", b"b", b"\x7f", b"\x80", b"\xff", b"\xff\xff"]

parts = st.sampled_from(PARTS)
keys = st.sampled_from(KEYS)
bounds = st.none() | keys
payloads = st.binary(max_size=6)


@dataclass
class Model:
    """A part as a dict would keep it; versions are whatever the store last showed."""

    rows: dict[bytes, bytes] = field(default_factory=dict)
    log: dict[int, bytes] = field(default_factory=dict)
    last: int = 0
    items: int = 0
    bytes: int = 0


@st.composite
def batches(draw: st.DrawFn) -> tuple[Batch, dict[bytes, bool]]:
    """A batch, and which keys it checks: True with the right version, False with a wrong one."""
    changes = draw(st.dictionaries(keys, st.none() | payloads, max_size=4))
    checks = draw(st.dictionaries(keys, st.integers(0, 9).map(bool), max_size=3))  # one in ten is wrong
    batch = Batch(
        draw(parts),
        puts=[(key, payload) for key, payload in changes.items() if payload is not None],
        deletes=[key for key, payload in changes.items() if payload is None],
        log=draw(st.lists(payloads, max_size=3)),
        items_delta=draw(st.integers(-2, 2)),
        bytes_delta=draw(st.integers(-2, 2)),
    )
    return batch, checks


steps = st.one_of(
    st.tuples(st.just("commit"), st.tuples(st.lists(batches(), max_size=3), st.booleans())),
    st.tuples(st.just("flush"), st.none()),
    st.tuples(st.just("range"), st.tuples(parts, bounds, bounds, st.integers(1, 9), st.booleans())),
    st.tuples(st.just("bytes"), st.tuples(parts, st.integers(0, 12))),
    st.tuples(st.just("trim"), st.tuples(parts, st.integers(0, 12))),
    st.tuples(st.just("clear"), parts),
    st.tuples(st.just("reopen"), st.none()),
)


class History:
    def __init__(self, place: Path) -> None:
        self.place = place
        self.memory = MemoryStore()
        self.rocks = open_rocks(place, durability="inline")
        self.store = MirrorStore(self.memory, self.rocks)
        self.models: dict[Part, Model] = defaultdict(Model)

    def reopen(self, _: object) -> None:
        """Only the disk forgets its memory; the mirror's pairs of versions go on."""
        run(self.rocks.close())
        self.rocks = open_rocks(self.place, durability="inline")
        versions = self.store._versions
        self.store = MirrorStore(self.memory, self.rocks)
        self.store._versions = versions

    def flush(self, _: object) -> None:
        run(self.store.flush())

    def commit(self, given: tuple[list[tuple[Batch, dict[bytes, bool]]], bool]) -> None:
        drawn, durable = given
        touched: set[tuple[Part, bytes]] = set()
        work: list[Batch] = []
        wrong: tuple[Part, bytes] | None = None
        for batch, checks in drawn:
            own = {(batch.part, key) for key in [*(key for key, _ in batch.puts), *batch.deletes]}
            if own & touched:
                continue  # a key stands at most once in a commit
            touched |= own
            for key, right in checks.items():
                [row] = run(self.store.get(batch.part, [key], for_update=True))
                version = 0 if row is None else row[0]
                if not right:
                    wrong = wrong or (batch.part, key)
                    version = version + 1
                batch.checks.append((key, version))
            work.append(batch)
        answer = run(self.store.commit(work, durable=durable))
        if wrong is not None:
            assert isinstance(answer, Conflict)
            assert (answer.part, answer.key) == wrong
            return
        expected = []
        for batch in work:
            model = self.models[batch.part]
            model.rows.update(batch.puts)
            for key in batch.deletes:
                model.rows.pop(key, None)
            for entry in batch.log:
                model.last += 1
                model.log[model.last] = entry
            model.items += batch.items_delta
            model.bytes += batch.bytes_delta
            expected.append(model.last)
        assert answer == expected

    def range(self, drawn: tuple[Part, bytes | None, bytes | None, int, bool]) -> None:
        part, lo, hi, limit, reverse = drawn
        rows = self.models[part].rows
        wanted = sorted(
            (key for key in rows if (lo is None or lo <= key) and (hi is None or key < hi)), reverse=reverse
        )
        page = run(self.store.range(part, lo, hi, limit=limit, reverse=reverse))
        assert [(key, row[1]) for key, row in page] == [(key, rows[key]) for key in wanted[:limit]]

    def bytes(self, drawn: tuple[Part, int]) -> None:
        part, max_bytes = drawn
        rows = self.models[part].rows
        wanted: list[bytes] = []
        for key in sorted(rows):
            wanted.append(key)
            if sum(len(rows[each]) for each in wanted) > max_bytes:
                break
        page = run(self.store.range(part, None, None, limit=100, max_bytes=max_bytes))
        assert [key for key, _ in page] == wanted

    def trim(self, drawn: tuple[Part, int]) -> None:
        part, before = drawn
        run(self.store.trim(part, before))
        log = self.models[part].log
        self.models[part].log = {number: entry for number, entry in log.items() if number >= before}

    def clear(self, part: Part) -> None:
        run(self.store.clear(part))
        self.models.pop(part, None)

    def check(self) -> None:
        for part in PARTS:
            model = self.models[part]
            found = run(self.store.range(part, None, None, limit=100))
            assert [(key, row[1]) for key, row in found] == sorted(model.rows.items())
            assert run(self.store.get(part, KEYS)) == [dict(found).get(key) for key in KEYS]
            assert run(self.store.log(part, 0, 1000)) == sorted(model.log.items())
            assert run(self.store.usage(part)) == (model.items, model.bytes)


@examples(60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(steps, max_size=25))
def test_random_histories_match_a_dict(history: list[tuple[str, object]]) -> None:
    with tempfile.TemporaryDirectory() as place:
        world = History(Path(place))
        for name, drawn in history:
            getattr(world, name)(drawn)
        world.check()
        world.reopen(None)
        world.check()
        run(world.store.close())
