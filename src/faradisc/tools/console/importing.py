"""Files of items before they are staged: what was read, what is wrong in which line, the types of columns.

The formats are those of seeding: DynamoDB JSON, plain JSON, JSON lines, CSV (docs/guide/seeding.md).
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from faradisc.records import dataclass, field
from faradisc.tools.console.values import Item, ValueMistake, checked_item, text_of, type_of, value_of
from faradisc.tools.readers.items import SUFFIXES, read_items
from faradisc.tools.readers.seed import Line

FILE_ITEMS_MAX: Final = 10_000
"""Most items of a file that are staged at once."""
ERRORS_MAX: Final = 20


@dataclass(slots=True)
class FileOfItems:
    """A file as it was read."""

    name: str
    content: bytes
    items: list[Item] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    """The first ERRORS_MAX, each with its line."""
    wrong: int = 0
    """How many items could not be read."""
    types: dict[str, str] = field(default_factory=dict)
    """Types of the columns of CSV, by name."""

    @property
    def is_csv(self) -> bool:
        return self.name.lower().endswith(".csv")

    def read(self, key_types: Mapping[str, str]) -> None:
        """Reads the content, with the present types of columns. Raises ValueMistake for no file of items."""
        suffix = Path(self.name).suffix.lower()
        if suffix not in SUFFIXES:
            raise ValueMistake(f"{self.name} ends in none of {', '.join(SUFFIXES)}.")
        self.items, self.errors, self.wrong = [], [], 0
        with tempfile.TemporaryDirectory(prefix="faradisc-console-") as folder:
            path = Path(folder, f"items{suffix}")
            path.write_bytes(self.content)
            for found in read_items(path, {**self.types, **key_types}):
                try:
                    if not isinstance(found, Line):
                        raise ValueMistake(f"line {found.line}: {found.text}")
                    self.items.append(checked_item(found.item))
                except ValueMistake as mistake:
                    self.wrong += 1
                    self.errors += [str(mistake)] * (len(self.errors) < ERRORS_MAX)
                if len(self.items) > FILE_ITEMS_MAX:
                    raise ValueMistake(
                        f"It has more than {FILE_ITEMS_MAX:,} items: `faradisc import` takes more."
                    )

    def guess_types(self) -> None:
        """Takes columns of CSV that hold nothing but numbers as numbers."""
        for name in attributes(self.items) if self.is_csv else ():
            texts = [item[name]["S"] for item in self.items if "S" in item.get(name, {})]
            if texts and all(_is_number(text) for text in texts):
                self.types[name] = "N"


def _is_number(text: str) -> bool:
    """Returns whether a text is a number that nothing is lost of: `007` is a name."""
    digits = text.lstrip("-")
    if digits.startswith("0") and digits != "0" and not digits.startswith("0."):
        return False
    try:
        value_of("N", text)
    except ValueMistake:
        return False
    return True


def attributes(items: Sequence[Item]) -> list[str]:
    """Returns the names of all attributes, in the order in which they appear."""
    return list(dict.fromkeys(name for item in items for name in item))


def summary(items: Sequence[Item]) -> list[dict[str, str]]:
    """Returns a row for each attribute: its types, how many items have it, and the first value."""
    rows = []
    for name in attributes(items):
        values = [item[name] for item in items if name in item]
        kinds = dict.fromkeys(type_of(each) for each in values)
        rows.append(
            {
                "attribute": name,
                "type": ", ".join(kinds),
                "items": f"{len(values):,}",
                "first": text_of(values[0]),
            }
        )
    return rows


def guessed_keys(items: Sequence[Item]) -> tuple[str, str]:
    """Returns attributes that could be the keys of a table with these items: partition and sort key, or "".

    A partition key alone when its values are all different; otherwise the first pair that is.
    """
    whole = [
        name
        for name in attributes(items)
        if all(type_of(item.get(name, {"": ""})) in ("S", "N", "B") for item in items)
        and len({type_of(item[name]) for item in items}) == 1
    ]
    for name in whole:
        if len({text_of(item[name]) for item in items}) == len(items):
            return name, ""
    for one in whole:
        for other in whole:
            if one != other and len({(text_of(i[one]), text_of(i[other])) for i in items}) == len(items):
                return one, other
    return (whole[0] if whole else ""), ""
