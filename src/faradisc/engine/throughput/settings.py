"""The capacity profiles of tables."""

from __future__ import annotations

from collections.abc import Mapping

from faradisc.capacity.config import CapacityConfig, parse_caps, profile
from faradisc.records import dataclass, field


@dataclass(frozen=True, slots=True)
class ThroughputSettings:
    """A profile for all tables, and others by table name."""

    default: CapacityConfig = field(default_factory=lambda: profile("off"))
    by_table: Mapping[str, CapacityConfig] = field(default_factory=dict)

    def of(self, table_name: str) -> CapacityConfig:
        return self.by_table.get(table_name, self.default)

    @property
    def enforced(self) -> bool:
        """Whether any table's throughput is enforced."""
        return self.default.enforce or any(config.enforce for config in self.by_table.values())


def parse_config(text: str) -> CapacityConfig:
    """Parses a profile of the command line: "aws", or with partition caps "aws:30/10". Raises ValueError."""
    name, colon, caps = text.partition(":")
    config = profile(name)
    return config.with_partition_caps(*parse_caps(caps)) if colon else config


def parse_throughput(default: str, tables: str = "") -> ThroughputSettings:
    """Parses settings such as "aws" and "Orders=aws:30/10,Logs=off". Raises ValueError with the piece that
    cannot be read."""
    by_table: dict[str, CapacityConfig] = {}
    for piece in filter(None, (piece.strip() for piece in tables.split(","))):
        name, equals, text = piece.partition("=")
        if not equals or not name:
            raise ValueError(f"write TABLE=PROFILE or TABLE=PROFILE:READ/WRITE, not {piece!r}")
        by_table[name] = parse_config(text)
    return ThroughputSettings(parse_config(default), by_table)
