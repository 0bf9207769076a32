"""`faradisc plan`: what a design would do and cost."""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from faradisc.cli.databases import address
from faradisc.cli.failing import fail

if TYPE_CHECKING:
    from faradisc.tools.planner.plan_file.plan import Plan
    from faradisc.tools.planner.results.outcome import PlanOutcome
    from faradisc.tools.planner.run import Engine
    from faradisc.tools.readers.recognising import InputKind
    from faradisc.tools.traces.rate_file import RateTrace
    from faradisc.tools.traces.trace_format import Trace

Sums = tuple[int | None, float | None]
"""Of sums from CloudWatch: seconds of a period, and the peak factor."""
PLAN_FAILS = 1
BAD_INPUT = 2
GARBAGE = 100_000
"""New objects between two garbage collections. Runs make many short-lived objects and hardly a cycle: up to
11 % less time than with 700, measured."""
PIPED_WIDTH = 1000
"""Columns where standard output is not a terminal: so many that no value is wrapped."""


@click.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    help="Replay a recorded trace, a file of rates, or an export from CloudWatch, on the plan's tables.",
)
@click.option(
    "--peak-factor",
    type=click.FloatRange(min=1),
    help="How many times the mean of a period its busiest seconds have, in an export from CloudWatch; 1.",
)
@click.option(
    "--period",
    type=click.IntRange(min=1, max=86_400),
    help="Seconds of the periods of an export from CloudWatch; by default what its points are apart.",
)
@click.option(
    "--engine",
    type=click.Choice(["events", "fluid"]),
    help="Every request by itself, or one step per second; by default what the traffic allows.",
)
@click.option("--variant", help="Run only this variant of the plans.")
@click.option(
    "--what-if/--no-what-if",
    default=True,
    help="Rerun a plan that fails with changes that may help, and name the first that holds; on by default.",
)
@click.option(
    "--max-throttle-percent",
    type=click.FloatRange(min=0, max=100),
    help="A budget: attempts throttled, percent of all; replaces the plan's throttled_percent.",
)
@click.option(
    "--max-cost",
    type=click.FloatRange(min=0),
    help="A budget: US dollars a month as planned; replaces the plan's monthly_cost.",
)
@click.option(
    "--draws",
    type=click.IntRange(min=1, max=1000),
    help="How often to draw the seed and the places of keys where chance decides; by default 10, or fewer.",
)
@click.option("--seed", type=click.IntRange(min=0), help="Of all chance; replaces the plan's.")
@click.option("--html", type=click.Path(path_type=Path), help="Write a report, one page, to this file.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the numbers to this file.")
@click.option("--json-series", is_flag=True, help="Write all series to the JSON as well, minute by minute.")
@click.option(
    "--compare",
    type=click.Path(path_type=Path),
    help="Compare with an earlier --json of these plans; what is worse exits with 1.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0),
    default=5,
    show_default=True,
    help="Percent by which --compare lets a value differ.",
)
@click.option(
    "--from",
    "source",
    callback=address,
    help="Write a plan of a running endpoint's tables and their last hours; `aws` for Amazon's. Reads only.",
)
@click.option("--table", "names", multiple=True, help="A table of --from; by default all.")
@click.option("--hours", type=click.IntRange(1, 24), default=24, show_default=True, help="Of --from.")
@click.option("--region", help="Of --from; by default the environment's.")
@click.option("--output", type=click.Path(path_type=Path), help="Where --from writes; else standard output.")
@click.option("--csv", "csv_dir", type=click.Path(path_type=Path), help="Write the tables to this directory.")
@click.option("--quiet", is_flag=True, help="Print the headlines and budgets only.")
def plan(
    files: tuple[Path, ...],
    *,
    trace: Path | None,
    peak_factor: float | None,
    period: int | None,
    max_throttle_percent: float | None,
    max_cost: float | None,
    engine: Engine | None,
    variant: str | None,
    what_if: bool,
    draws: int | None,
    seed: int | None,
    html: Path | None,
    json_file: Path | None,
    json_series: bool,
    compare: Path | None,
    tolerance: float,
    source: str | None,
    names: tuple[str, ...],
    hours: int,
    region: str | None,
    output: Path | None,
    csv_dir: Path | None,
    quiet: bool,
) -> None:
    """Run plans in virtual time: throttles, hot keys, partitions, cost, before paying for them.

    FILES are plans (docs/guide/planning.md, examples/plans). Exits 0 when every plan holds, 1 when one
    fails, 2 when the input cannot be used.
    """
    if source is not None:
        _write_plan(source, region, output, hours=hours, names=names)
        return
    if not files and trace is None:
        _fail("name a plan file, or a trace with --trace; examples are in examples/plans")
    try:
        from faradisc.tools.planner.results.chance import draws_of, judged  # noqa: PLC0415
        from faradisc.tools.planner.results.what_if import explored  # noqa: PLC0415
        from faradisc.tools.planner.run import run  # noqa: PLC0415
        from faradisc.tools.traces.errors import PlanError  # noqa: PLC0415 - the other commands need none of this
        from faradisc.tools.transfer.progress import Progress  # noqa: PLC0415
    except ModuleNotFoundError as error:
        _fail(f"plans need {error.name}, which is not installed. Run: pip install 'faradisc[plan]'")
    gc.set_threshold(GARBAGE)
    limits = {"throttled_percent": max_throttle_percent, "monthly_cost": max_cost}
    outcomes: list[PlanOutcome] = []
    try:
        for file in files or (None,):
            plans, recorded = _load(file, trace, (period, peak_factor), seed)
            for wanted in _chosen(plans, variant):
                limited = wanted.within(limits)

                def rerun(other: Plan, recorded: Trace | None = recorded) -> PlanOutcome:
                    return run(other, engine=engine, trace=recorded, watch=progress.passed)

                times = 1 if recorded is not None else draws_of(limited, draws)
                with Progress(limited.duration_s * times, limited.name, "s") as progress:
                    outcome = judged(limited, rerun, times)
                    if what_if and not quiet:
                        progress.total = None  # how many other plans are tried depends on how they go
                        outcome = explored(limited, outcome, rerun, times)
                outcomes.append(outcome)
    except PlanError as mistake:
        _fail(str(mistake))
    _print(outcomes, quiet=quiet)
    worse = compare is not None and _compare(outcomes, compare, tolerance)
    try:
        _write(outcomes, html, json_file, csv_dir, series=json_series)
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}. Name a place that can be written")
    if worse or not all(outcome.holds for outcome in outcomes):
        raise SystemExit(PLAN_FAILS)


def _write_plan(
    source: str, region: str | None, output: Path | None, *, hours: int, names: tuple[str, ...]
) -> None:
    try:
        from faradisc.cli.plan_from import plan_from  # noqa: PLC0415 - another extra
        from faradisc.tools.traces.errors import PlanError  # noqa: PLC0415
    except ModuleNotFoundError as error:
        _fail(f"--from needs {error.name}, which is not installed. Run: pip install 'faradisc[plan]'")
    try:
        text = plan_from(source, region, hours=hours, tables=names)
        if output is None:
            click.echo(text, nl=False)
        else:
            output.write_text(text, encoding="utf-8")
    except (PlanError, OSError) as mistake:
        _fail(str(mistake))


def _compare(outcomes: Sequence[PlanOutcome], file: Path, tolerance: float) -> bool:
    """Prints what is different from an earlier run. Returns whether something is worse."""
    from faradisc.tools.planner.results.comparison import compared, earlier  # noqa: PLC0415
    from faradisc.tools.traces.errors import PlanError  # noqa: PLC0415

    try:
        before = earlier(str(file), json.loads(file.read_text(encoding="utf-8")))
    except (PlanError, OSError) as mistake:
        _fail(str(mistake))
    except ValueError:
        _fail(f"{file}: this is not JSON. Name a file that faradisc plan --json wrote")
    worse = False
    for outcome in outcomes:
        found = list(compared(before, outcome, tolerance))
        for each in found:
            click.echo(f"{outcome.title}: {'WORSE' if each.worse else 'different'}: {each.words}")
        if not found:
            click.echo(f"{outcome.title}: as in {file}, within {tolerance:g} %")
        worse = worse or any(each.worse for each in found)
    return worse


def _chosen(plans: Sequence[Plan], variant: str | None) -> Sequence[Plan]:
    from faradisc.tools.traces.errors import nearest  # noqa: PLC0415

    if variant is None:
        return plans
    chosen = [each for each in plans if each.variant == variant]
    if not chosen:
        _fail(f"{plans[0].file} has no variant {variant!r}. {nearest(variant, [p.variant for p in plans])}")
    return chosen


def _load(
    file: Path | None, trace_file: Path | None, sums: Sums, seed: int | None
) -> tuple[Sequence[Plan], Trace | None]:
    """Returns the plans of a file, one for each variant, and the trace to replay. Raises PlanError."""
    from faradisc.cli.trace_file import beside, watched_lines  # noqa: PLC0415
    from faradisc.tools.planner.plan_file.loading import load_plans  # noqa: PLC0415
    from faradisc.tools.planner.plan_file.plan_of_rates import plan_of_rates, with_rates  # noqa: PLC0415
    from faradisc.tools.planner.plan_file.plan_of_trace import plan_of_trace, with_trace  # noqa: PLC0415
    from faradisc.tools.traces.trace_format import Trace  # noqa: PLC0415

    trace = None
    rates = _rates(trace_file, sums)
    if trace_file is not None and rates is None:
        trace = Trace.scan(str(trace_file), lambda: watched_lines(trace_file))
    if file is None:
        only_seed = 1 if seed is None else seed
        if rates is not None:
            return [plan_of_rates(rates, seed=only_seed)], None
        assert trace is not None
        return [plan_of_trace(trace, seed=only_seed)], trace
    plans = load_plans(
        _text(file),
        str(file),
        seed=seed,
        traced=trace_file is not None,
        start_s=rates.start_s if rates is not None else None,
        lines_of=beside(file),
    )
    if trace is not None:
        return [with_trace(each, trace) for each in plans], trace
    return [with_rates(each, rates) for each in plans] if rates is not None else plans, None


def _rates(file: Path | None, sums: Sums) -> RateTrace | None:
    """Returns the rates in a file; None where it is not one of rates. Raises PlanError."""
    from faradisc.cli.trace_file import contents, first_line, lines_of  # noqa: PLC0415
    from faradisc.tools.traces.cloudwatch import (  # noqa: PLC0415
        EXPORT_BYTES_MAX,
        begins_export,
        read_export,
    )
    from faradisc.tools.traces.rate_file import begins_rates, read_rates  # noqa: PLC0415

    first = b"" if file is None else first_line(file)
    if file is not None and begins_export(first):
        peak_factor = Fraction(sums[1] or 1).limit_denominator(1000)
        text = contents(file, EXPORT_BYTES_MAX)
        return read_export(str(file), text, period_s=sums[0], peak_factor=peak_factor)
    if sums != (None, None):
        _fail("--peak-factor and --period are for traces from CloudWatch. Leave them out")
    return read_rates(str(file), lines_of(file)) if file is not None and begins_rates(first) else None


def _text(file: Path) -> str:
    """Raises PlanError."""
    from faradisc.tools.readers.recognising import InputKind  # noqa: PLC0415
    from faradisc.tools.traces.errors import PlanError  # noqa: PLC0415

    try:
        text = file.read_text(encoding="utf-8")
        kind = _kind_of(file, text)
    except OSError as error:
        raise PlanError(str(file), None, f"it cannot be read: {error.strerror}", "Check its name.") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise PlanError(str(file), line, "this is not UTF-8", "Save the file as UTF-8 text.") from None
    if kind is not None and kind is not InputKind.PLAN:
        raise PlanError(str(file), None, f"this is {kind.title}, no plan", f"{kind.use}.")
    return text


def _kind_of(file: Path, text: str) -> InputKind | None:
    """Returns the kind of a file that is no plan in YAML. Raises OSError."""
    from faradisc.tools.readers.recognising import InputKind, kind_of_file  # noqa: PLC0415

    if re.search(r"^(Resources|AWSTemplateFormatVersion)\s*:", text, re.MULTILINE):
        return InputKind.CLOUDFORMATION
    return kind_of_file(file)


def _print(outcomes: Sequence[PlanOutcome], *, quiet: bool) -> None:
    from rich.console import Console  # noqa: PLC0415

    from faradisc.tools.planner.report.terminal import show  # noqa: PLC0415

    if not quiet:
        console = Console(highlight=False)
        if not console.is_terminal:
            console.width = PIPED_WIDTH
        show(outcomes, console)
        return
    for outcome in outcomes:
        click.echo(f"{outcome.title}: {outcome.headline.text}")
        for budget in outcome.budgets:
            click.echo(f"{outcome.title}: {'holds' if budget.holds else 'BROKEN'}: {budget.words}")


def _write(
    outcomes: Sequence[PlanOutcome],
    html: Path | None,
    json_file: Path | None,
    csv_dir: Path | None,
    *,
    series: bool,
) -> None:
    if html is not None:
        from faradisc.tools.planner.report import render  # noqa: PLC0415

        html.write_text(render(outcomes), encoding="utf-8")
    if json_file is not None:
        # One plan is one document; several are a list of them.
        documents = [outcome.to_json(series=series) for outcome in outcomes]
        text = json.dumps(documents[0] if len(documents) == 1 else documents, indent=1, ensure_ascii=False)
        json_file.write_text(text + "\n", encoding="utf-8")
    if csv_dir is not None:
        from faradisc.tools.planner.results.csv_tables import plans_table, tables  # noqa: PLC0415

        for number, outcome in enumerate(outcomes, 1):
            directory = csv_dir if len(outcomes) == 1 else csv_dir / _folder(number, outcome)
            directory.mkdir(parents=True, exist_ok=True)
            for name, text in tables(outcome).items():
                (directory / name).write_text(text, encoding="utf-8")
        (csv_dir / "plans.csv").write_text(plans_table(outcomes), encoding="utf-8")


def _folder(number: int, outcome: PlanOutcome) -> str:
    """Returns "1-orders", or "2-orders-by-date" for a variant."""
    variant = re.sub(r"[^A-Za-z0-9.]+", "-", outcome.variant).strip("-")
    return "-".join(filter(None, (str(number), Path(outcome.file).stem, variant)))


def _fail(sentence: str) -> NoReturn:
    fail(sentence, BAD_INPUT)
