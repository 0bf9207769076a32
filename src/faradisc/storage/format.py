"""The FORMAT file: the format version of a data directory.

A line of text, `faradisc storage format <version>`, read before anything else in the directory, and a second
one, `with sync record`: a start without such a record fails (sync_record.py). Directories of earlier releases
lack it until they are opened for writing. The file is written through a temporary file, fsync and rename, so
it exists complete or not at all.

Each change of anything on disk takes the next number and a paragraph here and in docs/formats/storage.md; a
release opens every earlier format and rejects a later one.

    1   Rows, logs and part states in one RocksDB keyspace (docs/formats/storage.md).
    2   More kinds of rows: histories of tables, whose parts' names have a day, and more parts of the
        system's own; more members in the catalog's rows; streams list their shards. What format 1 has is
        read as it is.

upgrade.py converts a directory from one format to the next.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from faradisc.files import replace_file, sync_directory
from faradisc.storage.api import Corruption, Full, IOFailed, NewerFormat, Unwritable

FORMAT_VERSION = 2
FORMAT_FILE = "FORMAT"
_MAGIC = "faradisc storage format "
_RECORDED = "with sync record\n"


def prepare(directory: Path, *, data: Path) -> int:
    """Creates `directory` and its FORMAT file where missing. Returns the version found or written.

    data: a file that the engine creates first; where it exists, a missing FORMAT file means damage.
    Raises: NewerFormat, Corruption, Unwritable, Full, IOFailed.
    """
    try:
        _create(directory)
        if not os.access(directory, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
            if hasattr(os, "statvfs") and os.statvfs(directory).f_flag & os.ST_RDONLY:
                raise OSError(errno.EROFS, "Read-only file system", str(directory))
            raise PermissionError(errno.EACCES, "Permission denied", str(directory))
        version = _read(directory)
        if version is None:
            if data.exists():
                raise Corruption(
                    f"{directory} holds data but no {FORMAT_FILE} file; restore it from a backup."
                )
            version = FORMAT_VERSION
            write(directory, version)
    except OSError as error:
        raise unwritable(directory, error) from error
    return _known(directory, version)


def found(directory: Path) -> int:
    """Returns the version of an existing data directory. Writes nothing.

    Raises: NewerFormat, Corruption, IOFailed.
    """
    try:
        version = _read(directory)
    except OSError as error:
        raise IOFailed(f"The data directory {directory} cannot be read: {error}") from error
    if version is None:
        raise Corruption(f"{directory} is no data directory: it has no {FORMAT_FILE} file.")
    return _known(directory, version)


def _known(directory: Path, version: int) -> int:
    if version > FORMAT_VERSION:
        raise NewerFormat(
            f"The data in {directory} has storage format {version}; this release knows formats up to "
            f"{FORMAT_VERSION}. Open it with the release that wrote it, or a later one."
        )
    return version


def _create(directory: Path) -> None:
    """Makes `directory` and its parents where missing, all of them on disk. Only this user may enter it."""
    missing = [each for each in (directory, *directory.parents) if not each.exists()]
    directory.parent.mkdir(parents=True, exist_ok=True)
    directory.mkdir(mode=0o700, exist_ok=True)
    for each in missing:
        sync_directory(each.parent)


def _read(directory: Path) -> int | None:
    try:
        text = (directory / FORMAT_FILE).read_bytes()
    except FileNotFoundError:
        return None
    line = text.decode("ascii", "replace")
    number = line.removeprefix(_MAGIC).removesuffix(_RECORDED).removesuffix("\n")
    if not line.startswith(_MAGIC) or not number.isdecimal() or int(number) < 1:
        raise Corruption(f"{directory / FORMAT_FILE} is not a {FORMAT_FILE} file of a data directory.")
    return int(number)


def is_recorded(directory: Path) -> bool:
    """Whether a sync record belongs to a data directory. Raises OSError."""
    return (directory / FORMAT_FILE).read_bytes().endswith(_RECORDED.encode())


def write(directory: Path, version: int) -> None:
    """Writes the FORMAT file atomically; a sync record must be there. Raises OSError."""
    replace_file(directory / FORMAT_FILE, f"{_MAGIC}{version}\n{_RECORDED}".encode("ascii"))


def unwritable(directory: Path, error: OSError) -> Unwritable | Full | IOFailed:
    """Returns an error that says why `directory` cannot be used, who owns it, and what to do."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Full(f"No space left for the data directory {directory}.")
    if error.errno == errno.EROFS:
        return Unwritable(
            f"The data directory {directory} is on a read-only file system; choose another one."
        )
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return Unwritable(f"The data directory {directory} cannot be created: a file is in the way.")
    if not isinstance(error, PermissionError):  # the class, as the storage binding leaves errno out
        return IOFailed(f"The data directory {directory} cannot be used: {error}")
    blocker = next(each for each in (directory, *directory.parents) if _can_see(each))
    runner = _user(os.geteuid() if hasattr(os, "geteuid") else None)
    return Unwritable(
        f"The data directory {directory} cannot be written: {blocker} belongs to {_owner(blocker)} and this "
        f"process runs as {runner}. Change the owner, run as that user, or choose another directory."
    )


def _can_see(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _owner(path: Path) -> str:
    try:
        return _user(path.stat().st_uid)
    except OSError:
        return "another user"


def _user(uid: int | None) -> str:
    if uid is None:
        return "the current user"
    try:
        import pwd  # noqa: PLC0415 - not on every platform

        return f"user {pwd.getpwuid(uid).pw_name}"
    except (ImportError, KeyError):
        return f"user id {uid}"
