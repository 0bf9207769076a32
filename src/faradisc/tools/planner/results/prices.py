"""What DynamoDB costs: one table of list prices with its date and its source.

Amounts are exact decimals in US dollars. Nothing else in the planner knows a price. A plan file overrides
single entries under `prices:`; names there are the names here.

Source: capacity.md section 3.5: public documents that quote the AWS price list as read on 30 July and
15 August 2026. `infrequent_*` provisioned rates are Assumed there (1.25 times the standard ones). Prices of
warm throughput and of reserved capacity were not verified, so none is here: a raise of warm throughput is
left out of the sums, and reserved capacity appears only where the plan says what it costs. Nor is there one
of stream reads: a plan says nothing of who reads streams.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

HOURS_PER_MONTH = 730
"""Of a billing month, as AWS counts it."""
GB = 1 << 30


@dataclass(frozen=True, slots=True)
class Prices:
    region: str = "us-east-1"
    date: str = "2026-08-15"
    source: str = "AWS price list, as quoted in public documents of July and August 2026"
    currency: str = "USD"

    read_million: Decimal = Decimal("0.125")
    """A million on-demand read request units."""
    write_million: Decimal = Decimal("0.625")
    read_unit_hour: Decimal = Decimal("0.00013")
    """One provisioned read capacity unit for an hour."""
    write_unit_hour: Decimal = Decimal("0.00065")
    storage_gb_month: Decimal = Decimal("0.25")
    storage_free_gb: Decimal = Decimal(25)

    infrequent_read_million: Decimal = Decimal("0.155")
    infrequent_write_million: Decimal = Decimal("0.78")
    infrequent_read_unit_hour: Decimal = Decimal("0.0001625")
    infrequent_write_unit_hour: Decimal = Decimal("0.0008125")
    infrequent_storage_gb_month: Decimal = Decimal("0.10")

    recovery_gb_month: Decimal = Decimal("0.20")
    """Point-in-time recovery."""
    reserved_read_unit_hour: Decimal | None = None
    """Only from the plan: what an hour of a reserved unit costs, upfront payment spread over the term."""
    reserved_write_unit_hour: Decimal | None = None
    overridden: tuple[str, ...] = field(default=())
    """Names that the plan has set."""

    def with_overrides(self, texts: Mapping[str, str]) -> Prices:
        """Returns the prices with some of them, or labels, replaced by what a plan file says."""
        values: dict[str, Any] = {
            name: text if name in LABEL_NAMES else Decimal(text) for name, text in texts.items()
        }
        return replace(self, **values, overridden=tuple(sorted(texts)))

    def of_class(self, infrequent: bool) -> ClassPrices:
        if infrequent:
            return ClassPrices(
                self.infrequent_read_million,
                self.infrequent_write_million,
                self.infrequent_read_unit_hour,
                self.infrequent_write_unit_hour,
                self.infrequent_storage_gb_month,
                Decimal(0),
            )
        return ClassPrices(
            self.read_million,
            self.write_million,
            self.read_unit_hour,
            self.write_unit_hour,
            self.storage_gb_month,
            self.storage_free_gb,
        )

    def to_json(self) -> dict[str, Any]:
        return {
            name: str(value) if isinstance(value, Decimal) else value
            for name, value in ((name, getattr(self, name)) for name in self.__slots__)
            if value is not None and name != "overridden"
        } | {"overridden": list(self.overridden)}


@dataclass(frozen=True, slots=True)
class ClassPrices:
    """The prices of one table class."""

    read_million: Decimal
    write_million: Decimal
    read_unit_hour: Decimal
    write_unit_hour: Decimal
    storage_gb_month: Decimal
    storage_free_gb: Decimal

    def on_demand(self, read_units: Decimal, write_units: Decimal) -> tuple[Decimal, Decimal]:
        """Of so many request units, reads and writes."""
        return read_units * self.read_million / 1_000_000, write_units * self.write_million / 1_000_000

    def provisioned(self, read_unit_hours: Decimal, write_unit_hours: Decimal) -> tuple[Decimal, Decimal]:
        """Of so many unit-hours, reads and writes."""
        return read_unit_hours * self.read_unit_hour, write_unit_hours * self.write_unit_hour

    def storage(self, gb: Decimal, free_gb: Decimal | None = None) -> Decimal:
        """Of so many GB for a month; `free_gb` is what is left of the free ones."""
        free = self.storage_free_gb if free_gb is None else free_gb
        return max(gb - free, Decimal(0)) * self.storage_gb_month


US_EAST_1 = Prices()

PRICE_NAMES = tuple(
    name for name in Prices.__slots__ if name not in ("region", "date", "source", "currency", "overridden")
)
LABEL_NAMES = ("region", "date", "source", "currency")
