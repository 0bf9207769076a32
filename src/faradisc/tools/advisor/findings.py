"""What a rule finds: evidence, the effect in units and money, and the change as code."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal

from faradisc.records import asdict, dataclass
from faradisc.tools.advisor.definitions import Definition
from faradisc.tools.advisor.traffic import Traffic
from faradisc.tools.planner.results.prices import HOURS_PER_MONTH, US_EAST_1, ClassPrices

Level = Literal["low", "medium", "high"]
LEVELS: tuple[Level, ...] = ("low", "medium", "high")
MONTH_S = HOURS_PER_MONTH * 3600


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change makes of a month like the traffic; negative numbers are more units or more money."""

    words: str
    """What the numbers are."""
    read_units: float | None = None
    write_units: float | None = None
    usd: float | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    rule: str
    level: Level
    table: str
    index: str | None
    title: str
    evidence: str
    effect: Effect
    code: str
    """Python with boto3; `client` and `table` are those of DynamoDB."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def prices_of(definition: Definition) -> ClassPrices:
    return US_EAST_1.of_class(definition.infrequent)


def of_month(traffic: Traffic, half_units: float) -> float:
    """Returns the units of a month, if half units were those of the traffic."""
    return half_units / 2 * traffic.times * MONTH_S / traffic.duration_s


def saved(
    traffic: Traffic, definition: Definition, words: str, *, read_half: float = 0, write_half: float = 0
) -> Effect:
    """Returns the effect of half units that the traffic need not have used, priced by the table's mode."""
    reads, writes = of_month(traffic, read_half), of_month(traffic, write_half)
    of_class = prices_of(definition)
    if definition.on_demand:
        cost = sum(of_class.on_demand(Decimal(reads), Decimal(writes)))
    else:  # a unit of every second is an hour's unit 1 / 3600 of the time
        cost = sum(of_class.provisioned(Decimal(reads) / 3600, Decimal(writes) / 3600))
    return Effect(
        words, round(reads) if read_half else None, round(writes) if write_half else None, cents(cost)
    )


def of_provisioned(definition: Definition, read_units: int, write_units: int) -> Decimal:
    """Returns the cost of a month of provisioned units."""
    hours = Decimal(read_units * HOURS_PER_MONTH), Decimal(write_units * HOURS_PER_MONTH)
    return sum(prices_of(definition).provisioned(*hours), Decimal(0))


def cents(amount: Decimal | float) -> float:
    return round(float(amount), 2)


def count(number: int, one: str, many: str | None = None) -> str:
    """Returns a number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
