"""Writes that were sent again after their answer was lost, without what makes that safe.

Known of an endpoint with faults (docs/guide/late-reads-and-faults.md): it loses answers of writes that it has
made, and knows them when they come again.
"""

from __future__ import annotations

from collections.abc import Iterator

from faradisc.tools.advisor.findings import Effect, Finding, count
from faradisc.tools.advisor.traffic import TableTraffic, Traffic

_TOKEN = """\
# With a token the service makes a transaction once, however often it is sent:
client.transact_write_items(TransactItems=actions, ClientRequestToken=token)"""
_CONDITION = """\
# A condition on what the program has read fails if the write was made before, or another came between:
table.update_item(
    Key=key,
    UpdateExpression="SET total = total + :n, version = :next",
    ConditionExpression="version = :read",
    ExpressionAttributeValues={":n": 1, ":read": version, ":next": version + 1},
)"""


def find(traffic: Traffic, table: TableTraffic) -> Iterator[Finding]:
    for operation, danger, repeats in table.repeats:
        twice = danger == "applied twice"
        what = "is applied twice" if twice else "undoes what another program wrote in between"
        yield Finding(
            "unsafe-repeat",
            "high" if twice else "medium",
            table.definition.name,
            None,
            f"{operation} is repeated without a token or a condition",
            f"{count(repeats, operation)} of {table.definition.name} came again after the first was made and "
            f"its answer was lost, without ClientRequestToken or ConditionExpression: the write {what}.",
            Effect("no units: the data are at stake"),
            _TOKEN if operation in ("TransactWriteItems", "ExecuteTransaction") else _CONDITION,
        )
