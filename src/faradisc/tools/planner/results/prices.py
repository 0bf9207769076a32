"""What DynamoDB costs: one table of list prices with its date and its source.

Amounts are exact decimals in US dollars. A plan file replaces single entries under `prices:` by their names.

Source: capacity.md section 3.5: public documents that quote the AWS price list as read on 30 July and
15 August 2026. `infrequent_*` provisioned rates are
rounded as the price list has them, not 1.25 times the standard ones. Prices of
warm throughput and of reserved capacity were not verified: a raise of warm throughput is left out of the
sums, and reserved capacity appears only where the plan gives its price. Each reader polls each
shard of a stream once a second; what is free of charge there is not counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from faradisc.records import dataclass, fields, replace

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
    infrequent_read_unit_hour: Decimal = Decimal("0.00016")
    infrequent_write_unit_hour: Decimal = Decimal("0.00081")
    infrequent_storage_gb_month: Decimal = Decimal("0.10")

    recovery_gb_month: Decimal = Decimal("0.20")
    """Point-in-time recovery."""
    backup_gb_month: Decimal = Decimal("0.10")
    export_gb: Decimal = Decimal("0.10")
    stream_reads_100k: Decimal = Decimal("0.02")
    """A hundred thousand requests that read a stream."""
    reserved_read_unit_hour: Decimal | None = None
    """From the plan only: an hour of a reserved unit, upfront payment spread over the term."""
    reserved_write_unit_hour: Decimal | None = None
    overridden: tuple[str, ...] = ()
    """Names that the plan replaces."""

    def with_overrides(self, texts: Mapping[str, str]) -> Prices:
        """Returns the prices with some of them, or labels, replaced by the texts of a plan file."""
        values: dict[str, Any] = {
            name: text if name in LABEL_NAMES else Decimal(text) for name, text in texts.items()
        }
        return replace(self, **values, overridden=tuple(sorted(texts)))

    def of_class(self, infrequent: bool) -> ClassPrices:
        prefix = "infrequent_" if infrequent else ""
        names = ("read_million", "write_million", "read_unit_hour", "write_unit_hour", "storage_gb_month")
        free = Decimal(0) if infrequent else self.storage_free_gb
        return ClassPrices(**{name: getattr(self, prefix + name) for name in names}, storage_free_gb=free)

    def to_json(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in (*LABEL_NAMES, *PRICE_NAMES)}
        known = {name: str(value) for name, value in values.items() if value is not None}
        return {**known, "overridden": list(self.overridden)}


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
        """Returns the cost of request units, reads and writes."""
        return read_units * self.read_million / 1_000_000, write_units * self.write_million / 1_000_000

    def provisioned(self, read_unit_hours: Decimal, write_unit_hours: Decimal) -> tuple[Decimal, Decimal]:
        """Returns the cost of unit-hours, reads and writes."""
        return read_unit_hours * self.read_unit_hour, write_unit_hours * self.write_unit_hour

    def storage(self, gb: Decimal, free_gb: Decimal | None = None) -> Decimal:
        """Returns the cost of so many GB for a month; `free_gb`: what is left of the free ones."""
        free = self.storage_free_gb if free_gb is None else free_gb
        return max(gb - free, Decimal(0)) * self.storage_gb_month


US_EAST_1 = Prices()

LABEL_NAMES = ("region", "date", "source", "currency")
PRICE_NAMES = tuple(field.name for field in fields(Prices) if field.name not in (*LABEL_NAMES, "overridden"))
