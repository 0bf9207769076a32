"""The entry of an item in a vector index, and the checks of its vector.

Source: new-features.md section 13, "Writes". Assumed: the texts about types after their beginning, and that
an INLINE_FILTER attribute may have any type.
"""

from __future__ import annotations

from typing import Literal

from faradisc.engine.vectors import numbers
from faradisc.errors import ValidationException
from faradisc.model.values.attribute import AttributeValue, Item, type_of
from faradisc.model.values.schema import IndexSchema
from faradisc.records import dataclass, field

Distance = Literal["COSINE", "EUCLIDEAN", "DOT_PRODUCT"]

_INVALID = "One or more parameter values were invalid: "


@dataclass(frozen=True, slots=True)
class VectorSchema(IndexSchema):
    """One vector index.

    `key` orders the entries: by the HASH attribute of the search schema, or without one by the key of the
    table. An entry has the packed vector instead of the list.
    """

    vector: str
    """The attribute that holds the vector."""
    dimensions: int
    distance: Distance
    hash_name: str | None
    filters: tuple[str, ...]
    _names: frozenset[str] | None = field(init=False)

    def __post_init__(self) -> None:
        IndexSchema.__post_init__(self)
        names = None if self.entry_names is None else self.entry_names | {self.vector, *self.filters}
        object.__setattr__(self, "entry_names", names)
        object.__setattr__(self, "_names", None if names is None else names - {self.vector})
        checked = (self.vector,) if self.hash_name is None else (self.hash_name, self.vector)
        object.__setattr__(self, "checked_names", checked)

    def entry(self, item: Item) -> Item | None:
        vector = item.get(self.vector)
        if vector is None or "L" not in vector or len(vector["L"]) != self.dimensions:
            return None
        if not IndexSchema.has(self, item):
            return None
        packed = numbers.packed(vector["L"])
        if packed is None:
            return None
        names = self._names
        entry = dict(item) if names is None else {n: value for n, value in item.items() if n in names}
        entry[self.vector] = numbers.stored(packed)
        return entry

    def has(self, item: Item) -> bool:
        return self.entry(item) is not None

    def entry_of(self, item: Item) -> Item:
        """Requires `has(item)`."""
        entry = self.entry(item)
        assert entry is not None
        return entry


def check_vector(item: Item, index: VectorSchema) -> None:
    """Returns the vector of an item, if it has one. Raises ValidationException."""
    vector = item.get(index.vector)
    if vector is None:
        return
    if "L" not in vector:
        raise _wrong_type(index, index.vector, "L", type_of(vector))
    elements: list[AttributeValue] = vector["L"]
    if len(elements) != index.dimensions:
        raise ValidationException(
            f"{_INVALID}Invalid size for parameter {index.vector}, Expected: {index.dimensions}, "
            f"Actual: {len(elements)}. IndexName: {index.name}"
        )
    if numbers.packed(elements) is not None:
        return
    for at, element in enumerate(elements):
        if "N" not in element:
            raise _wrong_type(index, f"{index.vector}[{at}]", "N", type_of(element))
        if numbers.packed([element]) is None:
            raise _wrong_type(index, f"{index.vector}[{at}]", "32-bit floating-point number", element["N"])


def _wrong_type(index: VectorSchema, parameter: str, expected: str, actual: str) -> ValidationException:
    return ValidationException(
        f"{_INVALID}Invalid type for parameter {parameter}, Expected: {expected}, Actual: {actual}. "
        f"IndexName: {index.name}"
    )
