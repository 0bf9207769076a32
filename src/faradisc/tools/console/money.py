"""What requests, capacity and storage cost at list prices, were they Amazon's. Pure.

The prices are those of plans: us-east-1, standard table class.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from faradisc.tools.console.queries import indexes_of
from faradisc.tools.planner.results.prices import GB, HOURS_PER_MONTH, Prices

PRICES: Final = Prices()
MILLION: Final = 1_000_000


def is_on_demand(described: Mapping[str, Any]) -> bool:
    mode: str = described.get("BillingModeSummary", {}).get("BillingMode", "")
    return mode == "PAY_PER_REQUEST"


def requests_usd(read: float, write: float = 0.0) -> float:
    """Returns what units cost on demand."""
    return (read * float(PRICES.read_million) + write * float(PRICES.write_million)) / MILLION


def usd(amount: float) -> str:
    """Returns an amount with two digits that say something: "$0.0000016", "$0.25", "$1,250.00"."""
    if amount == 0:
        return "$0"
    text = f"{amount:,.2f}" if amount >= 0.1 else f"{amount:.10f}"
    if amount < 0.1:
        first = next((at for at, digit in enumerate(text) if digit in "123456789"), len(text))
        text = text[: first + 2].rstrip("0").rstrip(".")
    return f"${text}" if text != "0" else "under $0.0000000001"


def query_usd(read: float, write: float, described: Mapping[str, Any]) -> str:
    """Returns what a request costs, and a million of it: a single one says little."""
    if not read and not write:
        return ""
    once = requests_usd(read, write)
    if not is_on_demand(described):
        return f"paid by provisioned capacity ({usd(once)} on demand)"
    alone = f"{usd(once)}, " if once >= 0.01 else ""
    return f"{alone}{usd(once * MILLION)} for a million times"


def month_text(described: Mapping[str, Any]) -> str:
    """Returns what provisioned capacity and storage cost a month."""
    resources = (described, *indexes_of(described))
    stored = sum(each.get("TableSizeBytes", each.get("IndexSizeBytes", 0)) for each in resources)
    storage = float(PRICES.storage_gb_month) * stored / GB
    units = [each.get("ProvisionedThroughput", {}) for each in resources]
    hourly = sum(
        each.get("ReadCapacityUnits", 0) * float(PRICES.read_unit_hour)
        + each.get("WriteCapacityUnits", 0) * float(PRICES.write_unit_hour)
        for each in units
    )
    fixed = f"${hourly * HOURS_PER_MONTH + storage:,.2f} a month"
    return fixed if hourly else f"{fixed} for storage, plus each request"
