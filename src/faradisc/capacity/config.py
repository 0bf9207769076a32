"""The settings of the capacity model and five named profiles.

Everything that the service does not publish is a field here, not a constant in the code. Source: capacity.md
section 2.0 (the table of profiles); fields marked "Assumed" are graded A there.
"""

from __future__ import annotations

import re
from typing import Literal, Protocol

from faradisc.limits import ACCOUNT_CAPACITY_UNITS_MAX, TABLE_CAPACITY_UNITS_MAX
from faradisc.records import dataclass, replace

SECOND_NS = 1_000_000_000
MINUTE_NS = 60 * SECOND_NS
HOUR_NS = 3_600 * SECOND_NS
DAY_NS = 86_400 * SECOND_NS
GIB = 1 << 30
PARTITION_CAP_MAX = 1_000_000_000
PARTITION_BYTES_CAP_MAX = 1 << 50
"""Largest partition caps: all results fit into 64 bits."""

UNIT = 1_000_000_000
"""One capacity unit in nano-units, the integers all balances are kept in."""
HALF_UNIT = UNIT // 2
HASH_BYTES = 16
"""Length of the hash with which a row key begins (model/codec/keyspace.py)."""

Direction = Literal["R", "W"]


class Chance(Protocol):
    """A seeded source of random numbers."""

    def randint(self, low: int, high: int) -> int:
        """Returns an integer from low to high, both inclusive."""


@dataclass(frozen=True, slots=True)
class CapacityConfig:
    """The settings of one resource's capacity model. The defaults are the profile `aws`."""

    profile: str = "aws"
    enforce: bool = True
    """Whether requests are throttled; otherwise units are only counted."""

    # --- Buckets (section 2.5) ---
    burst_s: int = 300
    """Burst capacity: seconds of unused rate that are retained."""
    initial_burst_s: int = 300
    """Burst seconds of a new resource. Assumed: a new 1-WCU table was seen to absorb a lot."""
    max_debt_s: int | None = 10
    """Debt never exceeds this many seconds of rate; None forgives nothing. Assumed (section 2.5.4)."""
    table_bucket: bool = True
    """Admission by the table's total; without it each partition has a share of the table's rate."""
    partition_read_units: int = 3000
    partition_write_units: int = 1000
    partition_burst_ms: int = 1000
    eventual_read_factor: tuple[int, int] = (3, 2)
    """Numerator and denominator: how many more eventually consistent units a partition serves."""
    account_quota: bool = False
    """Whether account and on-demand table quotas throttle requests."""
    account_read_units: int = ACCOUNT_CAPACITY_UNITS_MAX
    account_write_units: int = ACCOUNT_CAPACITY_UNITS_MAX
    table_read_units: int = TABLE_CAPACITY_UNITS_MAX
    table_write_units: int = TABLE_CAPACITY_UNITS_MAX
    background_burst_percent: int = 0
    """Largest part of the burst balance that the service takes for itself each minute. Assumed."""

    # --- Adaptive capacity (section 2.6) ---
    adaptive_delay_s: tuple[int, int] | None = None
    """Shortest and longest wait for adaptive capacity; None: it acts at once."""

    # --- Heat (section 2.7; all assumed) ---
    heat_split: bool = True
    heat_percent: int = 90
    """Utilisation of a partition, averaged over a minute, from which on it is hot."""
    hot_for_s: int = 300
    """How long a partition is hot before it splits."""
    heat_cooldown_s: int = 600
    """Time between two examinations of a partition, after a split or a rejected split."""
    sketch_keys: int = 64
    single_key_percent: int = 80
    isolate_percent: int = 50
    collection_percent: int = 80
    rising_percent: int = 90

    # --- Topology (section 2.4) ---
    partition_bytes_max: int = 10 * GIB
    split_size_s: int = 60
    split_raise_s: int = 60
    split_heat_s: int = 300

    # --- On demand (section 2.8) ---
    growth_s: int = 1800
    """A peak counts as previous this long after it was reached."""

    # --- Choices the documents leave open (sections 1.9, 2.2, 2.9, 2.11) ---
    failed_condition_charge: Literal["existing", "new", "max"] = "existing"
    scan_minimum_per_partition: bool = True
    index_precheck: Literal["member", "affected", "all"] = "member"
    page_on_throttle: Literal["cut", "error"] = "cut"
    transaction_style: Literal["auto", "toplevel", "cancel"] = "auto"

    @property
    def shares(self) -> bool:
        """Whether the table's rate is divided among its partitions (classic)."""
        return self.enforce and not self.table_bucket

    @property
    def partition_caps(self) -> str | None:
        """Partition caps as `parse_caps` reads them; None for those of the profile."""
        own = PROFILES[self.profile]
        units = (self.partition_read_units, self.partition_write_units)
        if self.partition_bytes_max != own.partition_bytes_max:
            return f"{units[0]}/{units[1]}/{self.partition_bytes_max}"
        if units != (own.partition_read_units, own.partition_write_units):
            return f"{units[0]}/{units[1]}"
        return None

    @property
    def text(self) -> str:
        """The profile as the command line takes it, such as "aws:30/10"."""
        return f"{self.profile}:{self.partition_caps}" if self.partition_caps else self.profile

    def with_partition_caps(
        self, read_units: int, write_units: int, size_bytes: int | None = None
    ) -> CapacityConfig:
        """Returns these settings with small partitions, to test hot keys and splits with little traffic.

        Raises ValueError for caps below 1 or beyond `PARTITION_CAP_MAX`.
        """
        caps = (read_units, write_units, size_bytes or 1)
        if min(caps) < 1 or size_bytes == 0:
            raise ValueError("a partition cap is at least 1")
        if max(caps[:2]) > PARTITION_CAP_MAX or caps[2] > PARTITION_BYTES_CAP_MAX:
            most = f"{PARTITION_CAP_MAX:,} units, or {PARTITION_BYTES_CAP_MAX >> 30:,} GB"
            raise ValueError(f"a partition cap is at most {most}")
        return replace(
            self,
            partition_read_units=read_units,
            partition_write_units=write_units,
            partition_bytes_max=size_bytes or self.partition_bytes_max,
        )


PROFILES: dict[str, CapacityConfig] = {
    config.profile: config
    for config in (
        CapacityConfig(),
        CapacityConfig(
            profile="documented",
            initial_burst_s=0,
            max_debt_s=None,
            eventual_read_factor=(1, 1),
            failed_condition_charge="max",
        ),
        CapacityConfig(
            profile="pessimistic",
            burst_s=1,
            initial_burst_s=0,
            max_debt_s=None,
            eventual_read_factor=(1, 1),
            heat_split=False,
            failed_condition_charge="max",
        ),
        CapacityConfig(
            profile="classic-2017",
            initial_burst_s=0,
            max_debt_s=None,
            table_bucket=False,
            eventual_read_factor=(1, 1),
            adaptive_delay_s=(300, 1800),
            heat_split=False,
        ),
        CapacityConfig(profile="off", enforce=False, heat_split=False),
    )
}


def profile(name: str) -> CapacityConfig:
    """Returns a named profile. Raises ValueError with all names."""
    if name not in PROFILES:
        raise ValueError(f"no capacity profile {name!r}; there are {', '.join(PROFILES)}")
    return PROFILES[name]


_SIZES = {"": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}


def parse_caps(text: str) -> tuple[int, int, int | None]:
    """Parses partition caps: "30/10" for 30 read and 10 write units per second, "30/10/64MB" for partitions
    that are also full at 64 MB (units of 1,024).

    Raises ValueError.
    """
    match = re.fullmatch(r"([1-9][0-9]*)/([1-9][0-9]*)(?:/([1-9][0-9]*)(KB|MB|GB|))?", text)
    if match is None:
        raise ValueError(
            f"partition caps are written READ/WRITE or READ/WRITE/SIZE, for example 30/10/64MB, not {text!r}"
        )
    read, write, size, unit = match.groups()
    return int(read), int(write), int(size) * _SIZES[unit] if size else None
