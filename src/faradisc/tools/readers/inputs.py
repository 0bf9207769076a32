"""Finds the input of an import in a path: an export of the service with manifests, or files of items.

An export is found by its manifest-summary.json; its checksums and counts are verified before it is used. The
format of other files is recognised by their content; that of CSV and of compressed files is in their names:
.json, .jsonl, .ion, .csv, with .gz or .zst after it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from faradisc.engine.exchange.object_reader import InputFormat
from faradisc.engine.formats.compression import InputDamaged, pieces
from faradisc.engine.formats.manifests import FILES, SUMMARY, CheckedFile, DataFile, data_files, read_checked
from faradisc.engine.objects.directory import DirectoryStorage
from faradisc.records import dataclass
from faradisc.storage.immediate import run
from faradisc.tools.readers.recognising import InputKind, kind_of_file

ITEMS = "ITEMS"
"""The format of what `readers.items` reads, beside those of ImportTable."""
_DOCUMENTS = frozenset({InputKind.ITEMS, InputKind.ITEM_LINES, InputKind.BATCH, InputKind.WORKBENCH})
_BY_KIND = {InputKind.EXPORT_LINES: "DYNAMODB_JSON", InputKind.ION: "ION"} | dict.fromkeys(_DOCUMENTS, ITEMS)
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


class NoInput(Exception):
    """A path has no input for an import; the text is one sentence."""


@dataclass(frozen=True, slots=True)
class InputFile:
    path: Path
    md5: str | None = None
    """Base64, if a manifest has it."""


@dataclass(frozen=True, slots=True)
class Input:
    files: list[InputFile]
    source: InputFormat
    changes: bool = False
    """The lines are changes of an incremental export."""
    export: Path | None = None
    """Directory of the manifests of an export."""

    @property
    def is_documents(self) -> bool:
        """Whether `readers.items` reads the files, and not ImportTable."""
        return self.source.format == ITEMS

    @property
    def size_bytes(self) -> int:
        return sum(each.path.stat().st_size for each in self.files)

    def verify(self) -> None:
        """Reads every file to its end. Raises InputDamaged with the name of a damaged file."""
        for each in self.files:
            try:
                with each.path.open("rb") as file:
                    checked: Any = CheckedFile(file, each.md5) if each.md5 is not None else file
                    for _ in pieces(checked, self.source.compression):
                        pass
            except InputDamaged as damage:
                raise InputDamaged(f"{each.path}: {damage}") from None


def find_input(
    path: Path,
    *,
    format_: str | None = None,
    compression: str | None = None,
    delimiter: str | None = None,
    headers: tuple[str, ...] | None = None,
) -> Input:
    """Returns the input in a path. `format_` and `compression` override the names of files.

    Raises NoInput, InputDamaged.
    """
    if path.is_dir():
        exports = sorted(found.parent for found in path.rglob(SUMMARY))
        if len(exports) > 1:
            names = ", ".join(str(each) for each in exports[:5])
            raise NoInput(f"{path} contains {len(exports)} exports; choose one of them: {names}.")
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
        raise NoInput(f"{path} contains no file with content.")
    kinds = {
        (format_ or _format_of(each), compression or _compression_of(each))
        if format_ or each.suffix in _COMPRESSIONS
        else _recognised(each, compression)
        for each in paths
    }
    if len(kinds) > 1:
        raise NoInput(f"{path} contains files of several formats; choose one file, or use --format.")
    ((found_format, found_compression),) = kinds
    if found_format is None:
        raise NoInput(f"The format of {paths[0]} is unknown; use --format.")
    tabs = all(".tsv" in each.suffixes for each in paths)
    source = InputFormat(found_format, found_compression, delimiter or ("\t" if tabs else ","), headers)
    return Input([InputFile(each) for each in paths], source)


def _recognised(path: Path, compression: str | None) -> tuple[str | None, str]:
    """Returns format and compression by the content, or else by the name. Raises NoInput for another kind."""
    kind = kind_of_file(path)
    named = _format_of(path)
    if kind in _BY_KIND and named != "CSV":
        return _BY_KIND[kind], compression or "NONE"
    if kind is InputKind.COMPRESSED:
        with path.open("rb") as file:
            magic = file.read(2)
        return named, compression or ("GZIP" if magic == b"\x1f\x8b" else "ZSTD")
    if kind is not None and named != "CSV":
        raise NoInput(f"{path} is {kind.title}: {kind.use}.")
    return named, compression or "NONE"


def _compression_of(path: Path) -> str:
    return _COMPRESSIONS.get(path.suffix, "NONE")


def _format_of(path: Path) -> str | None:
    suffixes = path.suffixes[:-1] if path.suffix in _COMPRESSIONS else path.suffixes
    return _FORMATS.get(suffixes[-1]) if suffixes else None


def _export(directory: Path) -> Input:
    storage = DirectoryStorage(directory.parent)
    summary_text = run(read_checked(storage, directory.name, SUMMARY))
    files_text = run(read_checked(storage, directory.name, FILES))
    if files_text is None:
        raise InputDamaged(f"{directory / FILES} is missing")
    try:
        summary = orjson.loads(summary_text or b"")
        counted, format_ = int(summary["itemCount"]), str(summary["outputFormat"])
        changes = summary.get("exportType") == "INCREMENTAL_EXPORT"
    except (ValueError, KeyError, TypeError) as error:
        raise InputDamaged(f"{directory / SUMMARY} is not the summary of an export: {error}") from None
    if format_ not in ("DYNAMODB_JSON", "ION"):
        raise InputDamaged(f"{directory / SUMMARY} has the unknown format {format_}")
    listed = data_files(files_text, str(directory / FILES))
    if sum(each.items for each in listed) != counted:
        raise InputDamaged(f"{directory / SUMMARY} and {FILES} have different item counts")
    files = [InputFile(_located(directory, each), each.md5) for each in listed if each.items]
    return Input(files, InputFormat(format_, "GZIP"), changes, directory)


def _located(directory: Path, listed: DataFile) -> Path:
    """Returns the path of a data file beside the manifests or their directory. Raises InputDamaged."""
    name = Path(listed.key).name
    for folder in (directory / "data", directory.parent / "data"):
        if (folder / name).is_file():
            return folder / name
    raise InputDamaged(f"{directory / 'data' / name} is missing")
