"""Which shards may be read, and which worker reads them."""

from __future__ import annotations

from dataclasses import replace

from faradisc.tools.consumers.balance import LeaseAges, plan
from faradisc.tools.consumers.leases import LATEST, SHARD_END, TRIM_HORIZON, GroupStart, ShardLease
from faradisc.tools.consumers.lineage import LineageShard, group_start, new_leases, old_leases

S = 1_000_000_000
FROM_ALL = GroupStart(0, latest=False)


def _shards(*described: str) -> dict[str, LineageShard]:
    """Returns shards: `b<a` is a shard b with the parent a, and a `.` at the end means closed."""
    shards = {}
    for text in described:
        name, _, parent = text.rstrip(".").partition("<")
        shards[name] = LineageShard(name, parent or None, text.endswith("."))
    return shards


def _lease(name: str, owner: str | None = None, **more: object) -> ShardLease:
    return replace(ShardLease(name, None, TRIM_HORIZON, owner), **more)  # type: ignore[arg-type]


def _new(
    shards: dict[str, LineageShard], *leases: ShardLease, start: GroupStart = FROM_ALL
) -> list[tuple[str, str]]:
    known = {lease.shard_id: lease for lease in leases}
    return [(lease.shard_id, lease.checkpoint) for lease in new_leases(shards, known, start)]


def test_child_shard_waits_for_the_end_of_its_parent() -> None:
    shards = _shards("a.", "b<a.", "c<b", "d")
    assert _new(shards) == [("a", TRIM_HORIZON), ("d", TRIM_HORIZON)]
    assert _new(shards, _lease("a"), _lease("d")) == []
    assert _new(shards, _lease("a", checkpoint=SHARD_END), _lease("d")) == [("b", TRIM_HORIZON)]


def test_missing_parent_does_not_block_a_child() -> None:
    assert _new(_shards("c<b")) == [("c", TRIM_HORIZON)]
    assert _new(_shards("c<b"), _lease("b")) == [], "its lease shows that it is being read"


def test_both_children_of_a_split_follow() -> None:
    shards = _shards("a.", "b<a", "c<a")
    assert [name for name, _ in _new(shards, _lease("a", checkpoint=SHARD_END))] == ["b", "c"]


def test_latest_starts_with_open_shards_and_reads_their_children_completely() -> None:
    start = group_start(_shards("a.", "b<a.", "c<b", "d"), 7, latest=True)
    assert start == GroupStart(7, True, frozenset({"c", "d"}), "d")
    shards = _shards("a.", "b<a.", "c<b.", "d", "e<c")
    assert _new(shards, start=start) == [("c", LATEST), ("d", LATEST)]
    ended = [_lease("c", checkpoint=SHARD_END), _lease("d")]
    assert _new(shards, *ended, start=start) == [("e", TRIM_HORIZON)]


def test_latest_of_a_stream_without_shards() -> None:
    start = group_start({}, 7, latest=True)
    assert _new(_shards("a"), start=start) == [("a", TRIM_HORIZON)]


def test_leases_of_ended_and_unlisted_shards_are_deleted() -> None:
    leases = [_lease("a", checkpoint=SHARD_END), _lease("b"), _lease("c", checkpoint=SHARD_END)]
    assert old_leases(_shards("c"), leases) == [leases[0]]


# --- Balance -------------------------------------------------------------------------------------


def _plan(worker: str, *leases: ShardLease, dead: tuple[str, ...] = ()) -> tuple[list[str], list[str]]:
    """Returns the leases that a worker takes and requests; `dead`: leases without renewal."""
    ages = LeaseAges(10 * S)
    ages.observe({lease.shard_id: lease for lease in leases}, 0)
    alive = [lease if lease.shard_id in dead else replace(lease, counter=1) for lease in leases]
    ages.observe({lease.shard_id: lease for lease in alive}, 10 * S)
    planned = plan(alive, worker, ages, 10 * S)
    return sorted(lease.shard_id for lease in planned.take), sorted(
        lease.shard_id for lease in planned.request
    )


def test_single_worker_takes_all_leases() -> None:
    assert _plan("w", _lease("a"), _lease("b"), _lease("c")) == (["a", "b", "c"], [])


def test_worker_takes_its_share_of_free_leases() -> None:
    take, ask = _plan("w", _lease("a", "v"), _lease("b"), _lease("c"), _lease("d"))
    assert (len(take), ask) == (2, [])


def test_leases_of_a_dead_worker_are_free() -> None:
    assert _plan("w", _lease("a", "v"), _lease("b", "v"), dead=("a", "b")) == (["a", "b"], [])
    assert _plan("w", _lease("a", "v"), _lease("b", "v"), dead=("a",))[0] == ["a"]


def test_new_worker_requests_leases_of_the_worker_with_the_most() -> None:
    leases = [_lease(name, "v") for name in "abcd"]
    take, ask = _plan("w", *leases)
    assert (take, len(ask)) == ([], 2)


def test_no_request_that_would_not_improve_the_balance() -> None:
    assert _plan("w", _lease("a", "v")) == ([], [])
    assert _plan("w", _lease("a", "v"), _lease("b", "u")) == ([], [])
    assert _plan("w", _lease("a", "v"), _lease("b", "v"), _lease("c", "w")) == ([], [])


def test_requested_lease_is_not_requested_again() -> None:
    leases = [_lease("a", "v", handoff_to="w"), _lease("b", "v", handoff_to="w"), _lease("c", "v")]
    assert _plan("w", *leases, _lease("d", "v")) == ([], [])
    take, ask = _plan("u", *leases, _lease("d", "v"))
    assert take == []
    assert ask in (["c"], ["d"]), "a lease requested by w counts for w"


def test_leases_of_ended_shards_are_not_counted() -> None:
    assert _plan("w", _lease("a", "v", checkpoint=SHARD_END), _lease("b")) == (["b"], [])


def test_any_number_of_workers_reaches_a_balance() -> None:
    """Each worker takes and requests in turn until no plan has an entry: then no two differ by more than
    one."""
    for shards, workers in ((4, 2), (7, 3), (3, 5), (64, 6)):
        leases = {f"s-{n}": _lease(f"s-{n}", "w-0") for n in range(shards)}
        for _ in range(50):
            requests = 0
            for number in range(workers):
                name = f"w-{number}"
                ages = LeaseAges(10 * S)
                ages.observe(leases, 0)
                planned = plan(leases.values(), name, ages, 0)
                requests += len(planned.request)
                for lease in planned.request:
                    leases[lease.shard_id] = replace(lease, owner=name)
            if not requests:
                break
        else:
            raise AssertionError("they never come to rest")
        load = [sum(lease.owner == f"w-{n}" for lease in leases.values()) for n in range(workers)]
        assert max(load) - min(load) <= 1, (shards, workers, load)
