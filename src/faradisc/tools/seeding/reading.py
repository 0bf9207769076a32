"""Reads a seed directory.

    *.json                       a CreateTable request, a list of them, an answer of DescribeTable,
                                 a CloudFormation template, or the output of `terraform show -json`
    *.yaml, *.yml, *.template    a CloudFormation template
    *.tf, *.tf.json              a Terraform configuration with literal values
    items/TABLE.json, .jsonl, .ndjson, .csv      the items of one table

Other files and directories are ignored; another .json or .yaml file is an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from faradisc.tools.seeding import cloudformation, terraform
from faradisc.tools.seeding.create_table import from_description, from_request
from faradisc.tools.seeding.items import SUFFIXES as ITEM_SUFFIXES
from faradisc.tools.seeding.seed import (
    ItemFile,
    LocatedError,
    Location,
    Seed,
    SeedError,
    line_of,
    parsed_json,
)

ITEMS_DIRECTORY = "items"
_YAML = (".yaml", ".yml", ".template")


def read_seed(directory: Path, parameters: Mapping[str, str] | None = None) -> Seed:
    """Reads the definitions of a directory and finds its files of items. The result contains all errors.

    parameters: values of the parameters of CloudFormation templates.
    """
    seed = Seed()
    if not directory.is_dir():
        seed.errors.append(LocatedError(Location(str(directory), 1), "the directory does not exist."))
        return seed
    for path in _entries(seed, directory, directory):
        if path.is_file():
            _Definitions(seed, parameters or {}).read(path)
    _find_items(seed, directory)
    _check(seed)
    return seed


def read_definitions(path: Path, parameters: Mapping[str, str] | None = None) -> Seed:
    """Reads one file of definitions. The result contains all errors."""
    seed = Seed()
    _Definitions(seed, parameters or {}).read(path)
    _check(seed)
    return seed


class _Definitions:
    """Reads the definitions of one file into a seed."""

    def __init__(self, seed: Seed, parameters: Mapping[str, str]) -> None:
        self._seed = seed
        self._parameters = parameters

    def read(self, path: Path) -> None:
        name = path.name
        try:
            if name.endswith((".tf", ".tf.json")):
                self._seed.add(terraform.read_configuration(_text_of(path), name))
            elif path.suffix == ".json":
                self._read_json(_text_of(path), name)
            elif path.suffix in _YAML:
                self._read_yaml(_text_of(path), name)
        except SeedError as error:
            self._seed.errors.append(LocatedError(Location(name, error.line or 1), error.text))
        except RecursionError:
            self._seed.errors.append(LocatedError(Location(name, 1), "it is nested too deeply."))

    def _read_json(self, text: str, name: str) -> None:
        document = parsed_json(text)
        if cloudformation.is_template(document):
            self._read_template(document, lambda resource: Location(name, _line_of_member(text, resource)))
        elif terraform.is_shown(document):
            self._seed.add(terraform.read_shown(document, text, name))
        else:
            for each in document if isinstance(document, list) else [document]:
                self._read_request(each, text, name)

    def _read_request(self, request: Any, text: str, name: str) -> None:
        if isinstance(request, dict) and isinstance(request.get("Table"), dict):
            description = request["Table"]
            location = Location(name, _line_of_table(text, description.get("TableName")))
            make: Callable[..., Any] = from_description
            request = description
        elif isinstance(request, dict) and "KeySchema" in request:
            location = Location(name, _line_of_table(text, request.get("TableName")))
            make = from_request
        else:
            raise SeedError(
                "not a CreateTable request, an answer of DescribeTable, a CloudFormation template or the "
                f"output of `terraform show -json`; items belong into {ITEMS_DIRECTORY}/."
            )
        try:
            self._seed.tables.append(make(request, location))
        except SeedError as error:
            self._seed.errors.append(LocatedError(location, error.text))

    def _read_yaml(self, text: str, name: str) -> None:
        from faradisc.tools.seeding.yaml_reading import parse  # noqa: PLC0415 - slow to import

        document, lines = parse(text)
        if not cloudformation.is_template(document):
            raise SeedError("not a CloudFormation template: it has no Resources.", 1)
        self._read_template(document, lambda resource: Location(name, lines.get(resource, 1)))

    def _read_template(self, document: Mapping[str, Any], location_of: Callable[[str], Location]) -> None:
        tables, errors = cloudformation.tables_of(document, location_of, self._parameters)
        self._seed.tables += tables
        self._seed.errors += errors


def _text_of(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SeedError(f"the file is not UTF-8: {error.reason} at byte {error.start}") from error
    except OSError as error:
        raise SeedError(f"the file cannot be read: {error.strerror}") from error


def _line_of_member(text: str, name: str) -> int:
    return line_of(text, rf"{re.escape(json.dumps(name))}\s*:") if name else 1


def _line_of_table(text: str, name: Any) -> int:
    return line_of(text, rf'"TableName"\s*:\s*{re.escape(json.dumps(name))}')


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
        if path.suffix in ITEM_SUFFIXES:
            seed.files.append(ItemFile(path, name, path.name.removesuffix(path.suffix)))
        elif path.is_file() and not path.name.startswith("."):
            text = f"items are read from {', '.join(ITEM_SUFFIXES)}."
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
