"""Terraform: aws_dynamodb_table and the resources that belong to one.

Two forms are read: the output of `terraform show -json`, for a plan or a state, in which Terraform has
evaluated all expressions; and configurations (.tf by python-hcl2, `faradisc[seed]`; .tf.json), whose
expressions `hcl` evaluates where their values are in the files. Another expression in a table is an error
that names the remedy. What does not concern a table is never an error.

Source: the AWS provider's documentation of the resources; Terraform's "JSON Output Format".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from faradisc.tools.readers.hcl import Unresolved, evaluated, shown
from faradisc.tools.readers.seed import LocatedError, Location, Seed, SeedError, line_of
from faradisc.tools.readers.terraform_blocks import bodies, configuration_of, labelled, parsed
from faradisc.tools.readers.terraform_resources import (
    BESIDE,
    ENCRYPTION,
    KEY,
    KINDS,
    TABLE,
    Assembly,
    check_arguments,
    unread_arguments,
)

REMEDY = (
    "its value is not known without Terraform; put the output of `terraform show -json` into the directory "
    "instead"
)
_NAMED_LIKE_TABLES = "aws_dynamodb_"

Document = Mapping[str, Any]
Body = Mapping[str, Any]


# --- terraform show -json ------------------------------------------------------------------------


def read_shown(document: Document, text: str, file: str) -> Seed:
    """Reads the resources of a plan or a state in all its modules."""
    assembly = Assembly()
    values = document.get("planned_values") or document.get("values") or {}
    for resource in _resources(values.get("root_module") if isinstance(values, Mapping) else None):
        kind, name, given = (resource.get(each) for each in ("type", "name", "values"))
        if kind in KINDS and resource.get("mode") == "managed":
            line = line_of(text, rf'"address"\s*:\s*{re.escape(json.dumps(resource.get("address")))}')
            if not isinstance(given, Mapping):
                raise SeedError(f"{name}: values must be an object.", line)
            body = {member: each for member, each in given.items() if each is not None}
            assembly.add(str(kind), str(name), body, Location(file, line))
    return assembly.seed()


def _resources(module: Any) -> Iterator[Document]:
    """Raises SeedError for a module that is none."""
    if module is None:
        return
    lists = (
        [module.get(each) or [] for each in ("resources", "child_modules")]
        if isinstance(module, Mapping)
        else []
    )
    if not lists or not all(
        isinstance(each, list) and all(isinstance(m, Mapping) for m in each) for each in lists
    ):
        raise SeedError("a module must have resources and child_modules that are lists of objects.")
    yield from lists[0]
    for child in lists[1]:
        yield from _resources(child)


# --- Configurations ------------------------------------------------------------------------------


class Scope:
    """The variables, locals and resources of all configurations in a directory."""

    def __init__(self, directory: Path, parameters: Mapping[str, str], *, alone: bool = False) -> None:
        """parameters: values of variables. alone: read no files."""
        self._directory = directory
        self._values: dict[str, Any] = dict(parameters)
        self._defaults: dict[str, Any] = {}
        self._locals: dict[str, Any] = {}
        self._resources: dict[tuple[str, str], Body] = {}
        self._evaluating: set[tuple[str, ...]] = set()
        self._read = alone

    def prepare(self) -> None:
        """Reads the files. What cannot be read has no values; its own reading says why."""
        if self._read:
            return
        self._read = True
        for path in sorted(self._directory.iterdir()) if self._directory.is_dir() else ():
            try:
                if path.name.endswith((".tf", ".tf.json")):
                    self.add(configuration_of(path.read_text("utf-8-sig"), path.name)[0])
                elif path.name == "terraform.tfvars" or path.name.endswith(".auto.tfvars"):
                    for name, value in parsed(path.read_text("utf-8-sig"), path.name).items():
                        self._values.setdefault(name, value)
            except (OSError, ValueError, SeedError, RecursionError):
                continue

    def add(self, document: Document) -> None:
        """Adds the blocks of a file."""
        for name, body in labelled(document.get("variable")):
            if body.get("default") is not None:
                self._defaults[name] = body["default"]
        for body in bodies(document.get("locals")):
            self._locals.update(body)
        for kind, named in labelled(document.get("resource")):
            for name, body in labelled([named]):
                self._resources[kind, name] = body

    def reference(self, own: Mapping[str, Any]) -> Callable[[list[str]], Any]:
        """Returns a function that returns the value of a reference. own: values of `count`, `each` and
        iterators. The function raises Unresolved."""

        def value_of(path: list[str]) -> Any:
            if path[0] in own:
                return _within(own[path[0]], path[1:])
            for values in (self._values, self._defaults) if path[0] == "var" and len(path) > 1 else ():
                if path[1] in values:
                    return _within(values[path[1]], path[2:])
            if path[0] == "local" and len(path) > 1 and path[1] in self._locals:
                return _within(self._evaluated(("local", path[1]), self._locals[path[1]]), path[2:])
            body = self._resources.get((path[0], path[1])) if len(path) > 2 else None
            if body is not None and not {"count", "for_each"} & body.keys():
                return self._attribute(path, body)
            raise Unresolved(".".join(path))

        return value_of

    def _attribute(self, path: list[str], body: Body) -> Any:
        kind, name, attribute = path[:3]
        if kind == TABLE and attribute in ("name", "id", "arn"):
            found = shown(self._evaluated((kind, name), body.get("name", name)))
            return f"arn:aws:dynamodb:us-east-1:000000000000:table/{found}" if attribute == "arn" else found
        if attribute not in body:
            raise Unresolved(".".join(path))
        return _within(self._evaluated(tuple(path[:3]), body[attribute]), path[3:])

    def _evaluated(self, name: tuple[str, ...], raw: Any) -> Any:
        if name in self._evaluating:
            raise Unresolved(".".join(name))
        self._evaluating.add(name)
        try:
            return evaluated(raw, self.reference({}))
        finally:
            self._evaluating.discard(name)


def _within(value: Any, path: list[str]) -> Any:
    for name in path:
        if not isinstance(value, Mapping) or name not in value:
            raise Unresolved(".".join(path))
        value = value[name]
    return value


def read_configuration(text: str, file: str, scope: Scope | None = None) -> Seed:
    """Reads a .tf or .tf.json file. Raises SeedError with the line when a table cannot be parsed.

    scope: the other files of its directory; None: this file alone.
    """
    document, notes = configuration_of(text, file)
    scope = scope or Scope(Path(), {}, alone=True)
    scope.prepare()
    scope.add(document)
    assembly = Assembly()
    for line, note in notes:
        assembly.found.note(Location(file, line), note)
    for kind, named in labelled(document.get("resource")):
        for name, body in labelled([named]):
            location = _location(kind, name, text, file)
            if kind in KINDS:
                _add_resource(assembly, scope, (kind, name, body), text, location)
            elif kind.startswith(_NAMED_LIKE_TABLES):
                assembly.found.note(location, f"{name} is ignored: {kind} is not read")
    for name, body in labelled(document.get("module")):
        if "dynamodb" in str(body.get("source", "")).lower():
            line = line_of(text, rf'module"?\s*:?\s*"?{re.escape(name)}"')
            remedy = REMEDY.partition("; ")[2]
            assembly.found.note(Location(file, line), f"the module {name} is ignored; {remedy}")
    return assembly.seed()


def _add_resource(
    assembly: Assembly, scope: Scope, resource: tuple[str, str, Body], text: str, location: Location
) -> None:
    """Adds the instances of a resource, or its error."""
    kind, name, body = resource
    try:
        if kind in BESIDE and not _is_of_tables(body, scope):
            return
        for own in _instances(name, body, scope, text, location.line):
            literal = _literal_body(resource, text, location.line, scope.reference(own))
            check_arguments(kind, name, literal)
            assembly.add(kind, name, literal, location)
    except SeedError as error:
        where = location._replace(line=error.line or location.line)
        assembly.found.errors.append(LocatedError(where, error.text))


def _is_of_tables(body: Body, scope: Scope) -> bool:
    """Returns whether a scaling or an alarm is of DynamoDB."""
    try:
        named = evaluated(body.get("service_namespace", body.get("namespace")), scope.reference({}))
    except Unresolved:
        return False
    return named in ("dynamodb", "AWS/DynamoDB")


def _location(kind: str, name: str, text: str, file: str) -> Location:
    line = line_of(text, rf'"?{re.escape(kind)}"?\s+"?{re.escape(name)}"?')
    if line == 1 and file.endswith(".json"):
        line = line_of(text, rf'"{re.escape(name)}"\s*:')
    return Location(file, line)


def _instances(name: str, body: Body, scope: Scope, text: str, line: int) -> list[dict[str, Any]]:
    """Returns the own values of each instance: one without count and for_each. Raises SeedError."""
    for member in ("count", "for_each"):
        if member not in body:
            continue
        try:
            value = evaluated(body[member], scope.reference({}))
            if member == "count":
                number = value if isinstance(value, int) else int(str(value))
                return [{"count": {"index": at}} for at in range(min(number, INSTANCES_MAX))]
            keys = value.items() if isinstance(value, Mapping) else [(shown(each), each) for each in value]
            return [{"each": {"key": key, "value": each}} for key, each in keys][:INSTANCES_MAX]
        except (Unresolved, ValueError, TypeError):
            found = _line_of_member(text, member, line)
            shown_expression = str(body[member])[:60]
            raise SeedError(
                f"{name}: {member} has the expression {shown_expression}; {REMEDY}.", found
            ) from None
    return [{}]


INSTANCES_MAX = 10_000


def _literal_body(
    resource: tuple[str, str, Body], text: str, line: int, reference: Callable[[list[str]], Any]
) -> Body:
    """Returns the members of a resource that count, evaluated. Raises SeedError when one has no value."""
    kind, name, body = resource
    literal: dict[str, Any] = {}
    unread = unread_arguments(kind)
    for member, value in _with_dynamic(body, reference, name, text, line).items():
        if member in unread:
            literal[member] = True
            continue
        if member == ENCRYPTION:
            value = [{**each, KEY: _known_key(each, reference)} for each in bodies(value)]
        try:
            found = evaluated(value, reference)
        except Unresolved as error:
            where = _line_of_member(text, member, line)
            raise SeedError(f"{name}: {member} has the expression {error}; {REMEDY}.", where) from None
        if found is not None:
            literal[member] = found
    return literal


def _known_key(encryption: Body, reference: Callable[[list[str]], Any]) -> Any:
    """Returns the key of a block; False for one that only a deployment knows."""
    try:
        return evaluated(encryption.get(KEY), reference)
    except Unresolved:
        return False


def _with_dynamic(
    body: Body, reference: Callable[[list[str]], Any], name: str, text: str, line: int
) -> dict[str, Any]:
    """Returns a body with its dynamic blocks written out. Raises SeedError."""
    written = {
        member: each for member, each in body.items() if member not in ("dynamic", "count", "for_each")
    }
    for label, block in labelled(body.get("dynamic")):
        iterator = str(block.get("iterator", label)).strip("${}")
        try:
            values = evaluated(block.get("for_each"), reference)
            pairs = values.items() if isinstance(values, Mapping) else list(enumerate(values))
        except (Unresolved, TypeError):
            where = _line_of_member(text, "dynamic", line)
            raise SeedError(
                f"{name}: dynamic {label} has the expression {block.get('for_each')}; {REMEDY}.", where
            ) from None
        blocks = []
        for key, value in pairs:
            own = {iterator: {"key": key, "value": value}}

            def value_of(path: list[str], own: dict[str, Any] = own) -> Any:
                return _within(own[path[0]], path[1:]) if path[0] in own else reference(path)

            for content in bodies(block.get("content")):
                try:
                    blocks.append(evaluated(content, value_of))
                except Unresolved as error:
                    where = _line_of_member(text, "dynamic", line)
                    raise SeedError(f"{name}: {label} has the expression {error}; {REMEDY}.", where) from None
        written[label] = [*bodies(written.get(label, [])), *blocks]
    return written


def _line_of_member(text: str, member: str, line: int) -> int:
    """Returns the line of a member of the resource at `line`: of all with that name the least indented one,
    since those of nested blocks have more indentation. Returns `line` without a match."""
    pattern = re.compile(rf'(\s*)"?{re.escape(member)}"?\s*[=:{{"]')
    found = []
    for number, content in enumerate(text.split("\n")[line - 1 :], line):
        match = pattern.match(content)
        if match is not None:
            found.append((len(match[1]), number))
        if content.startswith("}"):
            break
    return min(found, default=(0, line))[1]
