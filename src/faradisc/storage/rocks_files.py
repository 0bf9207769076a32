"""Opens the directory of a RocksDB store: format, owner, tuning, and translation of errors.

<directory>/FORMAT     checked first (format.py)
<directory>/OWNER      process id of the last process that opened it, for an error message
<directory>/SYNCED     how far the log was synced (sync_record.py); a start that recovers less fails
<directory>/rocks/     RocksDB's own files; its LOCK ensures that one process owns them
"""

from __future__ import annotations

import errno
import logging
import os
from pathlib import Path

from rocksdict import AccessType, BlockBasedOptions, Cache, DbClosedError, DBCompressionType, Options, Rdict

from faradisc.errors import StorageError
from faradisc.files import sync_directory
from faradisc.storage import format as data_format
from faradisc.storage.api import Closed, Corruption, Full, InUse, IOFailed
from faradisc.storage.sync_record import (
    SYNC_RECORD_FILE,
    LostCommits,
    begin,
    is_recorded,
    lost_commits,
)
from faradisc.storage.upgrade import upgrade

_log = logging.getLogger(__name__)

MB = 1024 * 1024

BLOCK_CACHE_BYTES = 64 * MB
WRITE_BUFFER_BYTES = 32 * MB
OPEN_FILES_MAX = 8192
"""Tables that stay open, of up to 64 MB each; at most half of the files that the process may open. A read of
another one opens it and loads its index first (measured: 360 us instead of 12)."""

ROCKS_DIRECTORY = "rocks"
ARCHIVE_DIRECTORY = "archive"
LOG_KEPT_BYTES = 4 << 30
"""Of the log that no copy has yet; what is older goes, and the copy begins again with a snapshot."""
LOG_KEPT_S = 10 * 365 * 86_400
OWNER_FILE = "OWNER"


def options(cache_bytes: int = BLOCK_CACHE_BYTES, *, keep_log: bool = False) -> Options:
    """Returns the tuning, for one writer, rows of some hundred bytes and a small idle process.

    keep_log: files of the log stay until they are read (rocks_log.py).
    """
    table = BlockBasedOptions()
    table.set_block_cache(Cache(cache_bytes))
    table.set_bloom_filter(10, False)  # bits per key: one absent key in a hundred costs a block read
    table.set_format_version(5)
    # Index and filter blocks, 3 % of the data, stay in memory with their open table: in the block
    # cache they do not fit a shard well, and reads load them again (measured: 5 times slower).
    table.set_cache_index_and_filter_blocks(False)

    tuning = Options(raw_mode=True)
    tuning.create_if_missing(True)
    tuning.set_block_based_table_factory(table)
    tuning.set_compression_type(DBCompressionType.lz4())
    # Tables written from memory are soon merged into others, which are compressed. Compressing them too took
    # an eighth of the time of an import; without it up to 128 MB take two thirds more space on disk.
    tuning.set_min_level_to_compress(1)
    tuning.set_write_buffer_size(WRITE_BUFFER_BYTES)
    # Most keys are in tables and not among the recent writes: this spares reads the search through those.
    tuning.set_memtable_whole_key_filtering(True)
    tuning.set_memtable_prefix_bloom_ratio(0.02)
    tuning.set_level_compaction_dynamic_level_bytes(True)
    tuning.set_max_background_jobs(2)
    tuning.set_max_open_files(_open_files_max())
    tuning.set_bytes_per_sync(MB)  # spreads the writes of tables, so that no log sync waits for them
    tuning.set_keep_log_file_num(2)
    tuning.set_max_log_file_size(MB)
    tuning.set_stats_dump_period_sec(0)
    tuning.set_stats_persist_period_sec(0)
    tuning.set_skip_stats_update_on_db_open(True)
    if keep_log:
        tuning.set_wal_ttl_seconds(LOG_KEPT_S)
        tuning.set_wal_size_limit_mb(LOG_KEPT_BYTES // MB)
    return tuning


def _open_files_max() -> int:
    try:
        import resource  # noqa: PLC0415 - POSIX only
    except ImportError:
        return OPEN_FILES_MAX
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return OPEN_FILES_MAX if soft == resource.RLIM_INFINITY else min(OPEN_FILES_MAX, soft // 2)


def opened(files: Path, tuning: Options, access: AccessType | None = None) -> Rdict:
    """Opens RocksDB's own files. Raises what the binding raises.

    access: None: to read and write.
    """
    # It is given for the default column family as well: otherwise rocksdict 0.3.29 takes the tuning that is
    # stored in the directory, with a cache of 8 MB, at every start but the first.
    return Rdict(str(files), tuning, {"default": tuning}, access or AccessType.read_write())


def open_files(directory: Path, cache_bytes: int = BLOCK_CACHE_BYTES, *, keep_log: bool = False) -> Rdict:
    """Opens or creates the store in `directory`, and upgrades an older one to the current format.

    Nothing in the directory changes if the log does not give back every acknowledged commit.

    Raises: NewerFormat, Unwritable, InUse, Corruption, Full, IOFailed.
    """
    files = directory / ROCKS_DIRECTORY
    version = data_format.prepare(directory, data=files / "CURRENT")
    try:
        if not files.exists():
            files.mkdir(mode=0o700)
            sync_directory(directory)
        elif files.stat().st_mode & 0o077:  # created by an earlier release, readable by all users
            files.chmod(0o700)
        if not (files / "CURRENT").exists():
            begin(directory)
            sync_directory(directory)
        check_recorded(directory)
        if lost := unrecoverable(directory):
            raise damaged_log(directory, lost)
        replayed = sum(each.stat().st_size for each in files.glob("*.log"))
        db = opened(files, options(cache_bytes, keep_log=keep_log))
        if not keep_log and (files / ARCHIVE_DIRECTORY).is_dir():
            for each in (files / ARCHIVE_DIRECTORY).iterdir():
                each.unlink()
    except OSError as error:
        raise data_format.unwritable(files, error) from error
    except Exception as error:
        if _is_locked(str(error)):
            raise _in_use(directory) from error
        if "Permission denied" in str(error):
            raise data_format.unwritable(files, PermissionError(errno.EACCES, str(error))) from error
        raise translated(error) from error
    try:
        if not data_format.is_recorded(directory):
            if not is_recorded(directory):
                begin(directory, db.latest_sequence_number())
            data_format.write(directory, version)
        if version < data_format.FORMAT_VERSION:
            upgrade(directory, db, version)
            _log.warning(
                "%s was rewritten from format %d to %d", directory, version, data_format.FORMAT_VERSION
            )
        _log.info("opened %s; %d bytes of its log were read again", directory, replayed)
        (directory / OWNER_FILE).write_text(f"{os.getpid()}\n")
    except OSError as error:
        db.close()
        raise data_format.unwritable(directory, error) from error
    except Exception as error:
        db.close()
        raise translated(error) from error
    return db


def is_record_missing(directory: Path) -> bool:
    """Whether a store has no sync record although one belongs to it. Raises OSError."""
    has_data = (directory / ROCKS_DIRECTORY / "CURRENT").exists()
    return has_data and data_format.is_recorded(directory) and not is_recorded(directory)


def check_recorded(directory: Path) -> None:
    """Raises Corruption when the sync record is missing; OSError."""
    if is_record_missing(directory):
        raise Corruption(
            f"{directory / SYNC_RECORD_FILE} is missing or damaged, so nothing says whether the write-ahead "
            "log is complete. Nothing was changed. Restore it from a copy, or run `faradisc check --recover` "
            "on the directory to go on with what is there."
        )


def unrecoverable(directory: Path) -> LostCommits | None:
    """Returns the acknowledged commits that a start would not recover, or None. Changes nothing.

    The log is replayed for this in RocksDB's read-only mode, and then once more when the store is opened: a
    read-write open that ends at a damaged byte deletes what lies behind it. After a regular stop the log is
    empty, and both cost little.

    Raises: OSError.
    """
    files = directory / ROCKS_DIRECTORY
    known = lost_commits(directory, 0)  # read before the log: another process may commit meanwhile
    if not (files / "CURRENT").exists() or known is None:
        return None
    tuning = options()
    tuning.create_if_missing(False)
    try:
        db = opened(files, tuning, AccessType.read_only())
        recovered = db.latest_sequence_number()
        db.close()
    except Exception:
        return None  # the files are another process's, or damaged otherwise: opening them says which
    return lost_commits(directory, recovered) if known.acknowledged.sequence > recovered else None


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
    """Returns the size of the write-ahead logs of the store in `directory`. Raises: OSError."""
    return sum(file.stat().st_size for file in (directory / ROCKS_DIRECTORY).glob("*.log"))


def _is_locked(text: str) -> bool:
    """Returns whether RocksDB reports a held LOCK: by this process, by another one, by another one on
    Windows."""
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
    """Returns the error of storage/api.py for an error of RocksDB. Raises any other exception again.

    The binding raises bare Exceptions; only the text (RocksDB's Status::ToString, with a fixed prefix per
    kind) distinguishes them. No other code reads it.
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
