"""The past of a table, compared with a record of all its states.

What it proves: a walk over a past time, and one over the changes between two, equal the recorded states: for
any page size, for hot keys, across days, and while the table is written between pages. The parameters are
seeds.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from faradisc.clock import ManualClock, SeededEntropy
from faradisc.engine.backups import history as reading
from faradisc.engine.backups.history import Cursor, ItemChange, page_at, page_between
from faradisc.engine.derived.history import history_of
from faradisc.engine.derived.kinds import KINDS
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.change import Change
from faradisc.engine.tables.definition import table_definition
from faradisc.engine.tables.state import DAY_NS, PitrState, TableState
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.writes import apply_changes
from faradisc.model.codec import item_record
from faradisc.model.values.attribute import Item
from faradisc.storage.immediate import run
from faradisc.storage.memory import MemoryStore
from fixtures.schemas import schema

PLACE = ("table", "us-east-1", "000000000000")
SECOND_NS = 1_000_000_000

State = dict[str, Item]


class Scene:
    """A table with a history, and a record of all its states."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.clock = ManualClock()
        self.catalog = Catalog(
            self.store, self.clock, SeededEntropy(1), KINDS, per_region=False, transition_ms=0
        )
        run(self.catalog.load())
        table = run(self.catalog.create(*PLACE, table_definition(schema("p:S")), {}))
        now_ns = self.clock.now_ns()
        self.states: list[tuple[int, State]] = [(now_ns, {})]
        self.writes: list[tuple[int, str]] = []

        def enable(state: TableState) -> bool:
            state.pitr = PitrState(now_ns, 35, now_ns // DAY_NS)
            return False

        run(self.catalog.update(table, enable, while_in_use=True))

    @property
    def table(self) -> Table:
        return self.catalog.tables.for_data(*PLACE)

    def write(self, values: dict[str, int | None]) -> None:
        """Puts or deletes (None) items, in one commit."""
        items = {key: item_of(key, value) for key, value in values.items()}
        changes = [
            Change(self.table, {"p": {"S": key}}, lambda _, item=item: item) for key, item in items.items()
        ]
        run(apply_changes(self.store, changes))
        state = dict(self.states[-1][1])
        for key, item in items.items():
            if item != state.get(key):
                self.writes.append((self.catalog.moments.now_ns(), key))
            if item is None:
                state.pop(key, None)
            else:
                state[key] = item
        self.states.append((self.catalog.moments.now_ns(), state))

    def state_at(self, at_ns: int) -> State:
        return next(state for time, state in reversed(self.states) if time <= at_ns)

    def read_at(self, at_ns: int) -> State:
        return run(self._collect_at(at_ns))

    async def _collect_at(self, at_ns: int) -> State:
        found: list[Item] = []
        cursor: Cursor | None = Cursor()
        while cursor is not None:
            page, cursor = await page_at(self.store, self.table, at_ns, cursor)
            found += [item_record.decode(each.record) for each in page]
        return keyed(found)

    def read_between(self, from_ns: int, to_ns: int) -> list[ItemChange]:
        async def collect() -> list[ItemChange]:
            found: list[ItemChange] = []
            cursor: Cursor | None = Cursor()
            while cursor is not None:
                page, cursor = await page_between(self.store, self.table, from_ns, to_ns, cursor)
                found += page
            return found

        return run(collect())

    def check_changes(self, changes: list[ItemChange], from_ns: int, to_ns: int) -> None:
        old, new = self.state_at(from_ns), self.state_at(to_ns)
        last = {key: time for time, key in self.writes if from_ns < time <= to_ns}
        found: dict[bytes, Any] = {}
        for change in changes:
            assert change.row_key not in found
            images = [None if each is None else item_record.decode(each) for each in (change.old, change.new)]
            found[change.row_key] = (*images, change.written_ns)
        row_key = self.table.placement.row_key
        assert found == {
            row_key({"p": {"S": key}}): (old.get(key), new.get(key), time) for key, time in last.items()
        }


def item_of(key: str, value: int | None) -> Item | None:
    return None if value is None else {"p": {"S": key}, "v": {"N": str(value)}}


def keyed(items: list[Item]) -> State:
    assert len({each["p"]["S"] for each in items}) == len(items), "an item stands once"
    return {each["p"]["S"]: each for each in items}


def some_write(rng: random.Random, keys: int) -> dict[str, int | None]:
    chosen = rng.sample(range(keys), rng.choice((1, 1, 1, 3)))
    return {f"k{each}": None if rng.random() < 0.3 else rng.randrange(3) for each in chosen}


def some_time(rng: random.Random) -> float:
    """Returns the seconds between writes: often none, sometimes one, rarely a day or two."""
    return rng.choice((0, 0, 0, 1, 1, 60, 20_000, 100_000))


@pytest.fixture(params=[2, 3, 7, 200])
def page_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(reading, "PAGE_ROWS", request.param)
    return int(request.param)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 5))])
@pytest.mark.parametrize("keys", [3, 40])
def test_items_at_any_past_time(seed: int, keys: int, page_rows: int) -> None:
    rng = random.Random(seed)
    scene = Scene()
    for _ in range(300):
        scene.clock.advance(some_time(rng))
        scene.write(some_write(rng, keys))
    first, last = scene.states[0][0], scene.clock.now_ns()
    moments = [first, last, *(rng.randrange(first, last) for _ in range(10))]
    moments += [rng.choice(scene.states)[0] for _ in range(10)]
    for at_ns in moments:
        assert scene.read_at(at_ns) == scene.state_at(at_ns)
    for at_ns in moments:
        from_ns, to_ns = sorted((at_ns, rng.choice(moments)))
        scene.check_changes(scene.read_between(from_ns, to_ns), from_ns, to_ns)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("between", [False, True])
def test_writes_between_pages_do_not_change_the_past(seed: int, between: bool, page_rows: int) -> None:
    rng = random.Random(seed)
    scene = Scene()
    for _ in range(100):
        scene.write(some_write(rng, 30))
        scene.clock.advance(some_time(rng) + 1)
    from_ns, to_ns = scene.states[50][0], scene.clock.now_ns()
    scene.catalog.moments.begin_after(to_ns)  # the clock may stand still from here on
    pages: list[Any] = []
    cursor: Cursor | None = Cursor()
    while cursor is not None:
        page: list[Any]
        if between:
            page, cursor = run(page_between(scene.store, scene.table, from_ns, to_ns, cursor))
        else:
            page, cursor = run(page_at(scene.store, scene.table, to_ns, cursor))
        pages += page
        for _ in range(rng.randrange(1, 4)):
            scene.write(some_write(rng, 30))
            scene.clock.advance(rng.choice((0, 0, 50_000)))
    if between:
        scene.check_changes(pages, from_ns, to_ns)
    else:
        assert keyed([item_record.decode(each.record) for each in pages]) == scene.state_at(to_ns)


def test_past_time_contains_commits_completely() -> None:
    scene = Scene()
    scene.clock.advance(1)
    scene.write({f"k{number}": 1 for number in range(20)})
    at_ns = scene.clock.now_ns()
    assert scene.read_at(at_ns - 1) == {}
    assert len(scene.read_at(at_ns)) == 20


def test_no_change_is_added_at_a_time_that_was_read() -> None:
    scene = Scene()
    scene.write({"a": 1})
    at_ns = scene.catalog.moments.now_ns()
    scene.catalog.moments.begin_after(at_ns)
    scene.write({"a": 2, "b": 2})
    assert list(scene.read_at(at_ns)) == ["a"]
    assert scene.read_at(at_ns)["a"]["v"] == {"N": "1"}
    assert scene.read_at(scene.catalog.moments.now_ns()).keys() == {"a", "b"}


def test_unchanged_items_are_not_in_the_history() -> None:
    scene = Scene()
    scene.write({"a": 1})
    before = history_of(scene.table)
    assert before is not None
    used = [run(scene.store.usage(part)) for part in before.parts()]
    scene.write({"a": 1})
    assert [run(scene.store.usage(part)) for part in before.parts()] == used
    assert sum(changes for changes, _ in used) == 1


def test_the_usage_counts_changes_and_bytes() -> None:
    scene = Scene()
    for number in range(10):
        scene.write({"a": number, "b": number})
    history = history_of(scene.table)
    assert history is not None
    for part in history.parts():
        rows = run(scene.store.range(part, None, None, limit=100))
        assert run(scene.store.usage(part)) == (
            len(rows),
            sum(len(key) + len(payload) for key, (_, payload) in rows),
        )
