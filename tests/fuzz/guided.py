"""PYTHONPATH=tests python -m fuzz.guided: fuzzing guided by coverage, with atheris.

--target expression --seconds 60      one target; without --target each in turn
--keep                                add the inputs that reached new code to seeds/

Each target runs in its own process with limits on memory (2 GB), on the length of an input and on its time;
exceeding one is a failure, and libFuzzer stores the input in crash-*.
Needs atheris: pip install -r tests/requirements-slow.txt (Linux, wheels up to the Python it names).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from .seeds import KEPT_BYTES_MAX, read_seeds, write_seeds

MEMORY_MB_MAX = 2048
INPUT_SECONDS_MAX = 20
INPUT_BYTES_MAX = 4096


def run_target(name: str, *, seconds: int = 0, runs: int = -1, keep: bool = False) -> None:
    """Raises subprocess.CalledProcessError when the target fails; the output names the input."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder)
        for number, seed in enumerate(read_seeds(name)):
            (corpus / f"seed-{number:05d}").write_bytes(seed)
        flags = [
            f"-max_total_time={seconds}",
            f"-runs={runs}",
            "-seed=1",
            f"-rss_limit_mb={MEMORY_MB_MAX}",
            f"-timeout={INPUT_SECONDS_MAX}",
            f"-max_len={INPUT_BYTES_MAX}",
            "-print_final_stats=1",
        ]
        subprocess.run([sys.executable, "-m", "fuzz.guided", "--inside", name, *flags, folder], check=True)
        if keep:
            found = [path.read_bytes() for path in sorted(corpus.iterdir())]
            write_seeds(name, [data for data in found if len(data) <= KEPT_BYTES_MAX])


def _inside(name: str, arguments: list[str]) -> None:
    """The process of one target. Never returns."""
    import atheris  # noqa: PLC0415 -- before what it instruments, and only here

    with atheris.instrument_imports(include=["faradisc"]):
        from faradisc.operations.registry import OPERATIONS  # noqa: PLC0415

        from .targets import TARGETS  # noqa: PLC0415

        for operation in OPERATIONS.values():
            operation.load()  # at its first request it would come too late

    atheris.Setup([sys.argv[0], *arguments], TARGETS[name])
    atheris.Fuzz()


def main() -> None:
    if sys.argv[1:2] == ["--inside"]:
        _inside(sys.argv[2], sys.argv[3:])
    from .targets import TARGETS  # noqa: PLC0415 -- not before atheris, in the process above

    parser = argparse.ArgumentParser(
        prog="python -m fuzz.guided",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=60, help="for each target (60)")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    for name in [options.target] if options.target else TARGETS:
        print(f"--- {name}", flush=True)
        run_target(name, seconds=options.seconds, keep=options.keep)


if __name__ == "__main__":
    main()
