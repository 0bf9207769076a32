"""Reads YAML into mappings, lists and texts that know their lines, and merges variants of a plan.

Every scalar stays a text: the plan file's own types read it (fields.py), so that `1_000.5` is exact and `off`
is a name. Tags, anchors and merges are not followed, so a small file cannot become a large document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from faradisc.tools.traces.errors import PlanError, nearest

NESTING_MAX = 20
TEXT_MAX = 1 << 20
"""Characters of a plan file."""
_NULLS = ("", "~", "null")
_NAMED = ("tables", "indexes", "local_indexes", "classes")
"""Members whose own members have names of the user's choice: variants merge each of those."""
_MERGED = (*_NAMED, "budgets", "prices")


class Mapping(dict[str, Any]):
    """A mapping with the line of each member's name."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: dict[str, int] = {}

    def put(self, name: str, value: Any, line: int) -> None:
        self[name], self.lines[name] = value, line


class Entries(list[Any]):
    """A list with the line of each entry."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[int] = []

    def put(self, value: Any, line: int) -> None:
        self.append(value)
        self.lines.append(line)


Path: TypeAlias = Sequence[str | int]


def locate(document: Mapping, path: Path) -> tuple[str, int]:
    """Returns where a path leads, for people (`traffic[0].rate`), and its line.

    A path may be longer than the document is deep: the part that exists is returned.
    """
    text, line = "", 1
    value: Any = document
    for step in path:
        if isinstance(value, Mapping) and step in value:
            text += f".{step}" if text else str(step)
            line = value.lines[str(step)]
        elif isinstance(value, Entries) and isinstance(step, int) and step < len(value):
            text += f"[{step}]"
            line = value.lines[step]
        else:
            break
        value = value[step]
    return text, line


def parse(text: str, file: str) -> Mapping:
    """Returns the document of a plan file. Raises PlanError where it is not plain YAML."""
    if len(text) > TEXT_MAX:
        raise PlanError(file, None, f"it is longer than {TEXT_MAX:,} characters", "A plan is a page or two.")
    try:
        document = _document(YAML(typ="safe", pure=True).parse(text), file)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = f"this is not YAML: {error.problem or error.context}"
        remedy = "Check the indentation and the colons of this line and the one before."
        raise PlanError(file, mark.line + 1 if mark else None, what, remedy) from None
    except YAMLError as error:
        what = f"this is not YAML: {' '.join(str(error).split())}"
        raise PlanError(file, None, what, "Save the file as UTF-8 text.") from None
    if not isinstance(document, Mapping):
        what = "the file is empty" if document is None else "here should be members, name: value"
        raise PlanError(file, 1, what, "See docs/guide/planning.md for a first plan.")
    return document


def _document(events: Iterator[Event], file: str) -> Any:
    next(events)  # the start of the stream
    if isinstance(next(events), StreamEndEvent):
        return None
    value = _value(next(events), events, file, "", 0)
    next(events)  # the end of the document
    if isinstance(event := next(events), DocumentStartEvent):
        raise PlanError(file, _line(event), "a second document begins here", "Keep one document in a file.")
    return value


def _value(event: Event, events: Iterator[Event], file: str, path: str, depth: int) -> Any:
    """Returns one value and consumes its events."""

    def mistake(event: Event, what: str, remedy: str) -> PlanError:
        return PlanError(file, _line(event), f"{path}: {what}" if path else what, remedy)

    if isinstance(event, AliasEvent):
        raise mistake(event, "aliases (*name) are not taken", "Write the value out.")
    if isinstance(event, ScalarEvent):
        return None if event.value in _NULLS and not event.style else str(event.value)
    if depth == NESTING_MAX:
        raise mistake(event, "it is nested too deeply", f"A plan has at most {NESTING_MAX} levels.")
    if isinstance(event, SequenceStartEvent):
        entries = Entries()
        while not isinstance(event := next(events), SequenceEndEvent):
            line = _line(event)
            entries.put(_value(event, events, file, f"{path}[{len(entries)}]", depth + 1), line)
        return entries
    members = Mapping()
    while not isinstance(event := next(events), MappingEndEvent):
        if not isinstance(event, ScalarEvent):
            raise mistake(event, "a name is one text", "Write name: value.")
        name = str(event.value)
        below = f"{path}.{name}" if path else name
        if name in members:
            raise PlanError(file, _line(event), f"{below}: it is written twice", "Keep one of them.")
        members.put(name, _value(next(events), events, file, below, depth + 1), _line(event))
    return members


def _line(event: Event) -> int:
    return int(event.start_mark.line) + 1


def merged(base: Mapping, change: Mapping, file: str = "", *, named: bool = False) -> Mapping:
    """Returns a mapping with the members of `change` in place of its own; null removes a member (RFC 7396).

    Tables, indexes and classes are merged by name (`named`), streams of traffic by their `name`, budgets and
    prices one by one. Everything else is replaced as a whole. Raises PlanError for a stream that is neither
    known nor complete.
    """
    result = Mapping()
    for name, value in base.items():
        result.put(name, value, base.lines[name])
    for name, value in change.items():
        old = base.get(name)
        if value is None:
            result.pop(name, None)
            continue
        if isinstance(old, Mapping) and isinstance(value, Mapping) and (named or name in _MERGED):
            value = merged(old, value, file, named=not named and name in _NAMED)
        elif name == "traffic" and isinstance(old, Entries) and isinstance(value, Entries):
            value = _merged_streams(old, value, file)
        result.put(name, value, change.lines[name])
    return result


def _merged_streams(old: Entries, new: Entries, file: str) -> Entries:
    changes = {entry["name"]: entry for entry in new if isinstance(entry, Mapping) and "name" in entry}
    result = Entries()
    for value, line in zip(old, old.lines, strict=True):
        named = value.get("name") if isinstance(value, Mapping) else None
        result.put(merged(value, changes.pop(named)) if named in changes else value, line)
    names = [each["name"] for each in old if isinstance(each, Mapping) and "name" in each]
    for value, line in zip(new, new.lines, strict=True):
        if not (isinstance(value, Mapping) and "name" in value) or value["name"] in changes:
            if isinstance(value, Mapping) and "name" in value and not {"rate", "keys"} <= value.keys():
                what = f"there is no stream {value['name']!r} that this could change"
                remedy = f"{nearest(str(value['name']), names)} A new stream has rate and keys."
                raise PlanError(file, line, f"traffic: {what}", remedy)
            result.put(value, line)
    return result
