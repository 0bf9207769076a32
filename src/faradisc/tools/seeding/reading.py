"""Which file of a seed's directory is what.

    *.json                       a request of CreateTable, a list of them, an answer of DescribeTable, or a
                                 CloudFormation template
    *.yaml, *.yml, *.template    a CloudFormation template
    *.tf, *.tf.json              Terraform; all of them together are one configuration
    items/TABLE.json, .jsonl, .ndjson, .csv      the items of one table

Other files and directories are left alone; a .json or .yaml that is none of these is a fault.
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
from faradisc.tools.seeding.plan import Fault, ItemFile, Place, Seed, SeedError

ITEMS_DIRECTORY = "items"
_YAML = (".yaml", ".yml", ".template")


def read_seed(directory: Path, parameters: Mapping[str, str] | None = None) -> Seed:
    """What a directory asks for. Items are not read yet; definitions are, and their faults are in the answer.

    parameters: values of a template's parameters and of Terraform's variables.
    """
    seed = Seed()
    if not directory.is_dir():
        seed.faults.append(Fault(Place(str(directory), 1), "there is no such directory."))
        return seed
    configuration = terraform.Configuration(parameters or {})
    for path in _entries(seed, directory, directory):
        if path.is_file():
            _Definitions(seed, configuration, parameters or {}).read(path)
    tables, items, faults = configuration.read()
    seed.tables += tables
    seed.items += items
    seed.faults += faults
    _find_items(seed, directory)
    _check(seed)
    return seed


class _Definitions:
    """Reads the definitions of one file into a seed."""

    def __init__(
        self, seed: Seed, configuration: terraform.Configuration, parameters: Mapping[str, str]
    ) -> None:
        self._seed = seed
        self._configuration = configuration
        self._parameters = parameters

    def read(self, path: Path) -> None:
        name = path.name
        try:
            if name.endswith((".tf", ".tf.json")):
                text = _text_of(path)
                self._configuration.add(terraform.parse(text, name), text, name)
            elif path.suffix == ".json":
                self._read_json(_text_of(path), name)
            elif path.suffix in _YAML:
                self._read_yaml(_text_of(path), name)
        except SeedError as error:
            self._seed.faults.append(Fault(Place(name, error.line or 1), error.text))
        except RecursionError:
            self._seed.faults.append(Fault(Place(name, 1), "it is nested too deeply."))

    def _read_json(self, text: str, name: str) -> None:
        try:
            document = json.loads(text)
        except ValueError as error:
            raise SeedError(f"no JSON: {error}", getattr(error, "lineno", 1)) from error
        if cloudformation.is_template(document):
            self._read_template(document, lambda resource: Place(name, _line_of_member(text, resource)))
            return
        for each in document if isinstance(document, list) else [document]:
            self._read_request(each, text, name)

    def _read_request(self, request: Any, text: str, name: str) -> None:
        if isinstance(request, dict) and isinstance(request.get("Table"), dict):
            description = request["Table"]
            place = Place(name, _line_of_value(text, description.get("TableName")))
            make: Callable[..., Any] = from_description
            request = description
        elif isinstance(request, dict) and "KeySchema" in request:
            place = Place(name, _line_of_value(text, request.get("TableName")))
            make = from_request
        else:
            raise SeedError(
                "neither a request of CreateTable, nor an answer of DescribeTable, nor a template; items "
                f"belong into {ITEMS_DIRECTORY}/."
            )
        try:
            self._seed.tables.append(make(request, place))
        except SeedError as error:
            self._seed.faults.append(Fault(place, error.text))

    def _read_yaml(self, text: str, name: str) -> None:
        from faradisc.tools.seeding.yaml_reading import parse  # noqa: PLC0415 - slow to import

        document, lines = parse(text)
        if not cloudformation.is_template(document):
            raise SeedError("no CloudFormation template: it has no Resources.", 1)
        self._read_template(document, lambda resource: Place(name, lines.get(resource, 1)))

    def _read_template(self, document: Mapping[str, Any], place_of: Callable[[str], Place]) -> None:
        tables, faults = cloudformation.tables_of(document, place_of, self._parameters)
        self._seed.tables += tables
        self._seed.faults += faults


def _text_of(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SeedError(f"the file is no UTF-8: {error.reason} at byte {error.start}") from error
    except OSError as error:
        raise SeedError(f"the file cannot be read: {error.strerror}") from error


def _line_of_member(text: str, name: str) -> int:
    found = re.search(rf"{re.escape(json.dumps(name))}\s*:", text) if name else None
    return text.count("\n", 0, found.start()) + 1 if found is not None else 1


def _line_of_value(text: str, value: Any) -> int:
    found = re.search(rf'"TableName"\s*:\s*{re.escape(json.dumps(value))}', text)
    return text.count("\n", 0, found.start()) + 1 if found is not None else 1


def _entries(seed: Seed, folder: Path, root: Path) -> list[Path]:
    """Returns what is in a folder, sorted. A symbolic link that leads out of the root is reported."""
    entries = []
    for path in sorted(folder.iterdir()):
        if path.resolve().is_relative_to(root.resolve()):
            entries.append(path)
        else:
            text = f"the symbolic link leads out of {root}; put the file itself here."
            seed.faults.append(Fault(Place(path.relative_to(root).as_posix(), 1), text))
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
            seed.faults.append(Fault(Place(name, 1), text))


def _check(seed: Seed) -> None:
    """Names that are given twice, and tables that have two files of items."""
    places: dict[str, Place] = {}
    for table in seed.tables:
        if table.name in places:
            seed.faults.append(
                Fault(table.place, f"the table {table.name} is defined already, in {places[table.name]}.")
            )
        places.setdefault(table.name, table.place)
    files: dict[str, str] = {}
    for file in seed.files:
        if file.table_name in files:
            text = f"the items of {file.table_name} are in {files[file.table_name]} already."
            seed.faults.append(Fault(Place(file.name, 1), text))
        files.setdefault(file.table_name, file.name)
