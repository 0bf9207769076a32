"""A continuous copy under every kind of trouble, from seeds.

What it proves: at any crash a restored copy is a prefix of what was acknowledged, whole commits only, and
late by at most what the copier says; with sync nothing acknowledged is missing. Of two servers that both
believe that they are the primary at most one acknowledges.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from faradisc.engine.copying.copier import Copier
from faradisc.engine.copying.following import Follower
from faradisc.engine.copying.format import CopyError
from faradisc.engine.objects.api import BucketError
from simulation.copies import LEASE_S, CopyServer, CopyWorld, follow, numbers_in, promote

STEPS = 120


def seeds(gate: int, slow: int) -> list[object]:
    """Returns some seeds for the gate, and more as slow tests."""
    return [*range(gate), *(pytest.param(each, marks=pytest.mark.slow) for each in range(gate, slow))]


def started(world: CopyWorld, server: CopyServer) -> None:
    for _ in range(200):
        if server.start():
            return
        world.pass_time(0.5)
        if world.chance.random() < 0.2:
            world.quiet()
    raise AssertionError("the server does not start")


@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("seed", seeds(3, 60))
def test_a_restored_copy_is_what_was_acknowledged_but_for_the_stated_time(
    tmp_path: Path, seed: int, sync: bool
) -> None:
    world = CopyWorld(seed, tmp_path, sync=sync, keep_s=60.0)
    chance = world.chance
    server = world.server("one")
    started(world, server)
    restores = 0
    for _ in range(STEPS):
        assert server.copier is not None
        kind = chance.random()
        if kind < 0.55:
            server.write()
        elif kind < 0.80:
            server.step()
            world.pass_time(chance.random())
        elif kind < 0.85:
            world.buckets.trouble = chance.choice([0.0, 0.3])
        elif kind < 0.89:
            world.buckets.away = set() if world.buckets.away else {"one"}
        elif kind < 0.93:
            server.kill()
            started(world, server)
        elif kind < 0.95:
            server.stop()
            started(world, server)
        elif kind < 0.97:
            try:
                server.copier.tidy()
            except BucketError:
                continue
        else:
            # The disk is lost. What the copier said of the copy's age is what may be missing.
            late_s, lost_s = server.copier.status().lag_s, world.now_s
            server.abandon()
            restores += 1
            try:
                directory, found = world.restored()
            except CopyError as error:
                assert "no complete snapshot yet" in str(error)
                break
            world.check_copy()
            assert found == sorted(found)
            world.check_lost(found, late_s + world.now_s - lost_s + 0.1)  # restoring takes time too
            kept = set(found)
            world.history.acknowledged = [e for e in world.history.acknowledged if e.number in kept]
            server.directory = directory
            started(world, server)
    world.quiet()
    if server.copier is None:
        started(world, server)
    for _ in range(50):
        server.step()
    _, found = world.restored()
    world.check_lost(found, 0.0)
    server.stop()
    assert numbers_in(server.directory) == world.restored()[1]
    world.check_copy()
    world.close()


@pytest.mark.parametrize(("sync", "lease_s"), [(False, LEASE_S), (True, LEASE_S), (True, 0.0)])
@pytest.mark.parametrize("seed", seeds(1, 20))
def test_of_two_primaries_at_most_one_acknowledges(
    tmp_path: Path, seed: int, sync: bool, lease_s: float
) -> None:
    """Servers pause, are killed, and go on as if nothing had happened; the bucket is cut from any; clocks
    jump. The operator asks the primary to hand over, or says that it has stopped, and is wrong: of a lease
    that ends, or with sync."""
    world = CopyWorld(1000 + seed, tmp_path, sync=sync, lease_s=lease_s)
    chance = world.chance
    first = world.server("primary 0")
    started(world, first)
    for _ in range(20):
        first.write()
        first.step()
        world.pass_time(0.2)
    primaries, promoted = [first], 0
    asleep: dict[str, float] = {}
    while promoted < 4:
        world.quiet()
        standby, follower = _following(world, f"primary {promoted + 1}")
        copier: Copier | None = None
        for _ in range(400):
            for each in primaries:
                if world.now_s >= asleep.get(each.name, 0.0) and chance.random() < 0.6:
                    _goes_on(each, primaries, lease_s)
            if chance.random() < 0.02:
                asleep[chance.choice(primaries).name] = world.now_s + chance.uniform(0, 5 * LEASE_S)
            if chance.random() < 0.06:
                world.buckets.away = {each.name for each in [*primaries, standby] if chance.random() < 0.4}
            if chance.random() < 0.1:
                chance.choice(world.servers).wall.advance(chance.uniform(0, 10_000))
            world.pass_time(chance.random() * (4 if chance.random() < 0.1 else 0.3))
            if copier is None and chance.random() < 0.7:
                try:
                    follower.apply(follower.fetch())
                except BucketError:
                    continue
            if chance.random() < 0.5 and (lease_s or chance.random() < 0.02):
                wrong = not lease_s or (world.lease().ends and chance.random() < 0.5)
                asked = chance.random() < 0.01
                copier = promote(standby, follower, copier, confirmed=wrong, wanted=asked)
                if standby.copier is not None:
                    break
        while standby.copier is None:
            world.quiet()
            for each in primaries:
                _goes_on(each, primaries, lease_s)
            world.pass_time(1)
            copier = promote(standby, follower, copier, confirmed=not lease_s, wanted=True)
        promoted += 1
        primaries.append(standby)
        for _ in range(10):
            for each in primaries:
                if each.serves:
                    each.write()
            world.pass_time(0.1)
    terms = [each.term for each in world.history.acknowledged]
    assert terms == sorted(terms), "an older primary acknowledged after a newer one"
    assert len(set(terms)) >= 5
    world.quiet()
    primaries[-1].step()
    _, found = world.restored()
    world.check_copy()
    if sync:
        world.check_lost(found, 0.0)
    world.close()


def _goes_on(server: CopyServer, primaries: list[CopyServer], lease_s: float) -> None:
    """One turn of a server that was the primary once."""
    chance = server.world.chance
    if not server.serves:
        try:
            server.start()
        except CopyError:  # another one is the primary
            server.abandon()
            primaries.remove(server)
        return
    if lease_s:
        server.read()
    if chance.random() < 0.5:
        server.step()
    server.write()
    if chance.random() < 0.01:
        server.kill()


def _following(world: CopyWorld, name: str) -> tuple[CopyServer, Follower]:
    for server in world.servers:  # a complete snapshot is there
        if server.copier is not None and not server.copier.tenure.lost:
            for _ in range(20):
                server.step()
    return follow(world, name)
