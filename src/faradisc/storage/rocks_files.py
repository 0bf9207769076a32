"""Open the directory of a RocksDB store: format, owner, tuning, and errors as the seam names them.

<directory>/FORMAT     checked first (format.py)
<directory>/OWNER      process id of the last process that opened it, for the message of a refusal
<directory>/SYNCED     how far the log was synced (sync_record.py); a start that recovers less refuses
<directory>/rocks/     RocksDB's own files; its LOCK makes sure that one process owns them
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from rocksdict import AccessType, BlockBasedOptions, Cache, DbClosedError, DBCompressionType, Options, Rdict

from faradisc.errors import StorageError
from faradisc.storage import format as data_format
from faradisc.storage.api import Closed, Corruption, Full, InUse, IOFailed
from faradisc.storage.sync_record import LostCommits, lost_commits
from faradisc.storage.upgrade import upgrade

MB = 1024 * 1024

BLOCK_CACHE_BYTES = 64 * MB
WRITE_BUFFER_BYTES = 32 * MB
OPEN_FILES_MAX = 512
"""Leaves room for connections under the usual limit of 1,024 descriptors."""

ROCKS_DIRECTORY = "rocks"
OWNER_FILE = "OWNER"


def options() -> Options:
    """The tuning, chosen for one writer, rows of some hundred bytes and a small idle process."""
    table = BlockBasedOptions()
    table.set_block_cache(Cache(BLOCK_CACHE_BYTES))
    table.set_bloom_filter(10, False)  # bits per key: one absent key in a hundred costs a block read
    table.set_format_version(5)
    # Index and filter blocks stay with their open table, some 1.5 % of the data: in the block cache each is
    # larger than a shard of it likes, and a read then pays for bringing it back (measured: 5 times slower).
    table.set_cache_index_and_filter_blocks(False)

    tuning = Options(raw_mode=True)
    tuning.create_if_missing(True)
    tuning.set_block_based_table_factory(table)
    tuning.set_compression_type(DBCompressionType.lz4())
    # Tables fresh from memory are merged into others before long, which are compressed. Compressing them too
    # was an eighth of an import's work; without it up to 128 MB take two thirds more room on the disk.
    tuning.set_min_level_to_compress(1)
    tuning.set_write_buffer_size(WRITE_BUFFER_BYTES)
    # Most keys are in tables and not among the recent writes: this spares reads a walk through those.
    tuning.set_memtable_whole_key_filtering(True)
    tuning.set_memtable_prefix_bloom_ratio(0.02)
    tuning.set_level_compaction_dynamic_level_bytes(True)
    tuning.set_max_background_jobs(2)
    tuning.set_max_open_files(OPEN_FILES_MAX)
    tuning.set_bytes_per_sync(MB)  # spreads the writing of tables, so that no log sync waits behind it
    tuning.set_keep_log_file_num(2)
    tuning.set_max_log_file_size(MB)
    tuning.set_stats_dump_period_sec(0)
    tuning.set_stats_persist_period_sec(0)
    tuning.set_skip_stats_update_on_db_open(True)
    return tuning


def open_files(directory: Path) -> Rdict:
    """Open or create the store in `directory`, and bring an older one to the present format.

    Nothing in the directory changes if the log does not give back every acknowledged commit.

    Raises: NewerFormat, Unwritable, InUse, Corruption, Full, IOFailed.
    """
    files = directory / ROCKS_DIRECTORY
    version = data_format.prepare(directory, data=files / "CURRENT")
    try:
        if not files.exists():
            files.mkdir(mode=0o700)
            data_format.sync_directory(directory)
        elif files.stat().st_mode & 0o077:  # made by an earlier release, which let everybody read it
            files.chmod(0o700)
        if lost := unrecoverable(directory):
            raise damaged_log(directory, lost)
        db = Rdict(str(files), options())
    except OSError as error:
        raise data_format.unwritable(files, error) from error
    except Exception as error:
        if _is_locked(str(error)):
            raise _in_use(directory) from error
        if "Permission denied" in str(error):
            raise data_format.unwritable(files, PermissionError(errno.EACCES, str(error))) from error
        raise translated(error) from error
    try:
        if version < data_format.FORMAT_VERSION:
            upgrade(directory, db, version)
        (directory / OWNER_FILE).write_text(f"{os.getpid()}\n")
    except OSError as error:
        db.close()
        raise data_format.unwritable(directory, error) from error
    except Exception as error:
        db.close()
        raise translated(error) from error
    return db


def unrecoverable(directory: Path) -> LostCommits | None:
    """Returns the acknowledged commits that a start would not recover, or None. Changes nothing.

    The log is replayed for this in RocksDB's read-only mode, and then once more when the store is opened: a
    read-write open that ends at a damaged byte deletes what lies behind it. After a regular stop the log is
    empty, and both cost little.

    Raises: OSError.
    """
    files = directory / ROCKS_DIRECTORY
    if not (files / "CURRENT").exists() or lost_commits(directory, 0) is None:
        return None
    tuning = options()
    tuning.create_if_missing(False)
    try:
        db = Rdict(str(files), tuning, access_type=AccessType.read_only())
        recovered = db.latest_sequence_number()
        db.close()
    except Exception:
        return None  # the files are another process's, or damaged otherwise: opening them says which
    return lost_commits(directory, recovered)


def damaged_log(directory: Path, lost: LostCommits) -> Corruption:
    """Returns the error of a start that would lose acknowledged commits."""
    logs = sorted(file.name for file in (directory / ROCKS_DIRECTORY).glob("*.log") if file.stat().st_size)
    where = f"in {', '.join(logs)}" if logs else "and no log file is left"
    return Corruption(
        f"The write-ahead log in {directory / ROCKS_DIRECTORY} is damaged or incomplete ({where}): {lost}. "
        "Nothing was changed. Restore the files from a copy, or run `faradisc check --recover` on the "
        "directory to go on with what is left."
    )


def log_bytes(directory: Path) -> int:
    """How long the write-ahead logs of the store in `directory` are. Raises: OSError."""
    return sum(file.stat().st_size for file in (directory / ROCKS_DIRECTORY).glob("*.log"))


def _is_locked(text: str) -> bool:
    """Whether RocksDB says that someone holds LOCK: this process, another one, another one on Windows."""
    return "lock hold by current process" in text or (
        "lock file" in text and ("temporarily unavailable" in text or "used by another process" in text)
    )


def _in_use(directory: Path) -> InUse:
    try:
        owner = f"process {int((directory / OWNER_FILE).read_text())}"
    except (OSError, ValueError):
        owner = "another process"
    if owner == f"process {os.getpid()}":
        owner = "this process"
    return InUse(f"The data directory {directory} is in use by {owner}; only one process can own it.")


def translated(error: Exception) -> StorageError:
    """RocksDB's error as one of the seam's.

    The binding raises bare Exceptions, so its text (RocksDB's Status::ToString, a fixed prefix per kind)
    is all there is to tell the kinds apart. This is the only place that reads it. Any other exception is
    a mistake of ours (or already translated) and goes on as it is.
    """
    if type(error) not in (Exception, DbClosedError):
        raise error
    text = str(error)
    if isinstance(error, DbClosedError):
        return Closed()
    if "No space left on device" in text or text.startswith("IO error: No space"):
        return Full(f"The disk is full: {text}")
    if text.startswith("Corruption"):
        return Corruption(f"The stored data is damaged: {text}")
    return IOFailed(text)
