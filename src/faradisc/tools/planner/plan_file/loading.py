"""The plan file as a whole: from its text to plans, one for each variant.

docs/reference/plan-files.md describes the members for users. Everything is checked here, so a plan that was
loaded can be run. Every mistake names file, line and remedy (`PlanError`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ValidationError, ValidationInfo, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from faradisc.capacity.config import CapacityConfig
from faradisc.records import dataclass
from faradisc.tools.planner.plan_file.document import Mapping, locate, merged, parse
from faradisc.tools.planner.plan_file.fields import (
    DIGITS_MAX,
    Amount,
    Count,
    Example,
    Seconds,
    Text,
    explained,
    members_of,
    mistake,
    reader,
)
from faradisc.tools.planner.plan_file.key_file import LinesOf, no_files
from faradisc.tools.planner.plan_file.plan import BUDGETS, DURATION_MAX_S, START_S, FlowPlan, Plan, TablePlan
from faradisc.tools.planner.plan_file.tables import Modelled, PlanTable
from faradisc.tools.planner.plan_file.traffic import ClassMember, RetriesMember, StreamPlan
from faradisc.tools.planner.results.prices import LABEL_NAMES, PRICE_NAMES, US_EAST_1
from faradisc.tools.planner.workload.retries import NO_RETRIES, Retries, standard
from faradisc.tools.traces.errors import PlanError
from faradisc.tools.traces.trace_format import epoch_seconds

_PRICE = re.compile(r"\d[\d_]*(\.\d+)?")
_FIRST_S, _LAST_S = 0, 32_503_680_000
"""A run lies in the years 1970 to 2999: Python has no day after the last one of 9999."""


def _read_start(text: str) -> int:
    try:
        start_s = epoch_seconds(text)
    except ValueError:
        raise mistake(f"{text!r} is not a moment", "Write it like 2026-11-02T08:00:00Z.") from None
    if not _FIRST_S <= start_s <= _LAST_S - DURATION_MAX_S:
        raise mistake("a run begins in one of the years 1970 to 2998", "Write another year.")
    return start_s


def _check_prices(prices: dict[str, str]) -> dict[str, str]:
    for name in [name for name in PRICE_NAMES if name in prices]:
        if len(prices[name]) > DIGITS_MAX or not _PRICE.fullmatch(prices[name]):
            raise mistake(
                f"{prices[name][:DIGITS_MAX]!r} is not a price", "Write one, for example 0.70.", [name]
            )
    return prices


def _with_price_file(prices: object, info: ValidationInfo[dict[str, LinesOf]]) -> object:
    """Returns the prices with those of the file that they name, such as that of a Region."""
    if not isinstance(prices, dict) or not isinstance(name := prices.get("file"), str):
        return prices
    try:
        listed = parse(b"".join(info.context["lines_of"](name)).decode(), name)
    except (OSError, ValueError) as error:
        what = f"{name!r} cannot be read: {error.strerror if isinstance(error, OSError) else error}"
        raise mistake(what, "Name a file; relative names begin at the plan's directory.", ["file"]) from None
    return {**listed, **{each: value for each, value in prices.items() if each != "file"}}


class PlanFile(Modelled):
    """The members of a plan file."""

    name: Text = ""
    description: Text = ""
    start: Annotated[int, reader(_read_start)] = START_S
    duration: Seconds = 0
    seed: Count = 1
    retries: RetriesMember | None = None
    tables: Annotated[dict[str, PlanTable], Example("tables: {Orders: {mode: on-demand}}")]
    traffic: list[StreamPlan] = []
    classes: dict[str, ClassMember] = {}
    budgets: Annotated[dict[str, Amount], members_of(BUDGETS)] = {}
    prices: Annotated[
        dict[str, Text],
        members_of((*PRICE_NAMES, *LABEL_NAMES)),
        AfterValidator(_check_prices),
        BeforeValidator(_with_price_file),
    ] = {}
    variants: Any = None
    """Taken apart before; a variant has none."""

    @model_validator(mode="after")
    def _check_plan(self) -> PlanFile:
        if self.has("variants"):
            raise mistake("a variant has no variants", "Move them up.", ["variants"])
        if not self.tables:
            raise mistake("there are no tables", "Add one: Orders: {mode: on-demand}", ["tables"])
        if self.has("duration") and not 1 <= self.duration <= DURATION_MAX_S:
            what = "a run lasts from 1 second to 366 days"
            raise mistake(what, "Write, for example, 1h or 1d.", ["duration"])
        if self.has("traffic") and not self.traffic:
            what = "there is no traffic"
            raise mistake(what, "Add a stream with table, operation, rate and keys.", ["traffic"])
        return self


@dataclass(frozen=True, slots=True)
class _Loader:
    """How the plans of one file are loaded."""

    file: str
    seed: int | None
    traced: bool
    start_s: int | None
    lines_of: LinesOf

    def plan(self, document: Mapping, variant: str) -> Plan:
        try:
            found = PlanFile.model_validate(document, context={"lines_of": self.lines_of})
            return self._plan(found, document, variant)
        except ValidationError as error:
            errors = [self._located(document, each) for each in error.errors(include_url=False)]
            raise min(errors, key=lambda each: each.line or 0) from None
        except PydanticCustomError as error:
            context = error.context or {}
            raise self._error(document, context["at"], context["what"], context["remedy"]) from None

    def _plan(self, found: PlanFile, document: Mapping, variant: str) -> Plan:
        if not self.traced and not found.has("duration"):
            raise mistake("'duration' is missing", "Add it, for example: duration: 1h")
        if not self.traced and not found.has("traffic"):
            raise mistake("'traffic' is missing", "Add it, or name a trace with --trace.")
        start_s = found.start if self.start_s is None else self.start_s
        config = found.config(CapacityConfig())
        # Attempts of recorded requests are in the recording.
        client = NO_RETRIES if self.traced else standard()
        if found.retries is not None:
            client = found.retries.retries()
        tables = {name: table.plan(name, config, start_s) for name, table in found.tables.items()}
        for name, table in () if self.traced else found.tables.items():
            for number, change in enumerate(table.changes):
                if change.at_s >= found.duration:
                    what = "it comes after the end of the run"
                    at: list[str | int] = ["tables", name, "changes", number, "at"]
                    raise mistake(what, "Write an earlier moment, or a longer duration.", at)
        written = document.get("classes", Mapping())
        lines = {name: {"": written.lines[name], **written[name].lines} for name in found.classes}
        return Plan(
            name=found.name or self.file.rsplit("/", 1)[-1],
            variant=variant,
            description=" ".join(found.description.split()),
            file=self.file,
            start_s=start_s,
            duration_s=found.duration or DURATION_MAX_S,
            seed=found.seed if self.seed is None else self.seed,
            tables=tuple(tables.values()),
            traffic=() if self.traced else _flows(found, tables, start_s, client),
            budgets={name: Fraction(limit) for name, limit in found.budgets.items()},
            prices=US_EAST_1.with_overrides(found.prices),
            retries=client,
            profile=config.profile,
            classes={name: each.plan(start_s, client, lines[name]) for name, each in found.classes.items()},
        )

    def _located(self, document: Mapping, error: ErrorDetails) -> PlanError:
        context = error.get("ctx", {})
        what, remedy = (context["what"], context["remedy"]) if "what" in context else explained(error)
        return self._error(document, (*error["loc"], *context.get("at", ())), what, remedy)

    def _error(self, document: Mapping, path: Any, what: str, remedy: str) -> PlanError:
        text, line = locate(document, path)
        return PlanError(self.file, line, f"{text}: {what}" if text else what, remedy)


def _flows(
    found: PlanFile, tables: dict[str, TablePlan], start_s: int, client: Retries
) -> tuple[FlowPlan, ...]:
    flows: dict[str, FlowPlan] = {}
    for position, stream in enumerate(found.traffic):
        stream.check(tables, ["traffic", position])
        for flow in stream.flows(stream.table_of(tables), start_s, client):
            if flow.name in flows:
                what = f"two streams are called {flow.name!r}"
                raise mistake(what, "Give each a name: of its own.", ["traffic", position])
            flows[flow.name] = flow
    _check_events(found, flows.values())
    return tuple(flows.values())


def _check_events(found: PlanFile, flows: Iterable[FlowPlan]) -> None:
    """Raises the mistake of events that do not make one period, or do not fit into it."""
    periods = {flow.every_s for flow in flows if flow.every_s is not None}
    at = next((number for number, each in enumerate(found.traffic) if each.every is not None), 0)
    if len(periods) > 1:
        what = "the events of one run have one period"
        raise mistake(what, "Write the same every: for all, or a plan for each.", ["traffic", at, "every"])
    if periods and min(periods) < found.duration:
        what = "the run is longer than the time between two events"
        raise mistake(what, "Write a shorter duration.", ["traffic", at, "every"])


def load_plans(
    text: str,
    file: str,
    *,
    seed: int | None = None,
    traced: bool = False,
    start_s: int | None = None,
    lines_of: LinesOf = no_files,
) -> tuple[Plan, ...]:
    """Returns the plans in a file's text: one for each of its `variants`, or else the only one.

    `seed` and `start_s`, epoch seconds, replace the file's; `traced`: a trace brings the traffic; `lines_of`
    opens the files that the plan names. Raises PlanError.
    """
    loader = _Loader(file, seed, traced, start_s, lines_of)
    document = parse(text, file)
    if "variants" not in document:
        return (loader.plan(document, ""),)
    line, variants = document.lines["variants"], document.pop("variants")
    if not isinstance(variants, Mapping) or not variants:
        remedy = "Write, for example, more capacity: {tables: ...}."
        raise PlanError(file, line, "variants: here should be plans by name", remedy)
    plans = []
    for name, given in variants.items():
        change = Mapping() if given is None else given
        if not isinstance(change, Mapping):
            what = f"variants.{name}: here should be members of the plan"
            raise PlanError(file, variants.lines[name], what, "Write what is different, or {}.")
        plans.append(loader.plan(merged(document, change, file), name))
    return tuple(plans)


def load_plan(text: str, file: str, **options: Any) -> Plan:
    """Returns the first plan in a file's text, which has no variants as a rule. Options: see `load_plans`."""
    return load_plans(text, file, **options)[0]
