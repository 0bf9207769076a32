"""The vectors of one index and HASH value as one matrix of 32-bit floats, and its nearest rows.

    matrix      one row per entry; with COSINE each row is divided by its length
    keys        row key of each matrix row, and back
    columns     per INLINE_FILTER attribute, a number for each row's value; -1 where it has none

The ranks computed here select candidates; the search computes the scores of its answer from the entries.

Memory per entry: 4 bytes per dimension, 4 per filter, and about 300 for its key, plus a quarter of the first
two while the matrix grows.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from operator import itemgetter
from typing import TypeAlias

import numpy as np
import orjson
from numpy.typing import NDArray

from faradisc.engine.vectors import numbers
from faradisc.engine.vectors.schema import VectorSchema
from faradisc.model.codec import item_record
from faradisc.model.values.attribute import AttributeValue

Floats: TypeAlias = NDArray[np.float32] | NDArray[np.float64]

KEY_BYTES = 300
"""Estimated memory of one row key: the bytes object, its positions in a list and in a dict."""
VALUE_BYTES = 200
"""Estimated memory of one distinct value of a filter, beside its text."""
STEP_BYTES = 512 * 1024
"""Rows whose differences are computed at once: as many as fit into a core's cache."""
EPSILON = 2.0**-24
"""Largest relative error of a 32-bit float."""
CANDIDATES_MAX = 4096
"""Largest number of entries that are scored for a search, however many are equal."""
Ranked = list[tuple[float, bytes]]
ABSENT = -1
UNKNOWN = -2
"""Number of a value that no row has."""


class FilterColumn:
    """One filter attribute of all rows, as numbers."""

    __slots__ = ("memory_bytes", "numbers", "values")

    def __init__(self) -> None:
        self.values: NDArray[np.int32] = np.empty(0, np.int32)
        self.numbers: dict[bytes, int] = {}
        self.memory_bytes = 0
        """Of the distinct values."""

    def number(self, value: AttributeValue | None) -> int:
        """Returns the number of a row's value, a new number for a new value."""
        if value is None:
            return ABSENT
        text = _text(value)
        found = self.numbers.get(text)
        if found is None:
            found = self.numbers[text] = len(self.numbers)
            self.memory_bytes += len(text) + VALUE_BYTES
        return found

    def wanted(self, value: AttributeValue) -> int:
        return self.numbers.get(_text(value), UNKNOWN)


def _text(value: AttributeValue) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


class Block:
    """The vectors in memory. Changes and reads must not overlap (memory.py: Slot.lock)."""

    __slots__ = ("_columns", "_keys", "_largest", "_matrix", "_positions", "_schema")

    def __init__(self, schema: VectorSchema) -> None:
        self._schema = schema
        self._keys: list[bytes] = []
        self._positions: dict[bytes, int] = {}
        self._matrix: NDArray[np.float32] = np.empty((0, schema.dimensions), np.float32)
        self._columns = {name: FilterColumn() for name in schema.filters}
        self._largest = 0.0
        """An upper bound of the absolute values in the matrix."""

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def memory_bytes(self) -> int:
        columns = sum(column.values.nbytes + column.memory_bytes for column in self._columns.values())
        return self._matrix.nbytes + columns + KEY_BYTES * len(self._keys)

    # --- Change ---

    def put(self, rows: Sequence[tuple[bytes, item_record.Record]]) -> None:
        """Adds new entries, and replaces those that have changed."""
        if not rows:
            return
        entries = [item_record.decode(payload) for _, payload in rows]
        packed = b"".join(numbers.packed_of(entry[self._schema.vector]) for entry in entries)
        vectors = np.frombuffer(packed, "<f4").reshape(len(rows), self._schema.dimensions)
        if self._schema.distance == "COSINE":
            vectors = _normalised(vectors)
        self._largest = max(self._largest, float(np.abs(vectors).max()))
        positions = [self._position(key) for key, _ in rows]
        self._make_room()
        self._matrix[positions] = vectors
        for name, column in self._columns.items():
            column.values[positions] = [column.number(entry.get(name)) for entry in entries]

    def _position(self, key: bytes) -> int:
        position = self._positions.get(key)
        if position is None:
            position = self._positions[key] = len(self._keys)
            self._keys.append(key)
        return position

    def _make_room(self) -> None:
        held, wanted = len(self._matrix), len(self._keys)
        if wanted <= held:
            return
        room = wanted + wanted // 4
        matrix = np.empty((room, self._schema.dimensions), np.float32)
        matrix[:held] = self._matrix
        self._matrix = matrix
        for column in self._columns.values():
            values = np.full(room, ABSENT, np.int32)
            values[:held] = column.values
            column.values = values

    def remove(self, key: bytes) -> None:
        """Removes an entry, if it exists; the last row takes its position."""
        position = self._positions.pop(key, None)
        if position is None:
            return
        last = len(self._keys) - 1
        moved = self._keys.pop()
        if position != last:
            self._keys[position] = moved
            self._positions[moved] = position
            self._matrix[position] = self._matrix[last]
            for column in self._columns.values():
                column.values[position] = column.values[last]

    # --- Search ---

    def nearest(
        self, query: Sequence[float], filters: Sequence[tuple[str, AttributeValue]], count: int
    ) -> Ranked:
        """Returns the `count` best entries that pass the filters, and others that rounding cannot
        distinguish from these, the best first: (rank, row key); a smaller rank is better. Cost: one pass
        over the rows that pass."""
        chosen = self._passing(filters)
        rows = len(self._keys) if chosen is None else len(chosen)
        if not rows:
            return []
        exact = np.array(query, np.float64)
        if self._schema.distance == "COSINE":
            exact = _unit(exact)
        candidates = np.arange(rows)
        if count < rows:
            ranks = self._ranks(exact, chosen)
            limit = float(np.partition(ranks, count - 1)[count - 1])
            candidates = np.flatnonzero(ranks <= self._reach(limit, exact))
        positions = candidates if chosen is None else chosen[candidates]
        matrix, keys = self._matrix, self._keys
        fine = np.concatenate([self._fine(matrix[some], exact) for some in self._in_steps(positions)])
        ranked = [
            (rank, keys[position]) for rank, position in zip(fine.tolist(), positions.tolist(), strict=True)
        ]
        return self.best(ranked, query, count)

    def best(self, ranked: Ranked, query: Sequence[float], count: int) -> Ranked:
        """Returns the `count` best, and those that rounding cannot distinguish from these, of candidates
        from this block or similar ones; at most `CANDIDATES_MAX`."""
        ranked = sorted(ranked)
        if count >= len(ranked):
            return ranked
        limit = ranked[count - 1][0]
        rounding = len(query) * 2.0**-50
        if self._schema.distance == "COSINE":
            slack = 2.1 * EPSILON  # rows of length 1 have 32 bits
        elif self._schema.distance == "EUCLIDEAN":
            slack = rounding * limit
        else:
            slack = rounding * math.hypot(*query) * self._largest * math.sqrt(len(query))
        end = bisect_right(ranked, limit + slack, key=itemgetter(0))
        return ranked[: max(min(end, CANDIDATES_MAX), count)]

    def _passing(self, filters: Sequence[tuple[str, AttributeValue]]) -> NDArray[np.intp] | None:
        """Returns the rows that pass the filters; None for all."""
        if not filters:
            return None
        rows = len(self._keys)
        passing = np.ones(rows, np.bool_)
        for name, value in filters:
            column = self._columns[name]
            passing &= column.values[:rows] == column.wanted(value)
        return np.flatnonzero(passing)

    def _ranks(self, query: NDArray[np.float64], chosen: NDArray[np.intp] | None) -> Floats:
        """Returns squared distances, or negative products, most of them in 32 bits."""
        distance = self._schema.distance
        matrix = self._matrix[: len(self._keys)] if chosen is None else self._matrix[chosen]
        if self._fits_32_bits(query):
            single = query.astype(np.float32)
            return _distances(matrix, single) if distance == "EUCLIDEAN" else -(matrix @ single)
        exact = _distances if distance == "EUCLIDEAN" else _products
        return np.concatenate([exact(step.astype(np.float64), query) for step in _steps(matrix)])

    def _fits_32_bits(self, query: NDArray[np.float64]) -> bool:
        """Whether squares and their sums fit into 32-bit floats."""
        return 1e-12 < max(self._largest, float(np.abs(query).max())) < 1e15

    def _reach(self, limit: float, query: NDArray[np.float64]) -> float:
        """Returns the highest of these ranks at which a row may be as good as one of rank `limit`: both
        have the rounding errors of sums of that many products and of the query."""
        terms = (len(query) + 4) * EPSILON
        if self._schema.distance != "EUCLIDEAN":
            length = 1.0 if self._schema.distance == "COSINE" else self._largest * math.sqrt(len(query))
            return limit + 2 * terms * float(np.linalg.norm(query)) * length
        rounded = (
            float(np.linalg.norm(query - query.astype(np.float32))) if self._fits_32_bits(query) else 0.0
        )
        return (math.sqrt(max(limit, 0.0)) * (1 + 2 * terms) + 2 * rounded) ** 2

    def _in_steps(self, positions: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        rows = max(1, STEP_BYTES // (8 * self._schema.dimensions))
        return [positions[start : start + rows] for start in range(0, len(positions), rows)]

    def _fine(self, rows: NDArray[np.float32], query: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns ranks in 64 bits: distances, or negative products. Angles are compared by the distances
        of points on the sphere, since products of almost equal directions are all almost 1."""
        exact = rows.astype(np.float64)
        if self._schema.distance == "DOT_PRODUCT":
            return -(exact @ query)
        if self._schema.distance == "COSINE" and not query.any():
            return np.zeros(len(rows))
        difference = exact - query
        found: NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", difference, difference))
        if self._schema.distance == "COSINE":
            found[~rows.any(axis=1)] = math.sqrt(2.0)  # a vector of length 0 counts as one at a right angle
        return found


def _unit(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns a vector with length 1; zeros stay zeros."""
    largest = float(np.abs(vector).max())
    if not largest:
        return vector
    scaled = vector / largest
    unit: NDArray[np.float64] = scaled / np.linalg.norm(scaled)
    return unit


def _normalised(vectors: Floats) -> NDArray[np.float32]:
    """Returns rows with length 1; a row of zeros stays."""
    exact = vectors.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", exact, exact))
    lengths[lengths == 0] = 1
    unit: NDArray[np.float32] = (exact / lengths[:, np.newaxis]).astype(np.float32)
    return unit


def _steps(matrix: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    rows = max(1, STEP_BYTES // (4 * matrix.shape[1]))
    return [matrix[start : start + rows] for start in range(0, len(matrix), rows)]


def _products(rows: NDArray[np.float64], query: NDArray[np.float64]) -> Floats:
    return -(rows @ query)


def _distances(rows: Floats, query: Floats) -> Floats:
    """Returns squared distances, computed from differences: squares of lengths would cancel each other
    out."""
    found = np.empty(len(rows), rows.dtype)
    step = max(1, STEP_BYTES // (rows.itemsize * rows.shape[1]))
    buffer = np.empty((min(step, len(rows)), rows.shape[1]), rows.dtype)
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        difference = np.subtract(part, query, out=buffer[: len(part)])
        np.einsum("ij,ij->i", difference, difference, out=found[start : start + step])
    return found
