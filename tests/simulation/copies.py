"""Simulates servers that copy their store to a bucket, from a seed: crashes, lost disks, two that both
believe that they are the primary; a bucket that is away, loses answers and comes back; clocks that jump.

The stores are RocksDB's in directories, with inline syncs, and everything runs in one thread: a crash leaves
the files as they are at that moment, and a paused server goes on later as if nothing had happened. Every
commit has a row in each of two parts, so a commit that is torn would show.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from faradisc.clock import ManualClock, SeededEntropy
from faradisc.engine.copying.copier import Copier
from faradisc.engine.copying.following import Follower
from faradisc.engine.copying.format import CopyError, CopyLease
from faradisc.engine.copying.lease import lease_of
from faradisc.engine.copying.place import CopyPlace
from faradisc.engine.copying.restoring import restore, verify
from faradisc.engine.objects.api import BucketError, BucketFailed
from faradisc.engine.objects.memory import MemoryStorage
from faradisc.errors import StorageError
from faradisc.storage.api import Batch
from faradisc.storage.immediate import run
from faradisc.storage.rocks import RocksStore, open_rocks
from faradisc.storage.rocks_following import open_following
from faradisc.storage.rocks_reading import read_only_rocks

ONE, OTHER = b"\x00\x00\x00\x07\x00", b"\x00\x00\x00\x08\x00"
LAG_S = 1.0
LEASE_S = 9.0


class TroubledBuckets(MemoryStorage):
    """Calls take time; some fail, half of them after they took effect; all while the bucket is away."""

    def __init__(self, world: CopyWorld) -> None:
        super().__init__()
        self._world = world
        self.away: set[str] = set()
        """Names of the servers that do not reach it."""
        self.caller = ""
        self.trouble = 0.0

    def _travel(self) -> None:
        self._world.pass_time(self._world.chance.random() * 0.02)
        if self.caller in self.away or self._world.chance.random() < self.trouble / 2:
            raise BucketFailed("the bucket does not answer")

    async def get(self, bucket: str, key: str) -> tuple[bytes, str]:
        self._travel()
        return await super().get(bucket, key)

    async def put(self, bucket: str, key: str, content: bytes, *, expected: str | None = None) -> str:
        self._travel()
        tag = await super().put(bucket, key, content, expected=expected)
        if self._world.chance.random() < self.trouble / 2:
            raise BucketFailed("the answer of the bucket is lost")
        return tag

    async def remove(self, bucket: str, key: str) -> None:
        self._travel()
        await super().remove(bucket, key)


@dataclass(slots=True)
class Acknowledged:
    number: int
    time_s: float
    term: int


@dataclass(slots=True)
class History:
    """What the clients of the copy's primaries know."""

    acknowledged: list[Acknowledged] = field(default_factory=list)


class CopyServer:
    """One process of a server over a directory."""

    def __init__(self, world: CopyWorld, name: str, directory: Path, *, sync: bool, lease_s: float) -> None:
        self.world = world
        self.name = name
        self.directory = directory
        self.options = {"sync": sync, "lease_s": lease_s}
        self.wall = ManualClock(1_700_000_000 + world.now_s + world.chance.uniform(-100, 100))
        self._rate = world.chance.uniform(0.98, 1.02)
        self.store: RocksStore | None = None
        self.copier: Copier | None = None
        self._term = 0

    def monotonic(self) -> float:
        return self.world.now_s * self._rate

    def _new_copier(self, store: RocksStore, apply: object = None) -> Copier:
        return Copier(
            self.world.place,
            self.directory,
            store,
            self.wall,
            SeededEntropy(self.world.chance.randrange(2**32)),
            lag_s=LAG_S,
            keep_s=self.world.keep_s,
            monotonic=self.monotonic,
            wait=self._wait,
            apply=apply,  # type: ignore[arg-type]
            **self.options,  # type: ignore[arg-type]
        )

    def _wait(self, seconds: float) -> None:
        """Lets seconds pass, in which the other threads go on and the bucket may come back."""
        self.world.pass_time(seconds)
        if self.world.chance.random() < 0.3:
            self.world.buckets.away.discard(self.name)
        if self.copier is not None:
            self.copier.keep()
            self.copier.step()

    def start(self) -> bool:
        """Returns whether it is the primary now; otherwise it is tried again."""
        self.world.buckets.caller = self.name
        if self.store is None:
            self.store = open_rocks(self.directory, durability="inline", keep_log=True)
            self.copier = self._new_copier(self.store)
        assert self.copier is not None
        if not self.copier.is_begun:
            try:
                if self.copier.begin() > 0:
                    return False
            except BucketError:
                if self.copier.needs_bucket():
                    return False
            self.store.disk.after_sync = self.copier.after_sync
        return True

    @property
    def serves(self) -> bool:
        return self.store is not None and self.store.disk.after_sync is not None

    def read(self) -> None:
        """A strongly consistent read: if it is answered, no newer primary has acknowledged anything."""
        assert self.copier is not None
        try:
            self.copier.require_lease()
        except StorageError:
            return
        newest = max((each.term for each in self.world.history.acknowledged), default=0)
        assert newest <= self.term, "an older primary answered a read after a newer one had acknowledged"

    def write(self) -> None:
        """Commits one change. It is acknowledged unless the commit raises."""
        assert self.store is not None and self.copier is not None
        self.world.buckets.caller = self.name
        number = self.world.next_number()
        batches = [Batch(part, puts=[(b"%09d" % number, b"%d" % number)]) for part in (ONE, OTHER)]
        durable = self.world.chance.random() < 0.9
        try:
            run(self.store.commit(batches, durable=durable))
        except StorageError:
            return
        if durable:
            self.world.history.acknowledged.append(Acknowledged(number, self.world.now_s, self.term))

    @property
    def term(self) -> int:
        """Of the lease that it has, or had before it was killed."""
        assert self.copier is not None
        if self.copier.tenure.lease is not None:
            self._term = self.copier.tenure.term
        return self._term

    def step(self) -> None:
        assert self.copier is not None
        self.world.buckets.caller = self.name
        self.copier.keep()
        self.copier.step()

    def stop(self) -> None:
        """A clean stop."""
        assert self.store is not None and self.copier is not None
        self.world.buckets.caller = self.name
        self.copier.stop()
        self.copier.release()
        run(self.store.close())
        with suppress(CopyError, BucketError):
            self.copier.finish()
        self.store = self.copier = None

    def kill(self) -> None:
        """kill -9: the files stay as they are now."""
        assert self.copier is not None
        self._term = self.term
        left = self.world.new_directory()
        while True:
            try:
                shutil.copytree(self.directory, left)
                break
            except shutil.Error:  # the engine has just merged files in the background: copy again
                shutil.rmtree(left)
        self.abandon()
        for each in self.directory.iterdir():
            shutil.rmtree(each) if each.is_dir() else each.unlink()
        shutil.copytree(left, self.directory, dirs_exist_ok=True)
        shutil.rmtree(left)

    def abandon(self) -> None:
        if self.store is not None:
            self.store.disk.after_sync = None
            if self.copier is not None:
                self.copier.release()
            run(self.store.close())
        self.store = self.copier = None


class CopyWorld:
    def __init__(
        self, seed: int, path: Path, *, sync: bool, lease_s: float = 0.0, keep_s: float = 1e8
    ) -> None:
        self.chance = random.Random(seed)
        self.path = path
        self.sync = sync
        self.lease_s = lease_s
        self.keep_s = keep_s
        self.now_s = 0.0
        self.history = History()
        self.buckets = TroubledBuckets(self)
        self.place = CopyPlace(self.buckets, "bucket", "prefix", "s3://bucket/prefix")
        self.servers: list[CopyServer] = []
        self._numbers = 0
        self._directories = 0

    def pass_time(self, seconds: float) -> None:
        self.now_s += seconds
        for each in self.servers:
            each.wall.advance(seconds)

    def next_number(self) -> int:
        self._numbers += 1
        return self._numbers

    def new_directory(self) -> Path:
        self._directories += 1
        return self.path / f"d{self._directories}"

    def server(self, name: str, directory: Path | None = None) -> CopyServer:
        made = CopyServer(self, name, directory or self.new_directory(), sync=self.sync, lease_s=self.lease_s)
        self.servers.append(made)
        return made

    def lease(self) -> CopyLease:
        with self._without_trouble():
            found = lease_of(self.place)
        assert found is not None
        return found[0]

    def quiet(self) -> None:
        """Ends all trouble of the bucket."""
        self.buckets.away.clear()
        self.buckets.trouble = 0.0
        self.buckets.caller = "operator"

    @contextmanager
    def _without_trouble(self) -> Iterator[None]:
        away, trouble = self.buckets.away, self.buckets.trouble
        self.buckets.away, self.buckets.trouble = set(), 0.0
        yield
        self.buckets.away, self.buckets.trouble = away, trouble

    # --- What is proved ---

    def restored(self, at_ns: int | None = None) -> tuple[Path, list[int]]:
        """Restores the copy. Returns the directory, and the numbers of its commits; each is whole."""
        directory = self.new_directory()
        with self._without_trouble():
            restore(self.place, directory, at_ns=at_ns)
        return directory, numbers_in(directory)

    def check_copy(self) -> None:
        with self._without_trouble():
            assert verify(self.place).problems == []

    def check_lost(self, found: list[int], late_s: float) -> None:
        """What was acknowledged and is not restored was acknowledged in the last `late_s` seconds."""
        have = set(found)
        missing = [each for each in self.history.acknowledged if each.number not in have]
        for each in missing:
            assert not self.sync, f"{each} is lost although it was answered after it was in the copy"
            assert self.now_s - each.time_s <= late_s, (each, self.now_s, late_s)

    def close(self) -> None:
        self.quiet()
        for each in self.servers:
            each.abandon()


def numbers_in(directory: Path) -> list[int]:
    with read_only_rocks(directory) as store:
        rows = [run(store.range(part, None, None, limit=1_000_000)) for part in (ONE, OTHER)]
    one, other = ([int(payload) for _, (_, payload) in each] for each in rows)
    assert one == other, "a commit is torn"
    return one


def follow(world: CopyWorld, name: str) -> tuple[CopyServer, Follower]:
    """Restores the copy into a new directory, and follows it. Raises BucketError."""
    directory = world.new_directory()
    world.buckets.caller = name
    restore(world.place, directory)
    server = world.server(name, directory)
    store = open_following(directory)
    return server, Follower(world.place, directory, store, server.wall, server.monotonic)


def promote(
    server: CopyServer, follower: Follower, copier: Copier | None, *, confirmed: bool, wanted: bool = False
) -> Copier | None:
    """Tries to take over once. Returns the copier to try again with; None when the server is the primary.

    confirmed: the operator says that the primary has stopped. wanted: it is asked to hand over."""
    server.world.buckets.caller = server.name
    if copier is None:
        follower.remember()
        copier = server._new_copier(follower.store, follower.apply_group)
    try:
        if copier.left_s(confirmed=confirmed, wanted=wanted) > 0 or copier.begin(confirmed=confirmed) > 0:
            return copier
    except BucketError:
        return copier
    run(follower.store.close())
    server.store = copier.source = open_rocks(server.directory, durability="inline", keep_log=True)
    server.store.disk.after_sync = copier.after_sync
    server.copier = copier
    return None
