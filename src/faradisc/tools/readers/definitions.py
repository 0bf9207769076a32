"""Reads one file of definitions of tables, of any kind, into a Seed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from faradisc.tools.readers import cloudformation, serverless, terraform, terraform_resources, workbench
from faradisc.tools.readers.batches import read_batches
from faradisc.tools.readers.create_table import from_description, from_request
from faradisc.tools.readers.recognising import InputKind, kind_of_bytes, kind_of_document
from faradisc.tools.readers.seed import LocatedError, Location, Seed, SeedError, line_of, parsed_json
from faradisc.tools.readers.stacks import NestedStacks

YAML = (".yaml", ".yml", ".template")
TERRAFORM = (".tf", ".tf.json")
_EXPECTED = (
    "not a CreateTable request, an answer of DescribeTable, a CloudFormation template, a serverless.yml, a "
    "NoSQL Workbench model, a BatchWriteItem request or the output of `terraform show -json`"
)


class DefinitionReader:
    """Reads the files of one directory; templates can be nested in one another."""

    def __init__(self, directory: Path, parameters: Mapping[str, str]) -> None:
        """parameters: of CloudFormation, serverless.yml and Terraform."""
        self._directory = directory
        self._parameters = parameters
        self._scope = terraform.Scope(directory, parameters)
        self.stacks = NestedStacks(directory, self._nested)

    def read(self, path: Path) -> Seed:
        """Returns the content of a file with its errors; nothing for a file that has no definitions."""
        return self._read(path, self._parameters, 0)

    def _nested(self, path: Path, parameters: Mapping[str, str], depth: int) -> Seed:
        return self._read(path, parameters, depth)

    def _read(self, path: Path, parameters: Mapping[str, str], depth: int) -> Seed:
        beside = path.is_relative_to(self._directory)
        root = self._directory if beside else self._directory.resolve()
        name = path.relative_to(root).as_posix()
        try:
            if path.name.endswith(TERRAFORM):
                return terraform.read_configuration(text_of(path), name, self._scope)
            if path.suffix == ".json" or path.suffix in YAML:
                return self._document(path, name, parameters, depth)
        except SeedError as error:
            return Seed(errors=[LocatedError(Location(name, error.line or 1), error.text)])
        except RecursionError:
            return Seed(errors=[LocatedError(Location(name, 1), "it is nested too deeply.")])
        return Seed()

    def _document(self, path: Path, name: str, parameters: Mapping[str, str], depth: int) -> Seed:
        text = text_of(path)
        lines: dict[str, int] = {}
        if path.suffix == ".json" or (path.suffix == ".template" and text.lstrip().startswith("{")):
            document = parsed_json(text)
            line_of_resource: Callable[[str], int] = lambda each: _line_of_member(text, each)  # noqa: E731
        else:
            from faradisc.tools.readers.yaml_reading import parse  # noqa: PLC0415 - slow to import

            document, lines = parse(text)
            line_of_resource = lambda each: lines.get(each, 1)  # noqa: E731
        kind = kind_of_document(document)
        if kind is InputKind.SERVERLESS:
            document = serverless.template_of(document, parameters, lambda file: self._included(path, file))
            kind = InputKind.CLOUDFORMATION
        match kind:
            case InputKind.CLOUDFORMATION:
                return cloudformation.read_template(
                    document,
                    lambda resource: Location(name, line_of_resource(resource)),
                    parameters,
                    self.stacks.of(path, depth),
                )
            case InputKind.TERRAFORM_SHOWN:
                return terraform.read_shown(document, text, name)
            case InputKind.WORKBENCH:
                return workbench.read_model(document, text, name)
            case InputKind.BATCH:
                return read_batches(document, text, name)
            case InputKind.TABLES:
                return _tables(document, text, name)
        if kind is None:
            if path.suffix in YAML:
                raise SeedError("not a CloudFormation template: it has no Resources.")
            raise SeedError(f"{_EXPECTED}; items belong into items/TABLE.json.")
        if kind is InputKind.ITEMS:
            raise SeedError("a list of items does not say whose they are; it belongs into items/TABLE.json.")
        raise SeedError(f"this is {kind.title}: {kind.use}.")

    def _included(self, path: Path, file: str) -> Any:
        """Returns the document of a file that a serverless.yml includes."""
        from faradisc.tools.readers.yaml_reading import parse  # noqa: PLC0415 - slow to import

        included = (path.parent / file).resolve()
        if not included.is_relative_to(self._directory.resolve()) or not included.is_file():
            raise SeedError(f"the file {file} is not in this directory.")
        text = text_of(included)
        try:
            document = parsed_json(text) if included.suffix == ".json" else parse(text)[0]
        except SeedError as error:
            raise SeedError(f"{file}:{error.line}: {error.text}") from error
        self.stacks.paths.add(included)
        return document


def read_definitions(path: Path, parameters: Mapping[str, str] | None = None) -> Seed:
    """Reads one file of definitions. The result contains all errors."""
    seed = DefinitionReader(path.parent, parameters or {}).read(path)
    terraform_resources.attach_others(seed)
    return seed


def _tables(document: Any, text: str, name: str) -> Seed:
    seed = Seed()
    if isinstance(document, Mapping) and "KeySchema" not in document:
        document = document.get("tables", document.get("Tables", document))
    for each in document if isinstance(document, list) else [document]:
        described = each.get("Table", each.get("TableDescription")) if isinstance(each, dict) else None
        make: Callable[..., Any] = from_request if described is None else from_description
        request = each if described is None else described
        if not isinstance(request, dict):
            raise SeedError(f"{_EXPECTED}; items belong into items/TABLE.json.")
        table = re.escape(json.dumps(request.get("TableName")))
        location = Location(name, line_of(text, rf'"TableName"\s*:\s*{table}'))
        try:
            seed.tables.append(make(request, location))
        except SeedError as error:
            seed.errors.append(LocatedError(location, error.text))
    return seed


def text_of(path: Path) -> str:
    """Returns the text of a file. Raises SeedError."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SeedError(f"the file cannot be read: {error.strerror}") from error
    kind = kind_of_bytes(content)
    if kind is not None:
        raise SeedError(f"the file is {kind.title}: {kind.use}.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SeedError(f"the file is not UTF-8: {error.reason} at byte {error.start}", line) from error


def _line_of_member(text: str, name: str) -> int:
    return line_of(text, rf"{re.escape(json.dumps(name))}\s*:") if name else 1
