"""PYTHONPATH=tests python -m fuzz: runs hostile requests.

--seed 7 --rounds 100     rounds 0 to 99 of seed 7
--seed 7 --round 42       that round again
--replay NAME.json        a kept case again, with the traceback
"""

from __future__ import annotations

import argparse

from .campaign import Count, Failure, run_round
from .corpus import FOLDER, load
from .world import World


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="number of the first round")
    parser.add_argument("--round", type=int)
    parser.add_argument("--keep-going", action="store_true", help="report every round that fails")
    parser.add_argument("--replay", metavar="FILE")
    options = parser.parse_args()
    if options.replay:
        _replay(options.replay)
        return
    first, rounds = (options.first, options.rounds) if options.round is None else (options.round, 1)
    total = Count()
    for number in range(first, first + rounds):
        try:
            total.add(run_round(options.seed, number))
        except Failure as failure:
            if not options.keep_going:
                raise
            print(failure)
    _print(options.seed, total)


def _replay(name: str) -> None:
    world = World()
    for request in load(FOLDER / name):
        answer = world.send(request)
        print(answer.status, answer.body[:2000])
    world.check()


def _print(seed: int, total: Count) -> None:
    print(f"seed {seed}: {total.requests:,} requests answered as they may be")
    for outcome, times in total.outcomes.most_common():
        print(f"  {times:>9,} {outcome}")
    for target, times in total.taken.most_common():
        print(f"  {times:>9,} taken: {target}")
    for seconds, where in total.slowest:
        print(f"  {seconds * 1000:9.1f} ms {where}")


if __name__ == "__main__":
    main()
