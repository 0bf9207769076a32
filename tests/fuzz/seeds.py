"""The inputs that coverage-guided fuzzing begins with: one JSON file per target, a list of texts.

Bytes are written as Latin-1, so that most seeds are readable.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).parent / "seeds"
KEPT_BYTES_MAX = 160
KEPT_MAX = 400
"""Small ones: a long input mostly reaches what several short ones do."""


def read_seeds(target: str) -> list[bytes]:
    path = FOLDER / f"{target}.json"
    texts: list[str] = json.loads(path.read_text(encoding="utf-8"))
    return [text.encode("latin-1") for text in texts]


def write_seeds(target: str, seeds: Iterable[bytes]) -> None:
    kept = sorted(set(seeds), key=lambda seed: (len(seed), seed))[:KEPT_MAX]
    texts = [seed.decode("latin-1") for seed in kept]
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{target}.json"
    path.write_text(json.dumps(texts, indent=0, ensure_ascii=True) + "\n", encoding="utf-8")
