"""What one setting of `faradisc serve` is, and the headings under which they are listed."""

from __future__ import annotations

from typing import Any

from faradisc.records import dataclass, field

ENVIRONMENT_PREFIX = "FARADISC_"


class SettingsError(Exception):
    """Raised for a setting that cannot be used; the text is a sentence for the user."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting, for lists of them."""

    name: str
    kind: type
    """str, int, float or bool; a bool is a flag."""
    default: Any
    help: str
    group: str
    """Its heading in `serve --help-all`; those of COMMON are in `serve --help` too."""
    repeatable: bool = False
    """Whether its option can be given several times; the value has them all, with spaces between."""

    @property
    def option(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def environment(self) -> str:
        return ENVIRONMENT_PREFIX + self.name.upper()


COMMON = "Most needed"
THROUGHPUT = "Throughput"
SERVERS = "Several servers"
REGIONS = "Regions"
SECURITY = "Security"
FILES = "Files, buckets and keys"
PAGES = "Pages"
LOGS = "Logs and traces"
CLOCK = "Clock and expiry"
EMULATION = "Emulation, each given as --emulate KEY=VALUE"
"""What the service does by itself, made shorter, longer or more frequent for tests of programs."""


def setting(default: Any, text: str, group: str, *, repeatable: bool = False) -> Any:
    """Returns the field of a setting, with its help and its heading."""
    metadata = {"help": text, "group": group, "repeatable": repeatable}
    return field(default=default, metadata=metadata)
