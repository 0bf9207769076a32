"""ConsumedCapacity of requests that name several tables."""

from __future__ import annotations

from typing import Any, Literal

from faradisc.capacity.units import Consumed
from faradisc.operations.call import Call


class Charges(dict[str, Consumed]):
    """The consumed capacity by table as named in the request."""

    def __missing__(self, name: str) -> Consumed:
        charge = self[name] = Consumed(name)
        return charge

    def report(
        self, call: Call, *, transaction: Literal["ReadCapacityUnits", "WriteCapacityUnits"] | None = None
    ) -> dict[str, Any]:
        """Returns the ConsumedCapacity member; nothing unless the request asks for it."""
        detail = call.request.get("ReturnConsumedCapacity", "NONE")
        if detail == "NONE":
            return {}
        return {
            "ConsumedCapacity": [charge.describe(detail, transaction=transaction) for charge in self.values()]
        }
