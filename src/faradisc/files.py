"""Files that survive a power cut: written as a whole or not at all. Every function raises OSError."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any


def sync_file(file: IO[Any]) -> None:
    """Returns when what was written to a file is on disk."""
    file.flush()
    os.fsync(file.fileno())


def replace_file(path: Path, content: bytes) -> None:
    """Writes a file beside `path` and gives it that name: there is the old content or the new, on disk."""
    draft = path.with_name(f"{path.name}.new")
    with draft.open("wb") as file:
        file.write(content)
        sync_file(file)
    os.replace(draft, path)
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Makes renames and new files in `directory` survive a power cut."""
    if os.name == "nt":  # directories cannot be opened there; NTFS journals the rename itself
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
