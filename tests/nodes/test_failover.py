"""Three machines under Patroni with synchronous replication, whose leader dies or has its cable cut.

What it proves: under writers, no acknowledged write is lost and none is there in part, whatever happens to
the leader; the servers find the new one by themselves. The longest time without an answer is printed, and
stated in docs/guide/postgresql.md.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.cluster import Cluster
from fixtures.patroni import Machine, Patroni
from fixtures.writers import Load

pytestmark = pytest.mark.slow
ROUNDS, ANSWERS = 3, 500


def fail_over(patroni: Patroni, tmp_path: Path, *, cut: bool) -> None:
    """Takes the leader away and brings it back, `ROUNDS` times."""
    cluster = Cluster(patroni.dsn, "--store", patroni.dsn, "--data-dir", str(tmp_path))
    leaders: list[Machine] = [patroni.wait_until_whole()]
    pauses_s = []
    try:
        for _ in range(2):
            cluster.start()
        with Load(cluster) as load:
            for _ in range(ROUNDS):
                load.wait_for(ANSWERS)
                old = leaders[-1]
                if cut:
                    old.cut_cable()
                else:
                    old.kill()
                pauses_s.append(round(load.wait_for(ANSWERS), 1))
                new = patroni.leader(besides=old)
                assert new is not None
                assert new is not old
                if cut:
                    old.plug_cable(patroni.bridge)
                else:
                    old.start()
                leaders.append(patroni.wait_until_whole())
            load.wait_for(ANSWERS)
        load.check()
    finally:
        cluster.end()
    print(f"leaders {[each.name for each in leaders]}, {load.answers} answers, longest pauses {pauses_s}")


def test_a_killed_leader_loses_no_acknowledged_write(patroni: Patroni, tmp_path: Path) -> None:
    fail_over(patroni, tmp_path, cut=False)


def test_a_leader_whose_cable_is_cut_loses_no_acknowledged_write(patroni: Patroni, tmp_path: Path) -> None:
    if not patroni.bridge:
        pytest.skip("a cable can be cut where this process can make network namespaces")
    fail_over(patroni, tmp_path, cut=True)
