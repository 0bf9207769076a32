"""Where exports are written, imports are read and error logs are kept."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path

from faradisc.engine.objects.api import ObjectStorage
from faradisc.engine.objects.directory import DirectoryStorage
from faradisc.model.values.attribute import Item
from faradisc.records import dataclass


@dataclass(frozen=True, slots=True)
class Locations:
    storage: ObjectStorage
    logs: Path
    """Directory of the error logs; created with the first log."""
    transform: Callable[[Item], Item] | None = None
    """Applied to every item that is imported into a new table; `faradisc import` masks with it."""


def directories(root: Path | str | PathLike[str], logs: Path | None) -> Locations:
    """Returns locations with buckets as directories under `root`; logs: `<root>/.logs` if not given."""
    root = Path(root).absolute()
    return Locations(DirectoryStorage(root), logs.absolute() if logs is not None else root / ".logs")
