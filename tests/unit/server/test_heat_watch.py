"""A server records the history of the heat map without an open page, until it stops."""

from __future__ import annotations

import asyncio

import pytest

from faradisc.clock import ManualClock
from faradisc.local import LocalDatabase
from faradisc.metrics.heat_history import HeatHistory
from faradisc.server.serving import WATCH_S_MIN, keep_watching, watch_pause_s

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/Things"


class Standing:
    """A server's database that is opened again meanwhile."""

    def __init__(self, *databases: LocalDatabase, clock: ManualClock) -> None:
        self._databases = databases
        self._clock = clock
        self.looks = 0
        self.stop = asyncio.Event()

    @property
    def database(self) -> object:
        """Ten seconds and some thousand units later than the last time."""
        local = self._databases[self.looks * len(self._databases) // LOOKS]
        self.looks += 1
        for _ in range(3):
            local.client().put_item(TableName="Things", Item={"pk": {"S": "hot"}, "v": {"B": bytes(390_000)}})
        self._clock.advance(10)
        local.client().list_tables()
        if self.looks == LOOKS:
            self.stop.set()
        return local.database


LOOKS = 6


def test_heat_is_recorded_until_the_server_stops() -> None:
    clock = ManualClock()
    databases = [LocalDatabase(clock=clock, region="us-east-1", throughput="aws") for _ in range(2)]
    for each in databases:
        each.client().create_table(
            TableName="Things",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
        )
    serving, history = Standing(*databases, clock=clock), HeatHistory()

    asyncio.run(keep_watching(serving, history, serving.stop, 0.001))  # type: ignore[arg-type]
    assert serving.looks == LOOKS
    pasts, slots = history.of(ARN)
    assert slots >= LOOKS - 1
    assert sum(max(past.used) > 0 for past in pasts) == 1
    for each in databases:
        each.close()


@pytest.mark.parametrize(("time_scale", "wanted"), [(1, 10), (20, 0.5), (0.5, 20), (100_000, WATCH_S_MIN)])
def test_scaled_clocks_are_recorded_more_often(time_scale: float, wanted: float) -> None:
    assert watch_pause_s(time_scale) == wanted
