"""What the reader wants first: whether the plan holds, why, and what it costs; what to believe last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from faradisc.charts.markup import Child, Markup, element, join
from faradisc.charts.page import paragraphs
from faradisc.charts.plots import bar
from faradisc.charts.tables import Column, Row, pairs, table
from faradisc.charts.words import SPACE, count, duration, moment, money, percent, plural, units
from faradisc.tools.planner.report.detail import Detail, cut, cut_paragraph
from faradisc.tools.planner.report.lanes import CAUSE_NAMES
from faradisc.tools.planner.results.outcome import BudgetResult, ModeCost, Outcome, Totals


def headline(outcome: Outcome, detail: Detail) -> tuple[str, str, str]:
    """The verdict: (style, the word, the rest of the sentence)."""
    broken = [cut(told(budget), detail) for budget in outcome.budgets if not budget.holds]
    first = cut(_sentence(outcome.verdict[0] if outcome.verdict else "Nothing was asked for."), detail)
    if broken:
        return (
            "fails",
            "Does not hold.",
            " ".join([*map(_sentence, broken), because(outcome, detail)]).strip(),
        )
    if outcome.budgets:
        return "holds", "Holds.", first
    return "open", "", first


def _milliseconds(value: float) -> str:
    return f"{units(value)}{SPACE}ms"


_BUDGETS: dict[str, tuple[str, Callable[[float], str]]] = {
    "throttled_percent": ("{} of the attempts were refused, at most {} allowed", percent),
    "lost_percent": ("{} of the requests were lost, at most {} allowed", percent),
    "p99_wait_ms": ("one request in a hundred waited {} or longer, at most {} allowed", _milliseconds),
    "monthly_cost": ("a month costs {}, at most {} allowed", money),
    "keys_to_shard": ("hot keys that fit no partition: {}, at most {} allowed", count),
    "partitions": ("partitions of one table or index: {}, at most {} allowed", count),
}
"""What each budget of a plan file (plan.py, `BUDGETS`) means: a sentence of what was found and what
was allowed, and how both are written."""


def told(budget: BudgetResult) -> str:
    """A budget as a sentence."""
    if budget.name not in _BUDGETS:
        return budget.words
    sentence, written = _BUDGETS[budget.name]
    return sentence.format(written(budget.value), written(budget.limit))


def because(outcome: Outcome, detail: Detail) -> str:
    """The first thing to change: the key that was refused most and fits no partition, or the limit that
    refused most. Empty where nothing was refused."""
    keys = [key for key in outcome.hot_keys if key.verdict == "shard" and key.ways]
    if keys:
        worst = max(keys, key=lambda key: key.throttled)
        key, where = cut(worst.key, detail), cut(worst.resource, detail)
        return f"The key {key!r} of {where} alone needs {plural(worst.ways or 0, 'partition')}."
    causes = [
        (events, resource.name, cause.split()[-1])
        for resource in outcome.resources
        for cause, events in resource.throttle_summary.events.items()
        if events
    ]
    if not causes:
        return ""
    _, name, cause = max(causes, key=lambda each: each[0])
    return f"Most was refused at {cut(name, detail)}: {CAUSE_NAMES.get(cause, cause)}."


def _sentence(words: str) -> str:
    """With a capital and a full stop, whoever wrote it."""
    text = words.strip()
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?", "\u2026")) or not text else text + "."


def opening(outcome: Outcome, detail: Detail) -> Markup:
    """Headline, the other sentences of the verdict, the totals."""
    style, word, rest = headline(outcome, detail)
    said = [text for text in outcome.verdict if cut(_sentence(text), detail) != rest]
    return join(
        element(
            "p",
            element("b", word) if word else None,
            " " if word else None,
            rest,
            class_=f"verdict {style}",
        ),
        element("ul", [element("li", cut(_sentence(text), detail)) for text in said]) if said else None,
        paragraphs(cut_paragraph(outcome.description, detail), style="soft") if outcome.description else None,
        pairs(_totals(outcome)),
    )


def _totals(outcome: Outcome) -> list[tuple[str, Child]]:
    totals = outcome.totals
    found: list[tuple[str, Child]] = [
        ("time simulated", duration(outcome.duration_s)),
        ("requests", count(totals.offered)),
        ("attempts refused", f"{count(totals.throttled)} ({percent(totals.throttled_percent)})"),
        ("requests lost", f"{count(totals.lost)} ({percent(totals.lost_percent)})"),
        ("wait, 99th percentile", _milliseconds(totals.waits.p99_ms)),
        ("read / write units", f"{count(totals.read_units)} / {count(totals.write_units)}"),
    ]
    if totals.cached:
        found.insert(2, ("answered by the cache", count(totals.cached)))
    return found


def budgets(outcome: Outcome, detail: Detail) -> Markup | None:
    if not outcome.budgets:
        return None
    rows = [
        Row(
            (
                budget.name.replace("_", " "),
                _written(budget, budget.limit),
                _written(budget, budget.value),
                element("b", "holds" if budget.holds else "broken", class_="ok" if budget.holds else "mark"),
                cut(_sentence(told(budget)), detail),
            ),
            None if budget.holds else "bad",
        )
        for budget in outcome.budgets
    ]
    columns = (
        Column("budget", words=True),
        Column("at most"),
        Column("found"),
        Column("result", words=True),
        Column("in words", words=True),
    )
    return table("Budgets", columns, rows)


def _written(budget: BudgetResult, value: float) -> str:
    return _BUDGETS[budget.name][1](value) if budget.name in _BUDGETS else units(value)


def flows(outcome: Outcome, detail: Detail) -> Markup | None:
    """The streams of traffic beside each other; None where there is only one."""
    if len(outcome.flows) < 2:
        return None
    cached = any(flow.cached for flow in outcome.flows)
    columns = [
        Column("traffic", words=True),
        Column("requests"),
        *([Column("cached")] if cached else []),
        Column("attempts"),
        Column("refused", "of attempts"),
        Column("lost", "of requests"),
        Column("wait, mean", "ms"),
        Column("wait, p99", "ms"),
        Column("read units"),
        Column("write units"),
    ]
    rows = [_flow(flow, cached, detail) for flow in outcome.flows[: detail.rows]]
    return table("Traffic", columns, rows, left_out=len(outcome.flows) - len(rows))


def _flow(flow: Totals, cached: bool, detail: Detail) -> list[Child]:
    return [
        cut(flow.name, detail),
        count(flow.offered),
        *([count(flow.cached)] if cached else []),
        count(flow.attempts),
        percent(flow.throttled_percent),
        percent(flow.lost_percent),
        units(flow.waits.mean_ms),
        units(flow.waits.p99_ms),
        count(flow.read_units),
        count(flow.write_units),
    ]


def costs(outcome: Outcome, detail: Detail) -> Markup | None:
    """Every mode side by side, in all and per resource."""
    found = outcome.costs
    if not found.modes:
        return None
    return join(
        table(
            "A month in each mode, if every day were like this run",
            (
                Column("mode", words=True),
                Column("reads", "USD"),
                Column("writes", "USD"),
                Column("storage", "USD"),
                Column("other", "USD"),
                Column("total", "USD"),
                Column("of it indexes", "USD"),
                Column("refused", "of the units"),
            ),
            [_mode(mode, _dearest(found.modes), detail) for mode in found.modes],
        ),
        _by_resource(outcome, detail),
        paragraphs(_priced(outcome, detail), style="soft"),
    )


def _dearest(modes: Sequence[ModeCost]) -> float:
    return max((mode.total_usd for mode in modes), default=0)


def _mode(mode: ModeCost, dearest: float, detail: Detail) -> Row:
    style = "bar best" if mode.cheapest else "bar"
    return Row(
        (
            f"{mode.title}, cheapest" if mode.cheapest else mode.title,
            money(mode.read_usd),
            money(mode.write_usd),
            money(mode.storage_usd),
            money(mode.other_usd),
            [money(mode.total_usd), bar(mode.total_usd / dearest if dearest else 0, style=style, width=90)],
            money(mode.index_usd),
            percent(mode.throttled_percent),
        ),
        "best" if mode.cheapest else None,
        cut(mode.words, detail),
    )


def _by_resource(outcome: Outcome, detail: Detail) -> Markup | None:
    listed = outcome.costs.resources
    if len(listed) < 2:
        return None
    titles = [mode.title for mode in outcome.costs.modes]
    columns = [Column("table or index", words=True), *(Column(title) for title in titles)]
    rows = []
    for cost in listed[: detail.rows]:
        totals = {mode.title: money(mode.total_usd) for mode in cost.modes}
        rows.append([cut(cost.resource, detail), *(totals.get(title, "") for title in titles)])
    return table("The same by table and index", columns, rows, left_out=len(listed) - len(rows))


def _priced(outcome: Outcome, detail: Detail) -> str:
    prices = outcome.costs.prices
    told = [str(prices[name]) for name in ("region", "date", "source") if prices.get(name)]
    month = f"A month has {count(outcome.costs.month_hours)} hours."
    return cut(f"{month} Prices: {', '.join(told)}." if told else month, detail)


def assumptions(outcome: Outcome, detail: Detail) -> Markup:
    """What the numbers rest on."""
    engine = "request by request" if outcome.engine == "events" else "in steps of a second, as flows"
    return element(
        "section",
        element("h3", "What this rests on"),
        pairs(
            [
                ("plan", cut(outcome.file, detail)),
                ("profile", outcome.profile),
                ("computed", engine),
                ("seed", str(outcome.seed)),
                ("0:00 is", _start(outcome.start)),
                ("samples", f"{count(outcome.samples)} of {duration(outcome.step_s)}"),
            ]
        ),
        element(
            "ul", [element("li", cut(_sentence(text), detail)) for text in outcome.assumptions[: detail.rows]]
        )
        if outcome.assumptions
        else None,
        _skipped(outcome, detail),
    )


def _start(written: str) -> str:
    """ISO 8601 as a moment of the calendar; what is no moment is shown as it is."""
    try:
        return moment(datetime.fromisoformat(written).timestamp())
    except ValueError:
        return written


def _skipped(outcome: Outcome, detail: Detail) -> Markup | None:
    skipped = outcome.skipped
    if skipped is None or not skipped.lines:
        return None
    return join(
        paragraphs(
            f"{plural(skipped.lines, 'line')} of the trace could not be read and "
            f"{'was' if skipped.lines == 1 else 'were'} left out; {plural(skipped.read, 'line')} "
            f"{'was' if skipped.read == 1 else 'were'} read. The first:"
        ),
        element(
            "ul", [element("li", element("code", cut(line, detail))) for line in skipped.first[: detail.rows]]
        ),
    )
