"""The `keys:` member of a plan file: which model of key choices is meant."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from faradisc.tools.planner.errors import nearest
from faradisc.tools.planner.plan_file.document import Members, Value
from faradisc.tools.planner.plan_file.key_file import LinesOf, read_keys
from faradisc.tools.planner.workload import key_distributions
from faradisc.tools.planner.workload.key_distributions import KeyModel, Sort

MODELS = ("uniform", "zipf", "single", "weighted", "date", "sequential", "file")
_EXAMPLE = "keys: {uniform: 100000}"
KEYS_MAX = 1_000_000_000_000
SUFFIXES_MAX = 10_000
WEIGHTED_MAX = 1000


@dataclass(frozen=True, slots=True)
class Setting:
    """What a key model hangs on beside its own members."""

    start_s: int
    """Epoch seconds of the beginning of the run."""
    lines_of: LinesOf


def load_sort(value: Value | None, default: Sort) -> Sort:
    return default if value is None else cast(Sort, value.choice("one", "spread", "rising"))


def load_keys(value: Value, setting: Setting, sort: Sort) -> KeyModel:
    """The model under `keys:`. Raises: PlanError."""
    if not value.is_mapping():
        name = value.text()
        if name == "single":
            return key_distributions.single("the key", 1, sort)
        if name == "sequential":
            return key_distributions.Sequential(1, sort)
        if name == "date":
            return key_distributions.Dates(setting.start_s, "day", 1, sort)
        raise _unknown(value, name)
    members = value.any_members()
    chosen = [name for name in members if name != "suffixes"]
    if len(chosen) != 1:
        raise value.mistake("keys are one model", f"Write, for example, {_EXAMPLE}")
    name = chosen[0]
    model = members.need(name, _EXAMPLE)
    if name not in MODELS:
        raise _unknown(model, name)
    suffixes = members.integer("suffixes", 1, least=1, most=SUFFIXES_MAX)
    if name in ("uniform", "sequential") and suffixes > 1:
        raise model.mistake(f"{name} keys take no suffixes", "Use more keys instead.")
    return _LOADERS[name](model, suffixes, setting, sort)


def _unknown(value: Value, name: str) -> Exception:
    return value.mistake(f"there is no key model {name!r}", nearest(name, MODELS))


def _uniform(value: Value, suffixes: int, setting: Setting, sort: Sort) -> KeyModel:
    return key_distributions.uniform(value.integer("the number of keys", 1, KEYS_MAX), sort)


def _zipf(value: Value, suffixes: int, setting: Setting, sort: Sort) -> KeyModel:
    members = value.members("keys", "exponent")
    count = members.need("keys", "keys: 1000000").integer("the number of keys", 1, KEYS_MAX)
    exponent = members.get("exponent")
    power = Fraction(1) if exponent is None else exponent.amount("the exponent")
    if power > 10:
        raise value.mistake("an exponent above 10 leaves one key", "Write, for example, exponent: 1.1")
    return key_distributions.zipf(count, float(power), suffixes, sort)


def _single(value: Value, suffixes: int, setting: Setting, sort: Sort) -> KeyModel:
    return key_distributions.single(value.text(), suffixes, sort)


def _weighted(value: Value, suffixes: int, setting: Setting, sort: Sort) -> KeyModel:
    weights = [
        (name, weight.amount("a weight").limit_denominator(10**12))
        for name, weight in value.any_members().items()
    ]
    if not any(weight for _, weight in weights):
        raise value.mistake("no key has any weight", "Write, for example, {SHIPPED: 97, OPEN: 3}.")
    if len(weights) > WEIGHTED_MAX:
        raise value.mistake(f"more than {WEIGHTED_MAX} weighted keys", "Use file, zipf or uniform.")
    return key_distributions.weighted([pair for pair in weights if pair[1]], suffixes, sort)


def _date(value: Value, suffixes: int, setting: Setting, sort: Sort) -> KeyModel:
    if value.is_mapping():
        members: Members = value.members("period", "suffixes")
        period = members.get("period")
        suffixes = members.integer("suffixes", suffixes, least=1, most=SUFFIXES_MAX)
        chosen = "day" if period is None else period.choice("hour", "day", "month")
    else:
        chosen = value.choice("hour", "day", "month")
    return key_distributions.Dates(setting.start_s, chosen, suffixes, sort)  # type: ignore[arg-type]


def _sequential(value: Value, suffixes: int, setting: Setting, sort: Sort) -> KeyModel:
    per_key = value.members("items_per_key").need("items_per_key", "items_per_key: 100")
    return key_distributions.Sequential(per_key.integer("items per key", 1), sort)


def _file(value: Value, suffixes: int, setting: Setting, sort: Sort) -> KeyModel:
    name = value.text()
    try:
        weights = read_keys(name, setting.lines_of(name))
    except (OSError, ValueError) as error:
        what = f"{name!r} cannot be read: {error.strerror if isinstance(error, OSError) else error}"
        raise value.mistake(what, "Name a file; relative names begin at the plan's directory.") from None
    return key_distributions.listed(weights, suffixes, sort, name)


_LOADERS = {
    "uniform": _uniform,
    "zipf": _zipf,
    "single": _single,
    "weighted": _weighted,
    "date": _date,
    "sequential": _sequential,
    "file": _file,
}
