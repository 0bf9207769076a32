"""The simulation finds bugs: each test breaks one guarantee on purpose, and a run must report it.

This shows that successful runs are evidence. The bugs are typical of databases like this one; monkeypatching
replaces the code that gives the guarantee by code that does not.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from faradisc.engine.backups.writing import BackupWriter
from faradisc.engine.derived import indexes
from faradisc.engine.derived.history import History
from faradisc.engine.kinesis.delivery import KinesisDelivery
from faradisc.engine.streams.records import ChangeRecorder
from faradisc.engine.tables import commit, writes
from faradisc.engine.tables.indexes import EntryChange
from faradisc.engine.transactions import writing
from faradisc.engine.transactions.tokens import Tokens
from faradisc.engine.ttl import sweep
from faradisc.storage.api import Batch
from faradisc.storage.immediate import run
from fixtures.faulty_store import Faults, FaultyDisk, FaultyStore
from simulation import kept
from simulation.breaking import found


class ForgetfulDisk(FaultyDisk):
    """Reports every write as durable, which is false for some."""

    def _keep(self, count: int) -> None:
        for write in self._tail[:count]:
            if self.chance.random() >= 0.05:
                run(write.redo(self.synced))
            self.synced_version = max(write.version, self.synced_version)
        del self._tail[:count]


class CachingDisk(FaultyDisk):
    """Answers a sync when the writes are in its volatile cache."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self._cached = 0

    def sync(self, count: int) -> None:
        self._cached += count
        if self.chance.random() < 0.8:
            super().sync(self._cached)
            self._cached = 0

    def crash(self, lose: float | None = None) -> int:
        self._cached = 0
        return super().crash(lose=1.0)


def test_a_disk_that_loses_what_was_synced() -> None:
    """Finds a lost item, or a lost change of a switch."""
    text = found(ForgetfulDisk, lives=3, requests=100)
    assert "after a crash" in text or "may be {True}" in text


def test_a_disk_that_answers_too_early() -> None:
    assert found(CachingDisk)


def test_an_acknowledgement_before_the_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hasty(store: FaultyStore, write: int) -> None:
        pass

    monkeypatch.setattr(FaultyStore, "_wait_synced", hasty)
    assert "before it was on disk" in found() or "was never so" in found()


def test_a_read_of_what_a_crash_takes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hasty(store: FaultyStore, part: Any, keys: Any, **_: Any) -> Any:
        return await store._live.get(part, keys)

    monkeypatch.setattr(FaultyStore, "get", hasty)
    text = found(clients=5, faults=Faults(sync_turns=20))
    assert "was never so" in text or "the search for" in text


def test_a_write_that_leaves_an_old_index_entry_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = EntryChange.add_to

    def careless(entry: Any, batches: Any, written: Any) -> None:
        if entry.put is None and entry.index.name == "by-group":
            return
        honest(entry, batches, written)

    monkeypatch.setattr(EntryChange, "add_to", careless)
    assert "with-local/by-group" in found() or "without-local/by-group" in found()


def test_a_backfill_that_misses_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = indexes.add_missing

    async def careless(store: Any, index: Any, payloads: Any, batches: Any) -> Any:
        return await honest(store, index, payloads[1:], batches)

    monkeypatch.setattr(indexes, "add_missing", careless)
    assert "/late" in found()


def test_a_token_in_a_commit_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bug shows only when a crash occurs between the two commits."""
    honest = writing.commit_outcomes

    async def split(store: Any, outcomes: Any, *, also: Any = None, **more: Any) -> bool:
        done = await honest(store, outcomes, **more)
        if done and also is not None:
            await store.commit([also])
        return done

    monkeypatch.setattr(writing, "commit_outcomes", split)
    assert "was done twice" in found(
        clients=5, lives=12, requests=150, steps=150, faults=Faults(sync_turns=8)
    )


def test_a_token_that_is_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def forget(tokens: Any, token: Any, now_ns: int, beside: Any = ()) -> None:
        return None

    monkeypatch.setattr(Tokens, "find", forget)
    text = found(lives=15, steps=600, clients=4, requests=100, faults=Faults(sync_turns=4))
    # The commit checks the version that the look-up saw, so a second use is refused with an internal error.
    assert "was done twice" in text or "idempotency tokens" in text or "InternalServerError" in text


def test_a_transaction_in_two_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = writing.commit_outcomes

    async def split(store: Any, outcomes: Any, *, also: Any = None, **more: Any) -> bool:
        await honest(store, outcomes[:1], **more)
        return await honest(store, outcomes[1:], also=also, **more)

    monkeypatch.setattr(writing, "commit_outcomes", split)
    assert "a transaction has changed" in found()


def test_a_condition_judged_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another client writes between the read and the write: a lost update."""
    honest = commit.commit_outcomes

    async def late(store: Any, outcomes: Any, **more: Any) -> bool:
        await store.wait_durable(0)

        async def unchecked(batches: Any, commit: Any = store.commit) -> Any:
            return await commit([_without_checks(batch) for batch in batches])

        store.commit = unchecked
        try:
            return await honest(store, outcomes, **more)
        finally:
            del store.commit

    monkeypatch.setattr(writes, "commit_outcomes", late)
    assert found()


def _without_checks(batch: Batch) -> Batch:
    return Batch(batch.part, [], batch.puts, batch.deletes, batch.log, batch.items_delta, batch.bytes_delta)


def test_an_expiry_that_comes_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = sweep.Sweeper._due

    def early(sweeper: Any, until_ns: int) -> Any:
        return honest(sweeper, until_ns + 1_000_000_000)

    monkeypatch.setattr(sweep.Sweeper, "_due", early)
    assert "which did not expire" in found(switched_on=1.0)


def test_a_stream_that_misses_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = ChangeRecorder.entry

    def careless(recorder: ChangeRecorder, row_key: bytes, old: Any, new: Any, *, by_service: bool) -> Any:
        if row_key[0] % 4 == 1 and old is not None and new is not None:
            return b"elsewhere", b""
        return honest(recorder, row_key, old, new, by_service=by_service)

    monkeypatch.setattr(ChangeRecorder, "entry", careless)
    assert "stream" in found() or "a record goes on from another image" in found()


def test_a_delivery_that_believes_in_success(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hopeful(delivery: Any, flow: Any, sent: Any) -> None:
        flow.sent = None
        await delivery._store.trim(flow.part, flow.sequences[-1] + 1)

    monkeypatch.setattr(KinesisDelivery, "_collect", hopeful)
    assert "was never delivered to Kinesis" in found()


def test_a_backup_that_misses_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = BackupWriter.__init__

    def careless(writer: BackupWriter, *arguments: Any) -> None:
        honest(writer, *arguments)
        del writer._parts[-1]

    monkeypatch.setattr(BackupWriter, "__init__", careless)
    assert "never did in that time" in found(lives=1, requests=200)


def test_a_history_that_misses_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = History.add

    def careless(history: Any, batches: Any, written: Any) -> None:
        if written.new_record is not None:
            honest(history, batches, written)

    monkeypatch.setattr(History, "add", careless)
    assert found(lives=1, requests=200, switched_on=1.0)


def test_a_failing_seed_says_how_to_run_it_again_and_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setattr(kept, "REGRESSIONS", tmp_path / "regressions.txt")
    kept.REGRESSIONS.write_text("# none\n")
    text = found(ForgetfulDisk)
    seed = int(text.split()[1])
    assert f"python -m simulation --seed {seed} --trace" in text
    for _ in range(2):
        kept.keep(seed, text)
    assert kept.kept() == [seed]
