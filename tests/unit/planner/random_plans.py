"""Random plans, as text: on them the two engines are held against each other (test_engines_agree.py).

A seed is always the same plan: change the functions, and regression cases lose what they stand for."""

from __future__ import annotations

from random import Random

KEYS = (
    "{uniform: 100000}",
    "{uniform: 50}",
    "{zipf: {keys: 10000, exponent: 1.1}}",
    "single",
    "{date: {period: day, suffixes: 20}}",
    "{sequential: {items_per_key: 400}}",
    "{weighted: {A: 97, B: 2, C: 1}}",
)
WIDE_KEYS = (
    *KEYS,
    "{uniform: 7}",
    "{zipf: {keys: 200, exponent: 0.8}}",
    "{weighted: {A: 3, B: 2, C: 2, D: 1}, suffixes: 5}",
    "{date: hour}",
    "{sequential: {items_per_key: 30}}",
)
RATES = (
    "{a}",
    "{{ramp: {{from: 0, to: {a}, over: 100s}}}}",
    "{{steps: [{{at: 0s, rate: {b}}}, {{at: 60s, rate: {a}}}]}}",
    "{{spikes: {{base: {b}, high: {a}, every: 60s, lasting: 10s}}}}",
)
WIDE_RATES = (
    *RATES,
    "{{points: [{{at: 0s, rate: {b}}}, {{at: 200s, rate: {a}}}, {{at: 500s, rate: {b}}}]}}",
    "{{spikes: {{base: {b}, high: {a}, every: 97s, lasting: 31s}}}}",
    '{{daily: {{low: {b}, high: {a}, peak: "00:10"}}}}',
)
PROFILES = ("aws", "documented", "pessimistic", "classic-2017")


def random_plan(seed: int, retries: str) -> str:
    """A plan with one table, perhaps an index, one to three streams, now and then far too many requests."""
    random = Random(seed)
    pick = random.choice
    provisioned = random.random() < 0.6
    lines = [
        f"profile: {pick(PROFILES)}",
        f"partition_caps: {pick(['300/100', '600/200', '3000/1000'])}",
        f"duration: {pick([120, 240, 420])}s",
        f"retries: {retries}",
        "tables:",
        "  T:",
        f"    partitions: {pick([1, 2, 3, 5])}",
        "    sort_key: true",
    ]
    if provisioned:
        lines += [f"    read: {pick([20, 100, 300])}", f"    write: {pick([20, 100, 300])}"]
    if random.random() < 0.4:
        lines += ["    indexes:", "      g:", f"        share: {pick(['100%', '50%'])}"]
        lines += [f"        keys: {pick(KEYS[:3])}", f"        partitions: {pick([1, 3])}"]
        if provisioned:
            lines += ["        read: 50", f"        write: {pick([20, 60, 200])}"]
    lines.append("traffic:")
    for number in range(pick([1, 2, 3])):
        rate = pick([30, 100, 200])
        lines += [
            f"  - name: stream {number}",
            f"    operation: {pick(['PutItem', 'GetItem', 'UpdateItem', 'Query'])}",
            f"    rate: {pick(RATES).format(a=rate, b=rate // 4)}",
            f"    keys: {pick(KEYS)}",
            f"    item_size: {pick([300, 1500, 3000])}",
            f"    sort: {pick(['spread', 'rising', 'one'])}",
        ]
    return "\n".join(lines) + "\n"


def wide_plan(seed: int, retries: str) -> str:
    """A plan of one or two tables with whatever a plan may have beside `random_plan`: several indexes, all of
    them sparse or not, local ones, maxima, auto scaling, changes while it runs, mixes of operations, sizes
    over many units, caches, windows."""
    random = Random(f"wide {seed}")
    pick = random.choice
    often = random.random
    lines = [
        f"profile: {pick(PROFILES)}",
        f"partition_caps: {pick(['60/20', '300/100', '450/130', '3000/1000'])}",
        f"duration: {pick([200, 600, 1200])}s",
        f"retries: {retries}",
        "tables:",
    ]
    tables = ["T", "U"][: pick([1, 1, 2])]
    for name in tables:
        provisioned = often() < 0.6
        lines += [f"  {name}:", "    sort_key: true", f"    partitions: {pick([1, 2, 3, 4, 7])}"]
        lines += [f"    {line}" for line in _rates(random, provisioned)]
        if often() < 0.3:
            lines.append(f"    items: {pick([1000, 1000000])}")
        if often() < 0.2:
            lines.append(f"    local_indexes: {{l: {{share: {pick(['100%', '40%'])}}}}}")
        if provisioned and often() < 0.3:
            lines.append(f"    changes: [{{at: {pick([60, 170])}s, write: {pick([15, 50, 130])}}}]")
        count = pick([0, 0, 1, 1, 2, 3])
        lines += ["    indexes:"] if count else []
        for index in range(count):
            lines += [f"      g{index}:", f"        share: {pick(['100%', '100%', '50%', '23%'])}"]
            lines += [f"        keys: {pick(WIDE_KEYS)}", f"        partitions: {pick([1, 2, 3])}"]
            lines += [f"        projection: {pick(['all', 'keys_only'])}"]
            lines += [f"        {line}" for line in _rates(random, provisioned)]
    lines.append("traffic:")
    for number in range(pick([1, 2, 3, 4])):
        rate = pick([7, 30, 75, 130, 200])
        lines += [
            f"  - name: stream {number}",
            f"    table: {pick(tables)}",
            f"    rate: {pick(WIDE_RATES).format(a=rate, b=rate // 4)}",
            f"    keys: {pick(WIDE_KEYS)}",
            f"    item_size: {pick([300, 1500, 3000, 9000])}",
            f"    sort: {pick(['spread', 'rising', 'one'])}",
        ]
        kind = pick(["write", "write", "read", "mix"])
        if kind == "write":
            lines += [f"    operation: {pick(['PutItem', 'UpdateItem', 'DeleteItem'])}"]
            lines += [f"    changes: {pick(['100%', '100%', '35%'])}"]
        elif kind == "read":
            lines += [f"    operation: {pick(['GetItem', 'Query'])}"]
            lines += [f"    consistent: {pick(['true', 'false'])}"]
            lines += ["    cache: 40%"] if often() < 0.2 else []
        else:
            lines += ["    operations: {GetItem: 60, PutItem: 30, DeleteItem: 10}"]
            lines += ["    transaction: true"] if often() < 0.3 else []
        if often() < 0.2:
            lines += ["    from: 40s", "    until: 170s"]
    return "\n".join(lines) + "\n"


def _rates(random: Random, provisioned: bool) -> list[str]:
    """Of a table or an index."""
    pick = random.choice
    if not provisioned:
        return [f"max_write: {pick([25, 90])}"] if random.random() < 0.2 else []
    lines = [f"read: {pick([10, 40, 120, 300])}", f"write: {pick([10, 33, 60, 100, 250])}"]
    if random.random() < 0.25:
        limits = f"min: {pick([5, 20])}, max: {pick([40, 400])}, target: {pick([50, 70])}"
        lines.append(f"auto_scaling: {{write: {{{limits}}}}}")
    return lines


def growing_plan(seed: int, retries: str) -> str:
    """A plan in which capacity follows the traffic: auto scaling, burst capacity and on-demand growth over
    one or two hours of changing load."""
    random = Random(f"growing {seed}")
    pick = random.choice
    lines = [
        f"profile: {pick(PROFILES)}",
        f"partition_caps: {pick(['60/20', '300/100', '3000/1000'])}",
        f"duration: {pick([60, 90])}m",
        f"retries: {retries}",
        "tables:",
        "  T:",
        f"    sort_key: {pick(['true', 'false'])}",
    ]
    kind = pick(["scaled", "scaled", "fixed", "on-demand", "on-demand"])

    def rates() -> list[str]:
        if kind == "on-demand":
            return []
        found = [f"read: {pick([10, 20, 50])}", f"write: {pick([5, 10, 30])}"]
        if kind == "scaled":
            limits = f"{{min: {pick([5, 10])}, max: {pick([40, 1000])}, target: {pick([40, 70, 90])}}}"
            found.append(f"auto_scaling: {{read: {limits}, write: {limits}}}")
        return found

    lines += [f"    {line}" for line in rates()]
    if kind == "on-demand":
        lines += ["    mode: on-demand"]
        if random.random() < 0.3:
            lines += [f"    max_write: {pick([15, 30])}"]
    if random.random() < 0.4:
        lines += ["    indexes:", "      g:", f"        share: {pick(['100%', '50%'])}"]
        lines += [f"        keys: {pick(KEYS[:3])}"]
        lines += [f"        {line}" for line in rates()]
    lines.append("traffic:")
    for number in range(pick([1, 2])):
        low, high = pick([(2, 20), (10, 40), (20, 60), (5, 60)])
        rate = pick(
            [
                f"{{ramp: {{from: {low}, to: {high}, over: 40m}}}}",
                f'{{daily: {{low: {low}, high: {high}, peak: "00:45"}}}}',
                f"{{spikes: {{base: {low}, high: {high}, every: 10m, lasting: {pick([30, 90, 300])}s}}}}",
                f"{{steps: [{{at: 0s, rate: {low}}}, {{at: 11m, rate: {high}}}, {{at: 40m, rate: {low}}}]}}",
            ]
        )
        lines += [
            f"  - name: stream {number}",
            f"    operation: {pick(['PutItem', 'GetItem', 'UpdateItem'])}",
            f"    rate: {rate}",
            f"    keys: {pick(KEYS)}",
            f"    item_size: {pick([300, 1500])}",
        ]
    return "\n".join(lines) + "\n"


def heavy_plan(seed: int, retries: str) -> str:
    """A plan on demand whose items are large, so that few requests ask for more than the table has served so
    far: peaks, growth, and the splits that follow it."""
    random = Random(f"heavy {seed}")
    pick = random.choice
    lines = [
        f"profile: {pick(PROFILES)}",
        f"duration: {pick([40, 75])}m",
        f"retries: {retries}",
        "tables:",
        "  T:",
        "    mode: on-demand",
        "    sort_key: true",
    ]
    if random.random() < 0.3:
        lines.append("    warm: {read: 15000, write: 6000}")
    if random.random() < 0.3:
        lines.append(f"    max_write: {pick([3000, 5000])}")
    if random.random() < 0.4:
        lines.append(f"    indexes: {{g: {{share: {pick(['100%', '50%'])}, keys: {pick(KEYS[:3])}}}}}")
    lines.append("traffic:")
    for number in range(pick([1, 2])):
        low, high = pick([(5, 70), (20, 120), (40, 90)])
        rate = pick(
            [
                f"{{ramp: {{from: {low}, to: {high}, over: 30m}}}}",
                f"{{spikes: {{base: {low}, high: {high}, every: 10m, lasting: {pick([40, 200])}s}}}}",
                f"{{steps: [{{at: 0s, rate: {low}}}, {{at: 7m, rate: {high}}}, {{at: 30m, rate: {low}}}]}}",
            ]
        )
        lines += [
            f"  - name: stream {number}",
            f"    operation: {pick(['PutItem', 'PutItem', 'Query'])}",
            f"    rate: {rate}",
            f"    keys: {pick(KEYS)}",
            f"    item_size: {pick(['20 KB', '60 KB', '90 KB'])}",
            f"    sort: {pick(['spread', 'rising'])}",
        ]
    return "\n".join(lines) + "\n"


def forgiving_plan(seed: int, retries: str, times: int = 1) -> str:
    """A plan in which a request may cost more than a bucket may owe: large items among small ones, on little
    throughput, small partition caps, low maxima. So many times twenty or forty minutes."""
    random = Random(f"forgiving {seed}")
    pick = random.choice
    lines = [f"profile: {pick(['aws', 'aws', 'classic-2017'])}", f"duration: {times * pick([20, 40])}m"]
    kind = pick(["provisioned", "provisioned", "caps", "maximum"])
    if kind == "caps":
        lines.append(f"partition_caps: {pick(['30/10', '60/20'])}")
    lines += [f"retries: {retries}", "tables:", "  T:", "    sort_key: true"]
    if kind == "provisioned":
        lines += [f"    read: {pick([2, 10])}", f"    write: {pick([2, 5, 20, 50])}"]
        if random.random() < 0.3:
            lines.append("    auto_scaling: {write: {min: 5, max: 40}}")
    else:
        lines += ["    mode: on-demand", f"    partitions: {pick([1, 2, 4])}"]
    if kind == "maximum":
        lines += ["    max_read: 5", f"    max_write: {pick([5, 20])}"]
    if random.random() < 0.4:
        write = f"write: {pick([5, 20, 80])}, " if kind == "provisioned" else ""
        share = pick(["100%", "50%", "10%"])
        lines.append(f"    indexes: {{g: {{{write}share: {share}, keys: {pick(KEYS[:3])}, partitions: 2}}}}")
    lines.append("traffic:")
    for number in range(pick([1, 2, 3])):
        rate = pick([0.05, 0.3, 1, 5, 20] if number else [0.05, 0.3, 2])
        size = pick([300, 1500, "20 KB"] if number else ["60 KB", "150 KB", "390 KB"])
        lines += [
            f"  - name: stream {number}",
            f"    operation: {pick(['PutItem', 'PutItem', 'UpdateItem', 'GetItem'])}",
            f"    rate: {pick(RATES[:1] + RATES[2:]).format(a=rate, b=rate / 4)}",
            f"    keys: {pick(KEYS)}",
            f"    item_size: {size}",
            f"    sort: {pick(['spread', 'rising', 'one'])}",
        ]
    return "\n".join(lines) + "\n"
