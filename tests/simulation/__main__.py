"""PYTHONPATH=tests python -m simulation: runs seeds from the command line.

--seed 7 [--trace]      one seed, with all requests and answers
--first 1000 --runs 50  seeds 1000 to 1049
--hours 8               new seeds one after the other; failing ones are added to regressions.txt
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections import Counter

from simulation.kept import keep
from simulation.run import Failed, play

HOURS_FIRST = 1_000_000
"""Seeds of long runs begin here, above those of `make test`."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m simulation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int)
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--hours", type=float)
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)  # a simulated endpoint fails all the time
    if options.seed is not None:
        return _one(options.seed, trace=options.trace)
    if options.hours is None:
        return _many(range(options.first, options.first + options.runs), None)
    first = options.first or HOURS_FIRST + int(time.time()) % 1_000_000 * 1_000
    return _many(range(first, first + 1_000_000_000), time.monotonic() + options.hours * 3600)


def _one(seed: int, *, trace: bool) -> int:
    try:
        outcome = play(seed)
    except Failed as failed:
        outcome = failed.outcome
    if trace:
        print("\n".join(outcome.trace))
    for text in outcome.failures:
        print("FOUND:", text)
    print(f"seed {seed}: {outcome.digest}, {dict(outcome.seen)}")
    return 1 if outcome.failures else 0


def _many(seeds: range, until: float | None) -> int:
    seen: Counter[str] = Counter()
    failed = runs = 0
    began = time.monotonic()
    for seed in seeds:
        if until is not None and time.monotonic() > until:
            break
        runs += 1
        try:
            seen += play(seed).seen
        except Failed as failure:
            failed += 1
            print(failure, flush=True)
            keep(seed, failure.outcome.failures[0])
        if runs % 1000 == 0:
            print(f"{runs:,} runs, {failed} failed, {time.monotonic() - began:,.0f} s", flush=True)
    for name, count in sorted(seen.items()):
        print(f"{count:>12,} {name}")
    print(f"{runs:,} runs in {time.monotonic() - began:,.1f} s, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
