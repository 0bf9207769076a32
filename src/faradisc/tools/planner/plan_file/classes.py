"""The `classes:` member of a plan file: what a file of rates does not tell of its requests, class by class.

Source: capacity.md section 3.3 (a key model per class).
"""

from __future__ import annotations

from fractions import Fraction

from faradisc.limits import ITEM_SIZE_BYTES_MAX
from faradisc.tools.planner.plan_file.document import Value
from faradisc.tools.planner.plan_file.keys import Setting, load_keys, load_sort
from faradisc.tools.planner.plan_file.plan import ClassPlan
from faradisc.tools.planner.plan_file.traffic import LoadRetries
from faradisc.tools.planner.workload.key_distributions import ONE, Fixed, KeyModel, Shape, Sort
from faradisc.tools.planner.workload.retries import Retries

MEMBERS = ("keys", "sort", "item_size", "consistent", "effect", "changes", "retries")


def load_classes(
    value: Value | None, setting: Setting, client: Retries, load_retries: LoadRetries
) -> dict[str, ClassPlan]:
    """Raises: PlanError."""
    if value is None:
        return {}
    return {name: _class(entry, setting, client, load_retries) for name, entry in value.any_members().items()}


def _class(entry: Value, setting: Setting, client: Retries, load_retries: LoadRetries) -> ClassPlan:
    members = entry.members(*MEMBERS)
    keys = members.need("keys", "keys: {uniform: 100000}")
    sort = load_sort(members.get("sort"), "one") if "sort" in members else None
    choices: tuple[Sort, ...] = ("one", "spread") if sort is None else (sort,)
    effect = members.get("effect")
    adds = effect is not None and effect.choice("add", "replace") == "add"
    return ClassPlan(
        keys={each: load_keys(keys, setting, each) for each in choices},
        sort=sort,
        item_bytes=members.size("item_size", 0, ITEM_SIZE_BYTES_MAX) if "item_size" in members else None,
        consistent=members.flag("consistent", False),
        effect="add" if adds else "replace",
        changes=members.ratio("changes", Fraction(1)),
        retries=load_retries(members.get("retries"), client),
        lines={"": entry.line, **{name: each.line for name, each in members.items()}},
    )


def unknown_class(client: Retries) -> ClassPlan:
    """A class of which the plan says nothing: its keys are as evenly spread as can be."""
    choices: tuple[Sort, ...] = ("one", "spread")
    keys: dict[Sort, KeyModel] = {sort: Fixed(Shape((), ONE, sort), "evenly spread") for sort in choices}
    return ClassPlan(keys, None, None, False, "replace", Fraction(1), client)
