"""Where a server's data is: in memory, in a directory, or in one or several PostgreSQLs (--store)."""

from __future__ import annotations

import os
from pathlib import Path

from faradisc.records import dataclass
from faradisc.server.setting import SettingsError

DATA_DIR = "faradisc-data"
"""The data directory of a server that names none."""
PRIVATE_PLACES_MAX = 16


@dataclass(frozen=True, slots=True)
class DataPlace:
    """The settings of these names."""

    store: str
    places: int
    data_dir: str
    memory: bool

    def check(self) -> None:
        """Raises SettingsError when the settings exclude each other."""
        if not self.store:
            if self.places != 1:
                raise SettingsError("--places needs --store postgres:DIRECTORY.")
            if not self.memory and not self.data_dir:
                raise SettingsError("The data directory has no name; give --data-dir one, or use --memory.")
            return
        if self.memory:
            raise SettingsError("Choose either --memory, which keeps nothing, or --store.")
        if self.is_private_postgres:
            if not 1 <= self.places <= PRIVATE_PLACES_MAX:
                raise SettingsError(f"--places is a number from 1 to {PRIVATE_PLACES_MAX}.")
            return
        if self.places != 1:
            raise SettingsError("--places is for --store postgres:DIRECTORY; otherwise name each PostgreSQL.")
        found = self.addresses
        if not found or not all(each.startswith(("postgresql://", "postgres://")) for each in found):
            raise SettingsError(
                "--store is postgresql://user@host/database, several of them, a file with one on each line, "
                "or postgres:DIRECTORY for a private PostgreSQL."
            )

    @property
    def has_directory(self) -> bool:
        """Whether backups, buckets and logs have a directory. Several servers over one PostgreSQL need one
        that all of them share, so it has to be named."""
        return not self.store or self.is_private_postgres or self.data_dir != DATA_DIR

    @property
    def directory(self) -> Path:
        """The directory of the data, or of backups, buckets and logs only."""
        if self.is_private_postgres and self.data_dir == DATA_DIR:
            return Path(self.store.partition(":")[2], "files")
        return Path(self.data_dir)

    @property
    def words(self) -> str:
        """For people: without a password."""
        if self.memory:
            return "in memory, gone at the end"
        if self.is_private_postgres:
            return f"PostgreSQL in {os.path.abspath(self.store.partition(':')[2])}"
        if self.store:
            shown = [each.partition("://")[2].rpartition("@")[2].partition("?")[0] for each in self.addresses]
            return f"PostgreSQL at {', '.join(shown)}"
        return os.path.abspath(self.data_dir)

    @property
    def store_file(self) -> Path | None:
        """The file that names the places, if `store` is one."""
        if not self.store or "://" in self.store or self.is_private_postgres:
            return None
        return Path(self.store)

    @property
    def addresses(self) -> list[str]:
        """The PostgreSQLs that are not private, home first. Raises SettingsError."""
        if self.store_file is None:
            return self.store.split()
        try:
            lines = self.store_file.read_text().splitlines()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise SettingsError(f"--store {self.store!r} is no address, and no file: {reason}.") from error
        return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]

    @property
    def has_places(self) -> bool:
        """Whether the store has, or may get, several places."""
        return bool(
            (self.is_private_postgres and len(self.private_directories) > 1)
            or self.store_file is not None
            or len(self.store.split()) > 1
        )

    @property
    def private_directories(self) -> list[Path]:
        """The directories of private PostgreSQLs, that of home first, with those that were used before."""
        home = Path(self.store.partition(":")[2])
        count = self.places
        while (home / f"place-{count}").exists():
            count += 1
        return [home, *(home / f"place-{number}" for number in range(1, count))]

    @property
    def is_private_postgres(self) -> bool:
        """Whether `store` names a directory."""
        scheme, _, rest = self.store.partition(":")
        return scheme == "postgres" and bool(rest) and not rest.startswith("//")
