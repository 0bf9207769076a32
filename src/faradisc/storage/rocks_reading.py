"""Reads a data directory without writing to it, also while a server owns it or where it is read-only.

RocksDB's read-only mode takes no lock and shows the store as of its opening, with the log; but the binding
writes its settings next to the data. So RocksDB opens a temporary directory of links to the current files,
and keeps all of them open: files that a server compacts meanwhile stay readable.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rocksdict import AccessType, Rdict

from faradisc.storage import format as data_format
from faradisc.storage.api import Corruption, IOFailed
from faradisc.storage.immediate import run
from faradisc.storage.rocks import RocksStore
from faradisc.storage.rocks_files import (
    ROCKS_DIRECTORY,
    check_recorded,
    damaged_log,
    opened,
    options,
    translated,
)
from faradisc.storage.sync_record import lost_commits
from faradisc.storage.upgrade import READABLE_FROM

_ATTEMPTS = 5
"""A server can replace files between their listing and their opening."""


@contextmanager
def read_only_rocks(directory: Path) -> Iterator[RocksStore]:
    """Yields the store in `directory` as it is now. Writes to it fail.

    Raises: NewerFormat, Corruption, IOFailed.
    """
    files = directory / ROCKS_DIRECTORY
    version = data_format.found(directory)
    if version < READABLE_FROM:
        raise Corruption(
            f"The data in {directory} has storage format {version}, which is not read any more; open it once "
            "with `faradisc serve`, which upgrades it."
        )
    check_recorded(directory)
    acknowledged = lost_commits(directory, 0)  # before the log: a server that writes goes on meanwhile
    with tempfile.TemporaryDirectory(prefix="faradisc-read-") as links:
        db = _opened(files, Path(links))
        if acknowledged is not None and acknowledged.acknowledged.sequence > db.latest_sequence_number():
            lost = lost_commits(directory, db.latest_sequence_number())
            db.close()
            raise damaged_log(directory, lost or acknowledged)
        store = RocksStore(db, "inline")
        try:
            yield store
        finally:
            run(store.close())


def _opened(files: Path, temporary: Path) -> Rdict:
    tuning = options()
    tuning.create_if_missing(False)
    tuning.set_max_open_files(-1)
    for attempt in range(_ATTEMPTS):
        links = temporary / str(attempt)
        try:
            _link(files, links)
            return opened(links, tuning, AccessType.read_only())
        except OSError as error:
            raise IOFailed(f"The data in {files} cannot be read: {error}") from error
        except Exception as error:
            failure = translated(error)
    if isinstance(failure, IOFailed):
        raise IOFailed(f"The data in {files} cannot be read: {failure}") from failure
    raise failure


def _link(files: Path, links: Path) -> None:
    """Links all files that RocksDB reads: tables, logs, manifests. Raises Corruption, OSError."""
    links.mkdir()
    for file in files.iterdir():
        if file.suffix in (".sst", ".log") or file.name == "CURRENT" or file.name.startswith("MANIFEST-"):
            (links / file.name).symlink_to(file.absolute())
    if not (links / "CURRENT").exists():
        raise Corruption(f"{files} holds no store: the file CURRENT is missing.")
