"""Times the cases. Takes the best of several repetitions, because noise only adds.

Words on the command line select the cases whose names contain all of them.
"""

import sys
from collections.abc import Callable, Sequence
from timeit import Timer

from bench.micro.cases import cases

REPETITIONS = 5
REPETITION_S = 0.05


def best_ns(function: Callable[[], object]) -> float:
    """Returns nanoseconds per call. Takes about REPETITIONS * REPETITION_S."""
    timer = Timer(function)
    calls = 1
    while (took := timer.timeit(calls)) < REPETITION_S / 5:
        calls *= 4
    calls = max(1, int(calls * REPETITION_S / took))
    return min(timer.repeat(REPETITIONS, calls)) / calls * 1e9


def main(words: Sequence[str]) -> None:
    for name, function in cases():
        if all(word in name for word in words):
            print(f"{name:<44}{best_ns(function):>10,.0f} ns", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
