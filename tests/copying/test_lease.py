"""Who may answer: a server for which nobody waits always, any other one while it holds its lease."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from faradisc.clock import ManualClock, SeededEntropy
from faradisc.engine.copying.copier import Copier
from faradisc.engine.copying.format import CopyError
from faradisc.engine.copying.lease import change, lease_of
from faradisc.engine.copying.place import CopyPlace
from faradisc.engine.copying.restoring import restore
from faradisc.engine.objects.api import BucketError, BucketFailed, BucketUnable
from faradisc.engine.objects.memory import MemoryStorage
from faradisc.storage.api import Batch, Fenced
from faradisc.storage.immediate import run
from faradisc.storage.rocks import RocksStore, open_rocks
from faradisc.storage.rocks_following import open_following

PART = b"\x00\x00\x00\x07\x00"
LEASE_S = 10.0


class Bucket(MemoryStorage):
    """Memory that is away, or has no conditional puts."""

    is_away = False
    conditions = "kept"

    async def get(self, bucket: str, key: str) -> tuple[bytes, str]:
        if self.is_away:
            raise BucketFailed("no answer")
        return await super().get(bucket, key)

    async def put(self, bucket: str, key: str, content: bytes, *, expected: str | None = None) -> str:
        if self.is_away:
            raise BucketFailed("no answer")
        if expected is not None and self.conditions == "unknown":
            raise BucketUnable("A header you provided implies functionality that is not implemented")
        return await super().put(
            bucket, key, content, expected=expected if self.conditions == "kept" else None
        )


class Machine:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.now_s = 0.0
        self.bucket = Bucket()
        self.place = CopyPlace(self.bucket, "b", "p", "s3://b/p")
        self.clock = ManualClock(1_700_000_000)
        self.opened: list[tuple[RocksStore, Copier]] = []

    def copier(self, name: str, lease_s: float = LEASE_S, *, standby: bool = False) -> Copier:
        directory = self.path / name
        store = (
            open_following(directory)
            if standby
            else open_rocks(directory, durability="inline", keep_log=True)
        )
        made = Copier(
            self.place,
            directory,
            store,
            self.clock,
            SeededEntropy(len(self.opened)),
            lease_s=lease_s,
            monotonic=lambda: self.now_s,
            apply=(lambda group, commits: None) if standby else None,
        )
        self.opened.append((store, made))
        return made

    def pass_time(self, seconds: float, *keeping: Copier) -> None:
        for _ in range(int(seconds)):
            self.now_s += 1
            for each in keeping:
                each.keep()

    def close(self) -> None:
        for store, copier in self.opened:
            copier.release()
            run(store.close())


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    yield made
    made.close()


def copied(machine: Machine) -> Copier:
    """Returns a primary with a complete snapshot."""
    primary = machine.copier("primary")
    run(machine.opened[-1][0].commit([Batch(PART, puts=[(b"k", b"v")])]))
    assert primary.begin() == 0
    while primary.status().snapshot_ns == 0:
        primary.step()
    return primary


def test_while_nobody_waits_a_bucket_that_is_away_delays_nothing(machine: Machine) -> None:
    primary = copied(machine)
    machine.bucket.is_away = True
    machine.pass_time(10_000, primary)
    primary.require_lease()
    assert "cannot be read or renewed" in primary.status().fault
    assert not primary.needs_bucket(), "nor does the next start of this directory wait for it"


def test_a_standby_makes_it_a_lease_that_ends_and_the_primary_honours_it(machine: Machine) -> None:
    primary = copied(machine)
    restore(machine.place, machine.path / "standby")
    standby = machine.copier("standby", standby=True)
    assert standby.left_s() > 0, "at once nobody may take it"
    machine.pass_time(4, primary)
    assert primary.status().waiting and primary.needs_bucket()
    machine.bucket.is_away = True
    machine.pass_time(6, primary)
    primary.require_lease()
    machine.pass_time(3, primary)
    with pytest.raises(Fenced, match="nothing is answered until it is renewed"):
        primary.require_lease()
    machine.bucket.is_away = False
    primary.keep()
    primary.require_lease()  # nobody had taken it
    assert standby.left_s(confirmed=True) > 0, "the word of an operator shortens no lease"
    machine.pass_time(11)
    assert standby.left_s() == 0 and standby.begin() == 0
    primary.keep()
    with pytest.raises(Fenced, match="Another server writes the copy"):
        primary.require_lease()


def test_an_operator_s_wish_is_a_handover(machine: Machine) -> None:
    primary = copied(machine)
    restore(machine.place, machine.path / "standby")
    standby = machine.copier("standby", standby=True)
    run(machine.opened[0][0].commit([Batch(PART, puts=[(b"k2", b"v")])]))
    assert standby.left_s(wanted=True) > 0
    machine.pass_time(4, primary)
    primary.step()
    primary.step()
    with pytest.raises(Fenced, match="was handed over"):
        primary.require_lease()
    assert standby.left_s() == 0
    newest = machine.place.segment(machine.place.spans()[-1]).groups[-1]
    assert newest.last == machine.opened[0][0].synced_sequence
    assert primary.needs_bucket(), "its next start looks first"


def test_data_that_were_handed_over_by_address_are_served_no_more(machine: Machine) -> None:
    primary = copied(machine)
    machine.bucket.is_away = True
    run(machine.opened[0][0].commit([Batch(PART, puts=[(b"k2", b"v")])]))
    with pytest.raises(BucketError):
        primary.hand_over()
    primary.require_lease()  # it goes on
    machine.bucket.is_away = False
    newest = primary.hand_over()
    segment = machine.place.segment(machine.place.spans()[-1])
    assert (segment.groups[-1].number, segment.groups[-1].last) == (
        newest,
        machine.opened[0][0].synced_sequence,
    )
    with pytest.raises(Fenced):
        primary.require_lease()
    primary.lose_to_another()
    store, _ = machine.opened.pop()
    primary.release()
    run(store.close())
    with pytest.raises(CopyError, match="were handed over to another server"):
        machine.copier("primary").begin()


def test_a_standby_of_the_bucket_comes_before_one_of_the_address(machine: Machine) -> None:
    primary = copied(machine)
    restore(machine.place, machine.path / "standby")
    machine.copier("standby", standby=True).left_s()
    machine.pass_time(4, primary)
    with pytest.raises(CopyError, match="Another standby follows"):
        primary.hand_over()
    primary.require_lease()


def test_without_a_lease_that_ends_only_the_word_of_an_operator_counts(machine: Machine) -> None:
    """The primary does not answer the note: it has gone, or is cut off and does not know of the standby."""
    copied(machine)
    restore(machine.place, machine.path / "standby")
    standby = machine.copier("standby", standby=True)
    standby.left_s()
    machine.pass_time(11)
    assert standby.left_s() == float("inf")
    assert standby.left_s(confirmed=True) == 0


def test_a_copied_directory_does_not_take_the_copy_from_the_one_that_runs(machine: Machine) -> None:
    primary = copied(machine)
    shutil.copytree(machine.path / "primary", machine.path / "other")
    other = machine.copier("other")
    assert other.begin() > 0
    machine.pass_time(4, primary)
    with pytest.raises(CopyError, match="renews its lease: stop it first"):
        other.begin()
    primary.require_lease()
    found = lease_of(machine.place)
    assert found is not None and found[0].waiting == ""


def test_the_same_directory_goes_on_at_once_after_a_crash(machine: Machine) -> None:
    primary = copied(machine)
    found = lease_of(machine.place)
    assert found is not None
    change(machine.place, *found, waiting="a standby")
    machine.pass_time(4, primary)
    store, _ = machine.opened.pop()
    primary.release()
    run(store.close())
    again = machine.copier("primary")
    machine.bucket.is_away = True
    with pytest.raises(BucketError):
        again.begin()
    assert again.needs_bucket(), "another server may have taken the lease"
    machine.bucket.is_away = False
    assert again.begin() == 0


@pytest.mark.parametrize("conditions", ["ignored", "unknown"])
def test_an_endpoint_without_conditional_puts_is_one_sentence(machine: Machine, conditions: str) -> None:
    primary = copied(machine)
    machine.bucket.conditions = conditions
    with pytest.raises(CopyError, match="ignores the conditions of puts"):
        primary.begin()


def test_such_an_endpoint_holds_a_copy_without_a_lease(machine: Machine) -> None:
    machine.bucket.conditions = "ignored"
    assert machine.copier("primary", 0.0).begin() == 0
