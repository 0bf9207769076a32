"""The tables of a run: aligned text for the terminal, Markdown for the docs, plain data for JSON."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.machine import Machine
from bench.rounds import Row, Startup

START_S_MAX = 0.4
IDLE_BYTES_MAX = 60 * 2**20
SCALE_RATIO_MAX = 1.5
BEGIN = "<!-- bench:{name} -->"
END = "<!-- /bench:{name} -->"
REFERENCE = "dynoxide"
"""The server that targets are compared with."""

OURS = "faradisc"
ABSENT = "-"
FIGURES = ("ops/s", "items/s", "p50 ms", "p99 ms", "CPU us/op", "spread", "client", "errors")


class MissingMarks(Exception):
    """A Markdown file has no marks for a table."""


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """A title and rows of text; the first row is the head, and the first two columns are words."""

    title: str
    rows: Sequence[Sequence[str]]

    def text(self) -> str:
        widths = [max(map(len, column)) for column in zip(*self.rows, strict=True)]
        lines = [
            "  ".join(
                text.ljust(width) if number < 2 else text.rjust(width) for number, (text, width) in pairs
            )
            for pairs in (list(enumerate(zip(row, widths, strict=True))) for row in self.rows)
        ]
        return "\n".join([self.title, lines[0], "-" * len(lines[0]), *lines[1:]])

    def markdown(self) -> str:
        head, *body = (" | ".join(row) for row in self.rows)
        rule = "|".join("---" if number < 2 else "---:" for number in range(len(self.rows[0])))
        return "\n".join(
            [f"**{self.title}**", "", f"| {head} |", f"|{rule}|", *(f"| {line} |" for line in body)]
        )


def comparison(rows: Sequence[Row], conditions: str) -> list[Table]:
    """Returns a table of figures, and one of ratios if Faradisc and another server took part."""
    tables = [Table(f"Operations per second, {conditions}", _figures(rows))]
    ratios = _ratios(rows)
    if len(ratios) > 1:
        title = "Faradisc's items per second and CPU per operation, as ratios (above 1: Faradisc is better)"
        tables.append(Table(title, ratios))
    tables += _problems(rows)
    return tables


def startups(measured: Sequence[Startup], memory_after: dict[str, int]) -> Table:
    """Returns the table of start time, idle memory and memory after the run."""
    head = (
        "server",
        "verdict",
        "start to first answer",
        "slowest start",
        "idle memory",
        "memory after the run",
    )
    body = []
    for each in measured:
        within = each.start_s <= START_S_MAX and each.idle_bytes <= IDLE_BYTES_MAX
        body.append(
            (
                each.label,
                verdict(within) if each.label == OURS else ABSENT,
                f"{each.start_s:.3f} s",
                f"{each.start_s_max:.3f} s",
                _mebibytes(each.idle_bytes),
                _mebibytes(memory_after[each.label]) if each.label in memory_after else ABSENT,
            )
        )
    title = f"Start and memory (targets: {START_S_MAX} s, {IDLE_BYTES_MAX // 2**20} MB)"
    return Table(title, [head, *body])


def scale(rows: Sequence[Row], conditions: str) -> list[Table]:
    """Compares a small table with a large one; rows are pairs, the small one first."""
    small_label, large_label = rows[0].label, rows[1].label
    head = ("workload", "verdict", small_label, large_label, "times slower", "CPU times")
    body = []
    for small, large in zip(rows[::2], rows[1::2], strict=True):
        if small.problem or large.problem:
            body.append((small.workload.title, "invalid", *[ABSENT] * 4))
            continue
        slower = small.ratio_to(large)
        body.append(
            (
                small.workload.title,
                verdict(slower <= SCALE_RATIO_MAX),
                f"{small.rate:,.0f}",
                f"{large.rate:,.0f}",
                f"{slower:.2f}",
                f"{large.cpu_us / small.cpu_us:.2f}",
            )
        )
    title = f"Faradisc on two sizes (target: at most {SCALE_RATIO_MAX} times slower), {conditions}"
    return [Table(title, [head, *body]), Table("The same, in full", _figures(rows)), *_problems(rows)]


POSTGRES_TARGETS = {
    "getitem": 0.5,
    "query100": 0.9,
    "putitem": 0.45,
    "updateitem": 0.4,
    "transactwrite4": 0.35,
}
"""Least rates over PostgreSQL, as a share of those over RocksDB."""


def postgres(rows: Sequence[Row]) -> list[Table]:
    """Compares one server over RocksDB with one over PostgreSQL; rows are pairs in this order."""
    body = [("workload", "verdict", "target", "ratio", "node's CPU")]
    for rocks, over in zip(rows[::2], rows[1::2], strict=True):
        target = POSTGRES_TARGETS.get(rocks.workload.name)
        if rocks.problem or over.problem:
            body.append((rocks.workload.title, "invalid", *[ABSENT] * 3))
            continue
        ratio = over.ratio_to(rocks)
        judged = ABSENT if target is None else verdict(ratio >= target)
        shown = ABSENT if target is None else f"{target:g}"
        body.append(
            (rocks.workload.title, judged, shown, f"{ratio:.2f}", f"{over.cpu_us / rocks.cpu_us:.2f}")
        )
    return [
        Table("Over PostgreSQL, as a ratio to RocksDB", body),
        Table("The same, in full (CPU of the server without PostgreSQL)", _figures(rows)),
        *_problems(rows),
    ]


def feature(rows: Sequence[Row], title: str, cost_max: float) -> list[Table]:
    """Compares a table without a feature with one that has it; rows are pairs, the plain one first."""
    head = ("workload", "verdict", "without", "with", "cost", "CPU cost", "p99 ms without", "p99 ms with")
    body = []
    for plain, with_it in zip(rows[::2], rows[1::2], strict=True):
        if plain.problem or with_it.problem:
            body.append((plain.workload.title, "invalid", *[ABSENT] * 6))
            continue
        cost = 1 - 1 / plain.ratio_to(with_it)
        body.append(
            (
                plain.workload.title,
                verdict(cost < cost_max),
                f"{plain.rate:,.0f}",
                f"{with_it.rate:,.0f}",
                f"{cost:.0%}",
                f"{with_it.cpu_us / plain.cpu_us - 1:.0%}",
                f"{plain.p99_ms:.2f}",
                f"{with_it.p99_ms:.2f}",
            )
        )
    heading = f"What {title} costs (target: less than {cost_max:.0%} of the throughput)"
    return [Table(heading, [head, *body]), *_problems(rows)]


def markdown(tables: Sequence[Table], machine: Machine, notes: Sequence[str]) -> str:
    listed = "\n".join(f"- {line}" for line in [*machine.lines(), *notes])
    return "\n\n".join([listed, *(table.markdown() for table in tables)])


def publish(path: Path, name: str, content: str) -> None:
    """Replaces the text between the two marks `name` in a Markdown file.

    Raises MissingMarks.
    """
    before, after = split_at_marks(path, name)
    path.write_text(f"{before}\n{content}\n{after}")


def split_at_marks(path: Path, name: str) -> tuple[str, str]:
    """Returns the text up to the end of the opening mark, and from the closing mark on.

    Raises MissingMarks and OSError.
    """
    begin, end = BEGIN.format(name=name), END.format(name=name)
    text = path.read_text()
    if text.count(begin) != 1 or text.count(end) != 1:
        raise MissingMarks(f"{path} has no single pair of {begin} and {end}")
    before, _, rest = text.partition(begin)
    return before + begin, end + rest.partition(end)[2]


def data(
    rows: Sequence[Row], measured: Sequence[Startup], machine: Machine, notes: Sequence[str]
) -> dict[str, Any]:
    """Returns all figures, round by round."""
    return {
        "machine": dataclasses.asdict(machine),
        "notes": list(notes),
        "startups": [dataclasses.asdict(each) for each in measured],
        "rows": [
            {
                "workload": row.workload.name,
                "server": row.label,
                "items_per_operation": row.items_per_operation,
                "problem": row.problem,
                "rounds": [
                    {**dataclasses.asdict(timing), "server_cpu_s": cpu}
                    for timing, cpu in zip(row.timings, row.cpu_s, strict=True)
                ],
            }
            for row in rows
        ],
    }


def _figures(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    head = ("workload", "server", *FIGURES)
    body = []
    for row in rows:
        if row.problem:
            texts = ["invalid", *[ABSENT] * (len(FIGURES) - 2), str(row.errors)]
        else:
            texts = [
                _rate(row.rate),
                _rate(row.rate * row.items_per_operation),
                f"{row.p50_ms:.2f}",
                f"{row.p99_ms:.2f}",
                f"{row.cpu_us:,.0f}",
                f"{row.spread:.0%}",
                f"{row.client_share:.0%}",
                str(row.errors),
            ]
        body.append((row.workload.title, row.label, *texts))
    return [head, *body]


def _ratios(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    by_place = {(row.workload.name, row.label): row for row in rows}
    peers = [label for label in dict.fromkeys(row.label for row in rows) if label != OURS]
    head = ["workload", "verdict", "target"]
    for peer in peers:
        head += [f"to {peer}", f"CPU to {peer}"]
    body = []
    for ours in (row for row in rows if row.label == OURS):
        target = ours.workload.target
        texts: list[str] = []
        judged = ABSENT
        for peer in peers:
            theirs = by_place[ours.workload.name, peer]
            if ours.problem or theirs.problem:
                texts += [ABSENT, ABSENT]
                continue
            ratio = ours.ratio_to(theirs)
            texts += [f"{ratio:.2f}", f"{_cpu_per_item(theirs) / _cpu_per_item(ours):.2f}"]
            if peer == REFERENCE and target is not None:
                judged = verdict(ratio >= target)
        body.append((ours.workload.title, judged, ABSENT if target is None else f"{target:g}", *texts))
    return [tuple(head), *body] if peers and body else []


def _problems(rows: Sequence[Row]) -> list[Table]:
    found = [(row.workload.title, row.label, row.problem) for row in rows if row.problem]
    return [Table("Invalid rows", [("workload", "server", "why"), *found])] if found else []


def _cpu_per_item(row: Row) -> float:
    return row.cpu_us / row.items_per_operation


def verdict(met: bool) -> str:
    return "met" if met else "missed"


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:.1f} MB"
