"""regressions.txt: the seeds that once failed, each with its finding. `make test` runs all of them."""

from __future__ import annotations

from pathlib import Path

REGRESSIONS = Path(__file__).with_name("regressions.txt")


def kept() -> list[int]:
    lines = REGRESSIONS.read_text().splitlines()
    return [int(line.split()[0]) for line in lines if line and not line.startswith("#")]


def keep(seed: int, found: str) -> None:
    """Adds a seed, unless it is listed."""
    if seed not in kept():
        with REGRESSIONS.open("a") as file:
            file.write(f"{seed} {' '.join(found.split())[:160]}\n")
