"""What a path holds: an export of the service, with manifests, or files of items.

An export is found by its manifest-summary.json and held against all its checksums and counts before anything
is made of it. Other files are told apart by their names: .json, .jsonl, .ion, .csv, and .gz or .zst behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from faradisc.engine.exchange.compression import Damaged, pieces
from faradisc.engine.exchange.manifests import FILES, SUMMARY, CheckedFile, DataFile, data_files, read_checked
from faradisc.engine.exchange.object_storage import DirectoryStorage
from faradisc.engine.exchange.reading import Source
from faradisc.storage.immediate import run

_FORMATS = {
    ".json": "DYNAMODB_JSON",
    ".jsonl": "DYNAMODB_JSON",
    ".ndjson": "DYNAMODB_JSON",
    ".ion": "ION",
    ".10n": "ION",
    ".csv": "CSV",
    ".tsv": "CSV",
}
_COMPRESSIONS = {".gz": "GZIP", ".zst": "ZSTD"}


class NothingThere(Exception):
    """A path that holds nothing to import; the text is one sentence."""


@dataclass(frozen=True, slots=True)
class InputFile:
    path: Path
    md5: str | None = None
    """Base64, where a manifest says it."""


@dataclass(frozen=True, slots=True)
class Input:
    files: list[InputFile]
    source: Source
    changes: bool = False
    """Of an incremental export: lines are changes, not items."""
    export: Path | None = None
    """Directory of the export's manifests."""

    @property
    def size_bytes(self) -> int:
        return sum(each.path.stat().st_size for each in self.files)

    def verify(self) -> None:
        """Read every file to its end. Raises: Damaged, naming the file."""
        for each in self.files:
            try:
                with each.path.open("rb") as file:
                    summed: Any = CheckedFile(file, each.md5) if each.md5 is not None else file
                    for _ in pieces(summed, self.source.compression):
                        pass
            except Damaged as damage:
                raise Damaged(f"{each.path}: {damage}") from None


def look(
    path: Path,
    *,
    format_: str | None = None,
    compression: str | None = None,
    delimiter: str | None = None,
    headers: tuple[str, ...] | None = None,
) -> Input:
    """What a path holds. `format_` and `compression` overrule the names of files.

    Raises: NothingThere, Damaged.
    """
    if path.is_dir():
        exports = sorted(found.parent for found in path.rglob(SUMMARY))
        if len(exports) > 1:
            names = ", ".join(str(each) for each in exports[:5])
            raise NothingThere(f"{path} holds {len(exports)} exports; name one of them: {names}.")
        if exports:
            return _export(exports[0])
        paths = sorted(
            each
            for each in path.rglob("*")
            if each.is_file() and not each.name.startswith((".", "_")) and each.stat().st_size
        )
    else:
        paths = [path] if path.is_file() else []
    if not paths:
        raise NothingThere(f"{path} holds no file with content.")
    kinds = {(format_ or _format_of(each), compression or _compression_of(each)) for each in paths}
    if len(kinds) > 1:
        raise NothingThere(f"{path} holds files of several formats; say which with --format, or name one.")
    ((chosen, packed),) = kinds
    if chosen is None:
        raise NothingThere(f"The format of {paths[0]} is not known; say it with --format.")
    tabs = all(".tsv" in each.suffixes for each in paths)
    source = Source(chosen, packed, delimiter or ("\t" if tabs else ","), headers)
    return Input([InputFile(each) for each in paths], source)


def _compression_of(path: Path) -> str:
    return _COMPRESSIONS.get(path.suffix, "NONE")


def _format_of(path: Path) -> str | None:
    suffixes = path.suffixes[:-1] if path.suffix in _COMPRESSIONS else path.suffixes
    return _FORMATS.get(suffixes[-1]) if suffixes else None


def _export(directory: Path) -> Input:
    buckets = DirectoryStorage(directory.parent)
    summary_text = run(read_checked(buckets, directory.name, SUMMARY))
    files_text = run(read_checked(buckets, directory.name, FILES))
    if files_text is None:
        raise Damaged(f"{directory / FILES} is missing")
    try:
        summary = orjson.loads(summary_text or b"")
        counted, format_ = int(summary["itemCount"]), str(summary["outputFormat"])
        changes = summary.get("exportType") == "INCREMENTAL_EXPORT"
    except (ValueError, KeyError, TypeError) as error:
        raise Damaged(f"{directory / SUMMARY} is no summary of an export: {error}") from None
    if format_ not in ("DYNAMODB_JSON", "ION"):
        raise Damaged(f"{directory / SUMMARY} names an unknown format, {format_}")
    listed = data_files(files_text, str(directory / FILES))
    if sum(each.items for each in listed) != counted:
        raise Damaged(f"{directory / SUMMARY} and {FILES} do not count the same items")
    files = [InputFile(_located(directory, each), each.md5) for each in listed if each.items]
    return Input(files, Source(format_, "GZIP"), changes, directory)


def _located(directory: Path, listed: DataFile) -> Path:
    """A data file lies beside the manifests, or beside their directory. Raises: Damaged."""
    name = Path(listed.key).name
    for place in (directory / "data", directory.parent / "data"):
        if (place / name).is_file():
            return place / name
    raise Damaged(f"{directory / 'data' / name} is missing")
