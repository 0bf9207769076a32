"""A place that is cut off for a minute: its processes are stopped, or its machines' cables cut; and Patroni.

What it proves: tables at home are written and read meanwhile without one error, by every server; nothing
acknowledged is lost and nothing is there in part afterwards, though late messages of before arrive when the
place is back; and a place under Patroni finds its new leader by itself.
"""

from __future__ import annotations

import shutil
import signal
import threading
import uuid
from collections.abc import Callable, Iterator

import pytest

from faradisc.storage.postgres.private import PrivatePostgres
from fixtures.cluster import wait_for
from fixtures.cluster_of_places import Beside, Doing, OverPlaces, PrivatePlaces, prepared_now
from fixtures.patroni import Patroni
from fixtures.postgres import temporary_place
from fixtures.writers import Load
from nodes.test_histories_of_nodes import NODES

pytestmark = pytest.mark.slow
CUT_OFF_S = 60.0
BESIDE_PAUSE_S = 0.2
ANSWERS = 300
LEADERS = 2
"""Kills of the leader, and cuts of its cable."""


def cut_off(cluster: OverPlaces, cut: Callable[[], None], mend: Callable[[], None]) -> None:
    """Cuts place 1 off under writers of a table that is at both places."""
    for _ in range(NODES):
        cluster.start()
    beside = Beside(cluster)
    with Load(cluster) as load:
        cluster.move("table", spread=True)
        load.wait_for(ANSWERS)
        with Doing(beside.step, BESIDE_PAUSE_S):
            before = load.answers
            cut()
            threading.Event().wait(CUT_OFF_S)
            meanwhile = load.answers - before
            mend()
        longest_s = load.wait_for(ANSWERS)
    assert beside.errors == []
    assert beside.answers > CUT_OFF_S / 2
    load.check()
    wait_for(lambda: not prepared_now(cluster))
    print(
        f"{beside.answers} writes and reads beside, {load.answers} answers, {meanwhile} of them while it was"
        f" cut off, longest pause {longest_s:.0f} s"
    )


def test_a_stopped_place_takes_away_its_tables_only_and_loses_nothing(places: PrivatePlaces) -> None:
    cut_off(places, lambda: places.signal(1, signal.SIGSTOP), lambda: places.signal(1, signal.SIGCONT))


class HomeAndPatroni(OverPlaces):
    """Home is a private PostgreSQL; place 1 has three machines under Patroni."""

    def __init__(self, home: PrivatePostgres, patroni: Patroni) -> None:
        self.dsns = [home.join(), patroni.dsn]
        super().__init__(self.dsns[0], "--store", " ".join(self.dsns))


@pytest.fixture
def home_and_patroni(patroni: Patroni) -> Iterator[HomeAndPatroni]:
    directory = temporary_place(f"home-{uuid.uuid4().hex}")
    home = PrivatePostgres(directory)
    cluster = HomeAndPatroni(home, patroni)
    yield cluster
    cluster.end()
    home.leave()
    shutil.rmtree(directory)


def test_a_place_under_patroni_fails_over_and_loses_nothing(
    home_and_patroni: HomeAndPatroni, patroni: Patroni
) -> None:
    pauses_s, leaders = [], [patroni.wait_until_whole()]
    for _ in range(NODES):
        home_and_patroni.start()
    beside = Beside(home_and_patroni)
    with Load(home_and_patroni) as load, Doing(beside.step, BESIDE_PAUSE_S):
        home_and_patroni.move("table", spread=True)
        for number in range(2 * LEADERS):
            load.wait_for(ANSWERS)
            old = leaders[-1]
            cut = number % 2 == 1 and bool(patroni.bridge)
            if cut:
                old.cut_cable()
            else:
                old.kill()
            pauses_s.append(round(load.wait_for(ANSWERS), 1))
            assert patroni.leader(besides=old) not in (None, old)
            if cut:
                old.plug_cable(patroni.bridge)
            else:
                old.start()
            leaders.append(patroni.wait_until_whole())
        load.wait_for(ANSWERS)
    assert beside.errors == []
    load.check()
    print(
        f"leaders {[each.name for each in leaders]}, {load.answers} answers, longest pauses {pauses_s},"
        f" {beside.answers} beside"
    )


def test_machines_without_cables_take_away_their_tables_only_and_lose_nothing(
    home_and_patroni: HomeAndPatroni, patroni: Patroni
) -> None:
    if not patroni.bridge:
        pytest.skip("a cable can be cut where this process can make network namespaces")

    def cut() -> None:
        for machine in patroni.machines:
            machine.cut_cable()

    def mend() -> None:
        for machine in patroni.machines:
            machine.plug_cable(patroni.bridge)

    cut_off(home_and_patroni, cut, mend)
