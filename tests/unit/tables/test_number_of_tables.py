"""The limit of tables counts existing tables, not deleted ones."""

from __future__ import annotations

from typing import Any

import pytest

from faradisc.clock import ManualClock
from faradisc.engine.tables import catalog
from faradisc.local import LocalDatabase
from fixtures.schemas import refused, schema


def test_deleted_tables_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """No request has looked up the deleted tables since."""
    monkeypatch.setattr(catalog, "TABLES_MAX", 3)
    clock = ManualClock()
    with LocalDatabase(clock=clock, transition_ms=5) as database:
        client: Any = database.client()
        for number in range(10):
            client.create_table(TableName=f"table-{number}", **schema("p:S"))
            clock.advance(1)
            client.delete_table(TableName=f"table-{number}")
            clock.advance(1)
        for number in range(3):
            client.create_table(TableName=f"more-{number}", **schema("p:S"))
        with refused("LimitExceededException") as caught:
            client.create_table(TableName="more-3", **schema("p:S"))
        assert "3 tables per account" in str(caught.value)


@pytest.mark.slow
def test_each_region_has_its_own_table_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "TABLES_MAX", 1)
    with LocalDatabase(per_region=True) as database:
        for region in ("us-east-1", "eu-west-1"):
            client: Any = database.client(region_name=region)
            client.create_table(TableName="table", **schema("p:S"))
            with refused("LimitExceededException"):
                client.create_table(TableName="another", **schema("p:S"))
