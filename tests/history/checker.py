"""Checks that a history is strictly serialisable: an order of whole transactions that real time allows.

1. Every list that was read is a prefix of the longest list read of its key. So the order of the appends to
   each key is known.
2. What was read was written once, by a transaction that was not rejected; what was acknowledged, or read
   once, is in the final list.
3. An edge between two transactions means that one must come first: a write before the next write of that key,
   a write before its reads, a read before the next write, and a transaction before those that start after its
   end. The history is strictly serialisable iff the edges have no cycle.

Real time is represented by a chain of helper nodes, one per end of a transaction: an edge from each
transaction to the node of its end, and to each one from the last node before its start. That is three edges
per transaction instead of one per pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from history.record import Transaction

Graph = list[list[int]]


def anomalies(history: Sequence[Transaction], final: dict[str, list[int]]) -> list[str]:
    """What is wrong, as sentences; [] for a strictly serialisable history.

    final: the lists of all keys, read after everything had ended.
    """
    found: list[str] = []
    writers = _writers(history, found)
    found.extend(_wrong_lists(history, final, writers))
    if found:
        return found  # without one order of appends there is nothing to draw
    took_effect = {id(writers[key, element]) for key, elements in final.items() for element in elements}
    units = [each for each in history if each.outcome == "ok" or id(each) in took_effect]
    # What a refused transaction saw, it saw at one moment, like a read.
    units += [each for each in history if each.outcome == "refused" and (each.reads or each.lengths)]
    circle = _circle(_arrows(units, final))
    if circle:
        names = [_described(units[node]) for node in circle if node < len(units)]
        found.append("no order is possible among: " + "; ".join(names))
    return found


def _writers(history: Sequence[Transaction], found: list[str]) -> dict[tuple[str, int], Transaction]:
    writers: dict[tuple[str, int], Transaction] = {}
    for each in history:
        for key, element in each.appends.items():
            if (key, element) in writers:
                found.append(f"element {element} of {key} was appended by two transactions")
            writers[key, element] = each
    return writers


def _wrong_lists(
    history: Sequence[Transaction],
    final: dict[str, list[int]],
    writers: dict[tuple[str, int], Transaction],
) -> Iterator[str]:
    """Steps 1 and 2."""
    places: dict[tuple[str, int], int] = {}
    for key, elements in final.items():
        for place, element in enumerate(elements):
            if (key, element) in places:
                yield f"{key}: {element} is there twice"
            places[key, element] = place
            writer = writers.get((key, element))
            if writer is None:
                yield f"{key}: {element} was never appended"
            elif writer.outcome == "refused":
                yield f"{key}: {element} comes from a refused transaction: {_described(writer)}"
            else:
                for other, sibling in writer.appends.items():
                    if sibling not in final.get(other, ()):
                        yield f"{key} has {element}, but {other} lacks {sibling}: {_described(writer)}"
    for each in history:
        took_effect = any(place in places for place in each.appends.items())
        if each.outcome == "unknown" and not took_effect:
            continue
        for key, seen in each.reads.items():
            if seen != final.get(key, [])[: len(seen)]:
                yield f"{key} ended as {final.get(key, [])}, but was read as {seen}: {_described(each)}"
        for key, length in each.lengths.items():
            if length > len(final.get(key, ())):
                yield f"{key} never had {length} elements: {_described(each)}"
        if each.outcome == "refused":
            continue
        for key, element in each.appends.items():
            place = places.get((key, element))
            if place is None:
                yield f"{key}: {element} was acknowledged and is lost: {_described(each)}"
                continue
            if key in each.reads and len(each.reads[key]) != place:
                yield f"{key}: {element} does not follow what its transaction saw: {_described(each)}"
            if key in each.lengths and each.lengths[key] != place:
                yield f"{key}: {element} was not appended where its condition held: {_described(each)}"


def _arrows(units: Sequence[Transaction], final: dict[str, list[int]]) -> Graph:
    graph: Graph = [[] for _ in units]
    owner = {
        (key, element): node
        for node, each in enumerate(units)
        for key, element in each.appends.items()
        if each.outcome != "refused"
    }
    for key, elements in final.items():
        for before, after in pairwise(elements):
            _draw(graph, owner[key, before], owner[key, after])
    for node, each in enumerate(units):
        seen = [(key, len(elements)) for key, elements in each.reads.items()]
        for key, length in [*seen, *each.lengths.items()]:
            elements = final.get(key, [])
            if length > 0:
                _draw(graph, owner[key, elements[length - 1]], node)
            if length < len(elements):
                _draw(graph, node, owner[key, elements[length]])
    _draw_time(graph, units)
    return graph


def _draw(graph: Graph, before: int, after: int) -> None:
    if before != after:
        graph[before].append(after)


def _draw_time(graph: Graph, units: Sequence[Transaction]) -> None:
    # At the same instant a beginning comes before an end: nothing is said of their order then.
    events = [(each.start_ns, 0, node) for node, each in enumerate(units)]
    events += [(each.end_ns, 1, node) for node, each in enumerate(units) if each.end_ns is not None]
    last: int | None = None
    for _, is_end, node in sorted(events):
        if not is_end:
            if last is not None:
                graph[last].append(node)
            continue
        graph.append([])
        moment = len(graph) - 1
        graph[node].append(moment)
        if last is not None:
            graph[last].append(moment)
        last = moment


def _circle(graph: Graph) -> list[int]:
    """The nodes of a shortest circle through some node that lies on one; [] when there is none.

    Nodes without an arrow to them are taken away until none is left; what stays leads into circles.
    """
    incoming = [0] * len(graph)
    for arrows in graph:
        for node in arrows:
            incoming[node] += 1
    free = [node for node, count in enumerate(incoming) if count == 0]
    while free:
        for node in graph[free.pop()]:
            incoming[node] -= 1
            if incoming[node] == 0:
                free.append(node)
    stuck = [node for node, count in enumerate(incoming) if count]
    for start in stuck:
        circle = _way_back(graph, start)
        if circle:
            return circle
    return []


def _way_back(graph: Graph, start: int) -> list[int]:
    came_from: dict[int, int] = {}
    edge = [start]
    for node in edge:
        for after in graph[node]:
            if after == start:
                way = [node]
                while way[-1] != start:
                    way.append(came_from[way[-1]])
                return way[::-1]
            if after not in came_from:
                came_from[after] = node
                edge.append(after)
    return []


def _described(each: Transaction) -> str:
    parts = [f"T{each.name} ({each.outcome}, {each.start_ns}..{each.end_ns})"]
    parts += [f"appends {each.appends}"] if each.appends else []
    parts += [f"reads {each.reads}"] if each.reads else []
    parts += [f"lengths {each.lengths}"] if each.lengths else []
    return " ".join(parts)
