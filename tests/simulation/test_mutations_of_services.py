"""As test_mutations.py, for exports, imports, bulk puts, vectors, throughput and auto scaling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from faradisc.capacity import resource_registry
from faradisc.capacity.admission import Limiter
from faradisc.capacity.partitions import PartitionMap
from faradisc.capacity.resource import Resource
from faradisc.capacity.throttle import Throttled
from faradisc.capacity.usage import MinuteUsage
from faradisc.engine.exchange import bulk_putting, exporting, importing
from faradisc.engine.tables import commit, writes
from faradisc.engine.vectors.memory import IndexVectors
from faradisc.services.autoscaling.target import Target
from faradisc.services.autoscaling.worker import AutoScaler
from faradisc.storage.api import Batch
from fixtures.faulty_store import Faults, FaultyStore
from simulation.breaking import found

BUSY: dict[str, Any] = {"throttled": 0.9, "throttled_index": False, "requests": 120}
"""A run that is mostly about throughput."""
CRASHES: dict[str, Any] = {
    "clients": 2,
    "lives": 10,
    "steps": 3000,
    "requests": 100,
    "switched_on": 1.0,
    "faults": Faults(sync_turns=20),
}
"""A run with many of them, and a long way from a commit to the disk."""

# --- Exports, imports, bulk puts -----------------------------------------------------------------


def test_an_export_of_a_later_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = exporting.page_at

    async def late(store: Any, table: Any, at_ns: int, cursor: Any) -> Any:
        return await honest(store, table, at_ns + 60_000_000_000, cursor)

    monkeypatch.setattr(exporting, "page_at", late)
    assert "never did between versions" in found(lives=1, requests=200, switched_on=1.0)


def test_an_import_that_is_complete_before_the_disk_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hasty(store: FaultyStore) -> None:
        pass

    monkeypatch.setattr(FaultyStore, "flush", hasty)
    assert "an import of" in found(**CRASHES, errands=("import",))


def test_an_export_that_forgets_a_file_it_has_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = exporting.ExportRun.__init__

    def forgetful(run: Any, task: Any, *more: Any) -> None:
        task.progress["files"] = task.progress.get("files", [])[1:]
        honest(run, task, *more)

    monkeypatch.setattr(exporting.ExportRun, "__init__", forgetful)
    assert "of its manifest" in found(**CRASHES, errands=("export",))


def test_a_failed_import_that_leaves_its_table(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(job: Any, task: Any, code: str, message: str) -> None:
        job.close()
        await job._tasks.end(task, "FAILED", code, message)

    monkeypatch.setattr(importing.Importing, "fail", fail)
    assert "a failed import has left a table" in found(lives=1, requests=100, errands=("import",))


def _in_memory(commit: Any) -> Any:
    """Keeps progress in memory until all is done."""

    async def hopeful(store: Any, *what: Any, also: Batch, **more: Any) -> Any:
        return await commit(store, *what, also=Batch(also.part), **more)

    return hopeful


def test_a_bulk_put_that_keeps_its_progress_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_putting, "commit_outcomes", _in_memory(bulk_putting.commit_outcomes))
    text = found(**CRASHES, errands=("bulk",))
    assert "a bulk put has put" in text or "were not put, reported is" in text


def test_a_bulk_put_that_forgets_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_putting, "_condition", lambda record: None)
    assert "against its condition" in found(requests=200)


def test_a_bulk_put_that_drops_what_it_cannot_put(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_putting._Run, "_reject", lambda *_: None)
    assert "of them bad, counts" in found(lives=1, requests=100, errands=("bulk",))


# --- Vectors -------------------------------------------------------------------------------------


def test_a_vector_in_memory_that_is_not_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IndexVectors, "written", lambda *_: None)
    assert "the search for" in found(lives=1, requests=200)


# --- Throughput ----------------------------------------------------------------------------------


def test_a_write_that_is_refused_and_done(monkeypatch: pytest.MonkeyPatch) -> None:
    honest_charge, honest_commit = writes.charge_write, writes.commit_outcomes
    refused: list[tuple[Any, Throttled]] = []

    def charge(outcome: Any) -> None:
        throttle = honest_charge(outcome)
        if throttle is not None:
            refused.append((outcome, Throttled(throttle)))

    async def commit(store: Any, outcomes: Any, **more: Any) -> bool:
        done = await honest_commit(store, outcomes, **more)
        for outcome, throttled in refused:
            if outcome in outcomes:
                raise throttled
        return done

    monkeypatch.setattr(writes, "charge_write", charge)
    monkeypatch.setattr(writes, "commit_outcomes", commit)
    assert "was throttled, and done" in found(**BUSY)


@pytest.mark.parametrize(
    ("limit", "throughput"), [("partition", "hasty:2/1"), ("table", "pessimistic:40/20")]
)
def test_limiter_that_admits_everything(monkeypatch: pytest.MonkeyPatch, limit: str, throughput: str) -> None:
    def charge(
        limiter: Limiter, place: bytes, half_units: int, now: int, _: int, eventual: bool = False
    ) -> bool:
        limiter.take(limiter.bucket_of(place), place, half_units, now, eventual)
        return True

    monkeypatch.setattr(Limiter, "charge", charge)
    monkeypatch.setattr(Limiter, "admit", lambda limiter, place, now: limiter.bucket_of(place))
    text = found(**BUSY, throughput=throughput)
    assert f"Ceiling(name=('{limit}'" in text and "has admitted" in text


def test_partitions_that_a_restart_forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    def fresh(stored: Mapping[str, Any], config: Any, now: int) -> PartitionMap:
        return PartitionMap(config, 1, now)

    monkeypatch.setattr(PartitionMap, "from_json", fresh)
    assert "partitions were merged" in found(**BUSY, lives=6, steps=1500, throughput="hasty:2/1/3KB")


def test_partitions_that_are_not_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Resource.to_json

    def stale(resource: Resource) -> dict[str, Any]:
        stored = honest(resource)
        stored["map"]["partitions"] = stored["map"]["partitions"][:1]
        return stored

    monkeypatch.setattr(Resource, "to_json", stale)
    assert "on disk is" in found(**BUSY, lives=1, throughput="hasty:2/1/3KB")


def test_metrics_that_count_equal_costs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = resource_registry.record_usage

    def careless(store: Any, table: str, index: Any, usage: MinuteUsage) -> None:
        honest(store, table, index, replace(usage, tally=dict.fromkeys(usage.tally, 1)))

    monkeypatch.setattr(resource_registry, "record_usage", careless)
    assert "the metrics have" in found(**BUSY)


def test_partitions_that_ignore_growth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit, "grow_partitions", lambda *_: None)
    assert "partitions hold" in found(**BUSY)


# --- Auto scaling --------------------------------------------------------------------------------


def test_auto_scaling_beyond_its_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = AutoScaler._change

    async def generous(scaler: Any, target: Any, wanted: int, cause: str) -> Any:
        return await honest(scaler, target, wanted + 1, cause)

    monkeypatch.setattr(AutoScaler, "_change", generous)
    assert "out of" in found(requests=200)


def test_limits_that_are_not_enforced(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Target.set_limits

    def lazy(target: Target, minimum: int | None, maximum: int | None) -> None:
        honest(target, minimum, maximum)
        target.limits_new = False

    monkeypatch.setattr(Target, "set_limits", lazy)
    assert "units in the end, out of" in found(requests=200)
