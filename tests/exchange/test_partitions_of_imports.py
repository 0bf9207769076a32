"""V70a: an imported table has the partitions for its size or its units, whichever needs more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fixtures.exchanging import Exchanging, lines

ITEMS = [{"p": {"S": f"{n:02}"}, "v": {"S": "x" * 1_000}} for n in range(40)]


@pytest.mark.parametrize(
    ("profile", "units", "partitions"),
    [
        ("aws:30/10", None, 4),
        ("aws:30/10/4KB", None, 10),
        ("aws:30/10", (30, 10), 2),
        ("aws:30/10/4KB", (30, 10), 10),
        ("aws:30/10/4KB", (300, 100), 20),
        ("off", (300, 100), 1),
    ],
)
def test_v70a_imported_table_has_partitions_for_units_and_size(
    tmp_path: Path, profile: str, units: tuple[int, int] | None, partitions: int
) -> None:
    exchanging = Exchanging(tmp_path, throughput=profile)
    exchanging.object("in/a.json", lines(ITEMS))
    parameters: dict[str, Any] = {
        "TableName": "table",
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    if units is not None:
        parameters["BillingMode"] = "PROVISIONED"
        parameters["ProvisionedThroughput"] = {"ReadCapacityUnits": units[0], "WriteCapacityUnits": units[1]}
    described = exchanging.import_all("in/", TableCreationParameters=parameters)
    assert (described["ImportStatus"], described["ImportedItemCount"]) == ("COMPLETED", len(ITEMS))
    parts = exchanging.local.capacity("table")["resources"][""]["partitions"]
    assert len(parts) == partitions
    assert sum(part["items"] for part in parts) == len(ITEMS)
    exchanging.close()
