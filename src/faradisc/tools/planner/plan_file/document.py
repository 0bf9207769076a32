"""A YAML document that remembers its lines, read member by member.

The plan file is read from YAML's nodes, not from plain dicts, so that every mistake can name its line. A
`Value` is asked for what it must be (`integer`, `ratio`, `duration`, ...) and says what to write when it is
something else; a `Members` is asked for its members by name and refuses those nobody asked for.

Only plain documents are taken: no tags, no aliases that could make a small file large.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import yaml

from faradisc.tools.planner.errors import PlanError, nearest

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|d|w)?")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(B|KB|MB|GB|TB)?", re.IGNORECASE)
_BYTES = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_NUMBER = re.compile(r"[+-]?\d[\d_]*(\.\d+)?")
NESTING_MAX = 20
DIGITS_MAX = 40
"""Of a number. No plan means a longer one, and Python refuses to read numbers of some thousand digits."""
TEXT_MAX = 1 << 20
"""Characters of a plan file."""
_TRUE, _FALSE = {"true", "yes", "on"}, {"false", "no", "off"}


@dataclass(frozen=True, slots=True)
class Value:
    """One node of the document."""

    file: str
    path: str
    """For people: `traffic[0].rate`."""
    node: yaml.Node

    @property
    def line(self) -> int:
        return int(self.node.start_mark.line) + 1

    def mistake(self, what: str, remedy: str) -> PlanError:
        return PlanError(self.file, self.line, f"{self.path}: {what}" if self.path else what, remedy)

    # --- Structure ---

    def is_mapping(self) -> bool:
        return isinstance(self.node, yaml.MappingNode)

    def is_list(self) -> bool:
        return isinstance(self.node, yaml.SequenceNode)

    def members(self, *known: str) -> Members:
        """The members of a mapping. Raises: PlanError for members not `known`, and for repeated ones."""
        members = self.any_members()
        for name, value in members.items():
            if name not in known:
                raise value.mistake(f"there is no member {name!r} here", nearest(name, known))
        return members

    def any_members(self) -> Members:
        """The members of a mapping whose names are the user's."""
        if not isinstance(self.node, yaml.MappingNode):
            raise self.mistake("here should be members, name: value", "Indent them below this line.")
        held: dict[str, Value] = {}
        for key, node in self.node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise Value(self.file, self.path, key).mistake("a name is one text", "Write name: value.")
            name = str(key.value)
            value = Value(self.file, f"{self.path}.{name}" if self.path else name, node)
            if name in held:
                raise Value(self.file, value.path, key).mistake("it is written twice", "Keep one of them.")
            held[name] = value
        return Members(self, held)

    def entries(self) -> list[Value]:
        """The entries of a list."""
        if not isinstance(self.node, yaml.SequenceNode):
            raise self.mistake("here should be a list", 'Begin each entry with "- ".')
        return [Value(self.file, f"{self.path}[{index}]", node) for index, node in enumerate(self.node.value)]

    # --- Scalars ---

    def text(self) -> str:
        if not isinstance(self.node, yaml.ScalarNode) or not self.node.value:
            raise self.mistake("here should be a text", "Write one value.")
        return str(self.node.value)

    def choice(self, *known: str) -> str:
        """One of a few words, in any case."""
        text = self.text()
        for word in known:
            if text.lower() == word.lower():
                return word
        raise self.mistake(f"{text!r} is not known here", nearest(text, known))

    def flag(self) -> bool:
        text = self.text().lower()
        if text in _TRUE | _FALSE:
            return text in _TRUE
        raise self.mistake(f"{text!r} is neither true nor false", "Write true or false.")

    def fraction(self, what: str = "a number") -> Fraction:
        """An exact number."""
        text = self.text()
        self._brief(text)
        if not _NUMBER.fullmatch(text):
            raise self.mistake(f"{text!r} cannot be {what}", "Write a number, for example 100.")
        return Fraction(text.replace("_", ""))

    def _brief(self, text: str) -> None:
        if len(text) > DIGITS_MAX:
            what = f"a number has at most {DIGITS_MAX} characters, not {len(text)}"
            raise self.mistake(what, "Write a number, for example 100.")

    def amount(self, what: str = "a number", least: int = 0) -> Fraction:
        """A number that is not below `least`."""
        amount = self.fraction(what)
        if amount < least:
            word = "negative" if least == 0 else f"below {least}"
            raise self.mistake(f"{what} cannot be {word}: {self.text()}", f"Write {least} or more.")
        return amount

    def integer(self, what: str = "a number", least: int = 0, most: int | None = None) -> int:
        amount = self.amount(what, least)
        if amount.denominator != 1:
            raise self.mistake(f"{what} is a whole number, not {self.text()}", f"Write {round(amount)}.")
        if most is not None and amount > most:
            raise self.mistake(f"{what} cannot be above {most}: {self.text()}", f"Write {most} or less.")
        return int(amount)

    def ratio(self, what: str = "a share") -> Fraction:
        """A share: 0..1, or a percentage with its sign."""
        text = self.text()
        percent = text.endswith("%")
        digits = text.removesuffix("%").strip()
        self._brief(digits)
        if not _NUMBER.fullmatch(digits):
            raise self.mistake(f"{text!r} cannot be {what}", "Write 0 to 1, or a percentage: 0.9 or 90%.")
        ratio = Fraction(digits.replace("_", "")) / (100 if percent else 1)
        if not 0 <= ratio <= 1:
            raise self.mistake(f"{what} lies between 0 and 1, not at {text}", "Write 0.9 or 90%.")
        return ratio

    def duration(self, what: str = "a duration") -> int:
        """Whole seconds: 90, 90s, 15m, 3h, 1d, 2w."""
        text = self.text()
        self._brief(text)
        match = _DURATION.fullmatch(text)
        if match is None:
            raise self.mistake(f"{text!r} cannot be {what}", "Write seconds, or 90s, 15m, 3h, 1d.")
        seconds = Fraction(match[1]) * _SECONDS[match[2] or "s"]
        if seconds.denominator != 1:
            raise self.mistake(f"{what} is a whole number of seconds, not {text}", "Write 90s, not 1.51m.")
        return int(seconds)

    def size(self, what: str = "a size", most: int | None = None) -> int:
        """Bytes: 500, 500 B, 1.5 KB, 20 GB, in powers of 1,024; rounded up."""
        text = self.text()
        self._brief(text)
        match = _SIZE.fullmatch(text)
        if match is None:
            raise self.mistake(f"{text!r} cannot be {what}", "Write bytes, or 500 B, 1.5 KB, 20 GB.")
        size = -(-Fraction(match[1]) * _BYTES[(match[2] or "B").upper()] // 1)
        size_bytes = -int(-size)
        if most is not None and size_bytes > most:
            raise self.mistake(f"{what} is at most {most} bytes, not {text}", "Write a smaller one.")
        return size_bytes


class Members:
    """The members of a mapping, by name."""

    def __init__(self, owner: Value, held: dict[str, Value]) -> None:
        self.owner = owner
        self._held = held

    def __contains__(self, name: str) -> bool:
        return name in self._held

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def items(self) -> Iterable[tuple[str, Value]]:
        return self._held.items()

    def get(self, name: str) -> Value | None:
        return self._held.get(name)

    def need(self, name: str, example: str) -> Value:
        """A member that must be there. Raises: PlanError, with an example of it."""
        value = self._held.get(name)
        if value is None:
            raise self.owner.mistake(f"{name!r} is missing", f"Add it, for example: {example}")
        return value

    def integer(self, name: str, default: int, *, least: int = 0, most: int | None = None) -> int:
        value = self._held.get(name)
        return default if value is None else value.integer(name, least, most)

    def flag(self, name: str, default: bool) -> bool:
        value = self._held.get(name)
        return default if value is None else value.flag()

    def text(self, name: str, default: str) -> str:
        value = self._held.get(name)
        return default if value is None else value.text()

    def ratio(self, name: str, default: Fraction) -> Fraction:
        value = self._held.get(name)
        return default if value is None else value.ratio(name)

    def duration(self, name: str, default: int) -> int:
        value = self._held.get(name)
        return default if value is None else value.duration(name)

    def size(self, name: str, default: int, most: int | None = None) -> int:
        value = self._held.get(name)
        return default if value is None else value.size(name, most)


def parse(text: str, file: str) -> Value:
    """The document of a plan file. Raises: PlanError where it is no YAML, or no plain one."""
    if len(text) > TEXT_MAX:
        raise PlanError(file, None, f"it is longer than {TEXT_MAX:,} characters", "A plan is a page or two.")
    try:
        depth = 0
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            _plain(event, depth, file)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = f"this is not YAML: {error.problem or error.context}"
        remedy = "Check the indentation and the colons of this line and the one before."
        raise PlanError(file, mark.line + 1 if mark else None, what, remedy) from None
    except yaml.YAMLError as error:
        what = f"this is not YAML: {' '.join(str(error).split())}"
        raise PlanError(file, None, what, "Save the file as UTF-8 text.") from None
    if node is None:
        raise PlanError(file, 1, "the file is empty", "See docs/guide/planning.md for a first plan.")
    return Value(file, "", node)


def _plain(event: yaml.Event, depth: int, file: str) -> None:
    line = event.start_mark.line + 1 if event.start_mark else None
    if isinstance(event, yaml.AliasEvent):
        raise PlanError(file, line, "aliases (*name) are not taken", "Write the value out.")
    if depth > NESTING_MAX:
        raise PlanError(file, line, "it is nested too deeply", f"A plan has at most {NESTING_MAX} levels.")
