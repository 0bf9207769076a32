"""Reads a seed directory, or one file of definitions.

    *.json, *.yaml, *.yml, *.template, *.tf, *.tf.json    definitions of tables: readers/definitions.py
    items/TABLE.json, .jsonl, .ndjson, .csv, .ion         the items of one table, also .gz and .zst
    items/TABLE/                                          an export of the service

Other files and directories are ignored; another .json or .yaml file is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from faradisc.tools.readers.definitions import DefinitionReader, read_definitions
from faradisc.tools.readers.items import SUFFIXES as ITEM_SUFFIXES
from faradisc.tools.readers.items import table_of_name
from faradisc.tools.readers.seed import ItemFile, LocatedError, Location, Seed
from faradisc.tools.readers.terraform_resources import attach_others

ITEMS_DIRECTORY = "items"


def read_seed(directory: Path, parameters: Mapping[str, str] | None = None) -> Seed:
    """Reads the definitions of a directory and finds its files of items. The result contains all errors.

    directory: may be one file of definitions. parameters: of CloudFormation, serverless.yml and Terraform.
    """
    if directory.is_file():
        seed = read_definitions(directory, parameters)
        _check(seed)
        return seed
    seed = Seed()
    if not directory.is_dir():
        seed.errors.append(LocatedError(Location(str(directory), 1), "the directory does not exist."))
        return seed
    reader = DefinitionReader(directory, parameters or {})
    found = {path: reader.read(path) for path in _entries(seed, directory, directory) if path.is_file()}
    for path, definitions in found.items():
        if path.resolve() not in reader.stacks.paths - reader.stacks.circular:
            seed.add(definitions)
    attach_others(seed)
    _find_items(seed, directory)
    _check(seed)
    return seed


def _entries(seed: Seed, folder: Path, root: Path) -> list[Path]:
    """Returns the entries of a folder, sorted. A symbolic link that leads out of the root is an error."""
    entries = []
    for path in sorted(folder.iterdir()):
        if path.resolve().is_relative_to(root.resolve()):
            entries.append(path)
        else:
            text = f"the symbolic link leads out of {root}; put the file itself here."
            seed.errors.append(LocatedError(Location(path.relative_to(root).as_posix(), 1), text))
    return entries


def _find_items(seed: Seed, directory: Path) -> None:
    folder = directory / ITEMS_DIRECTORY
    if not folder.is_dir():
        return
    for path in _entries(seed, folder, directory):
        name = f"{ITEMS_DIRECTORY}/{path.name}"
        table = path.name if path.is_dir() else table_of_name(path.name)
        if table is not None:
            seed.files.append(ItemFile(path, name, table))
        elif path.is_file() and not path.name.startswith("."):
            text = f"items are read from {', '.join(ITEM_SUFFIXES)}, also with .gz or .zst."
            seed.errors.append(LocatedError(Location(name, 1), text))


def _check(seed: Seed) -> None:
    """Adds errors for tables that are defined twice or have two files of items."""
    locations: dict[str, Location] = {}
    for table in seed.tables:
        if table.name in locations:
            text = f"the table {table.name} is already defined in {locations[table.name]}."
            seed.errors.append(LocatedError(table.location, text))
        locations.setdefault(table.name, table.location)
    files: dict[str, str] = {}
    for file in seed.files:
        if file.table_name in files:
            text = f"the items of {file.table_name} are already in {files[file.table_name]}."
            seed.errors.append(LocatedError(Location(file.name, 1), text))
        files.setdefault(file.table_name, file.name)
