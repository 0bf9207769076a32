"""The nearest rows of a matrix, compared with scores in 64 bits of all rows."""

from __future__ import annotations

import random
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("numpy")

from faradisc.engine.vectors import block, numbers
from faradisc.engine.vectors.block import Block
from faradisc.engine.vectors.schema import Distance, VectorSchema
from faradisc.engine.vectors.searching import score
from faradisc.model.codec import item_record
from faradisc.model.values.schema import IndexProjection, KeySchema
from faradisc.model.values.size import item_size

KEY = KeySchema(("p",), (), {"p": "S"})
Vector = list[float]
DISTANCES: tuple[Distance, ...] = ("COSINE", "EUCLIDEAN", "DOT_PRODUCT")
SPREADS: dict[str, Callable[[random.Random], Vector]] = {
    "anywhere": lambda r: [r.gauss(0, 1) for _ in range(6)],
    "on a map": lambda r: [37.77 + r.gauss(0, 0.02), -122.42 + r.gauss(0, 0.02)],
    "in nearly one direction": lambda r: [1000 + r.gauss(0, 0.1), 1 + r.gauss(0, 0.1)] * 4,
    "around one point": lambda r: [1 + r.gauss(0, 1e-4) for _ in range(8)],
    "weather": lambda r: [20 + r.gauss(0, 0.1), 50 + r.gauss(0, 0.1), 101_325 + r.gauss(0, 1)],
    "large and cancelling": lambda r: [1e6 + r.gauss(0, 1), -1e6 + r.gauss(0, 1)],
    "very large": lambda r: [1e20 * r.gauss(0, 1) for _ in range(3)],
    "very small": lambda r: [1e-20 * r.gauss(0, 1) for _ in range(3)],
    "a few alike": lambda r: [float(r.randrange(3)) for _ in range(3)],
}


def filled(distance: Distance, vectors: list[Vector]) -> tuple[Block, dict[bytes, tuple[float, ...]]]:
    """A block, and its vectors by row key: as 32-bit floats, like every entry."""
    schema = VectorSchema(
        "vec", True, KEY, IndexProjection("ALL"), KEY, "e", len(vectors[0]), distance, None, ()
    )
    made, held = Block(schema), {}
    rows = []
    for number, vector in enumerate(vectors):
        packed = numbers.packed([{"N": repr(element)} for element in vector])
        assert packed is not None
        entry: dict[str, Any] = {"p": {"S": str(number)}, "e": {"B": b64encode(packed).decode()}}
        key = b"%05d" % number
        held[key] = numbers.unpacked(packed)
        rows.append((key, item_record.encode(entry, item_size(entry))))
    made.put(rows)
    return made, held


def best(
    distance: Distance, query: Vector, held: dict[bytes, tuple[float, ...]], count: int
) -> list[tuple[float, bytes]]:
    sign = -1.0 if distance == "DOT_PRODUCT" else 1.0
    return sorted((sign * score(distance, query, vector), key) for key, vector in held.items())[:count]


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_nearest_rows_are_among_the_candidates(distance: Distance, spread: str, seed: int) -> None:
    r = random.Random(seed)
    made, held = filled(distance, [SPREADS[spread](r) for _ in range(1500)])
    queries = [SPREADS[spread](r), list(held[b"%05d" % r.randrange(1500)]), [0.0] * len(held[b"00000"])]
    for query in queries:
        found = {key for _, key in made.nearest(query, [], 10)}
        wanted = best(distance, query, held, 10)
        assert [key for _, key in wanted if key not in found] == []


def test_a_query_far_from_all_rows_is_ranked_exactly() -> None:
    r = random.Random(3)
    made, held = filled("EUCLIDEAN", [[r.gauss(0, 1) for _ in range(4)] for _ in range(1500)])
    query = [1e6, -1e6, 1e6, 1.0]
    found = {key for _, key in made.nearest(query, [], 10)}
    assert {key for _, key in best("EUCLIDEAN", query, held, 10)} <= found


@pytest.mark.parametrize("distance", DISTANCES)
def test_of_equal_rows_the_first_by_key_are_scored(
    distance: Distance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block, "CANDIDATES_MAX", 20)
    made, _ = filled(distance, [[1.0, 2.0]] * 300 + [[-5.0, -5.0]])
    found = [key for _, key in made.nearest([1.0, 2.0], [], 5)]
    assert found == [b"%05d" % number for number in range(20)]


def test_separate_blocks_together_give_the_best_rows() -> None:
    r = random.Random(4)
    vectors = [SPREADS["on a map"](r) for _ in range(1500)]
    whole, held = filled("COSINE", vectors)
    query = list(held[b"00700"])
    pieces: list[tuple[float, bytes]] = []
    for first in range(0, 1500, 300):
        part, _ = filled("COSINE", vectors[first : first + 300])
        pieces += [(rank, b"%05d" % (int(key) + first)) for rank, key in part.nearest(query, [], 10)]
    found = {key for _, key in whole.best(pieces, query, 10)}
    assert {key for _, key in best("COSINE", query, held, 10)} <= found
