"""Writes src/faradisc/protocol/models from the installed botocore, which has the official service models.

    python tools/service_models.py          write the files
    python tools/service_models.py --check  exit 1 if a file is not current

Kept are the facts that checks and answers need, in botocore's layout: of operations their shapes and errors,
of shapes the type, members, bounds, pattern, enum and required members. Descriptions are left out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from botocore.loaders import Loader

from faradisc.protocol.service_model import OTHER_SERVICES, SERVICES

MODELS = Path(__file__).resolve().parents[1] / "src" / "faradisc" / "protocol" / "models"
METADATA = ("apiVersion", "targetPrefix")
OPERATION = ("input", "output", "errors")
SHAPE = (
    *("type", "min", "max", "pattern", "enum", "required"),
    *("members", "member", "key", "value", "exception"),
)


def facts(document: dict[str, Any]) -> dict[str, Any]:
    """Returns what is kept of botocore's document."""
    return {
        "metadata": {name: document["metadata"][name] for name in METADATA if name in document["metadata"]},
        "operations": {
            name: {"name": name} | {key: _references(raw[key]) for key in OPERATION if key in raw}
            for name, raw in document["operations"].items()
        },
        "shapes": {
            name: {key: _references(raw[key]) for key in SHAPE if key in raw}
            for name, raw in document["shapes"].items()
        },
    }


def _references(raw: Any) -> Any:
    """Returns a reference to a shape, or several of them, without their descriptions."""
    if isinstance(raw, list):
        return [_references(each) for each in raw]
    if not isinstance(raw, dict):
        return raw
    if isinstance(raw.get("shape"), str):
        return {"shape": raw["shape"]}
    return {name: _references(each) for name, each in raw.items()}


def text(document: dict[str, Any]) -> str:
    """Returns the file's text: a line for each operation and shape, so that a difference can be read."""
    return "{" + ",\n".join(_sections(facts(document))) + "}\n"


def _sections(kept: dict[str, Any]) -> Iterator[str]:
    for section, entries in kept.items():
        lines = (f"{json.dumps(name)}:{_compact(raw)}" for name, raw in entries.items())
        yield f"{json.dumps(section)}:{{\n" + ",\n".join(lines) + "}"


def _compact(raw: Any) -> str:
    return json.dumps(raw, separators=(",", ":"))


def outdated(*, write: bool) -> list[str]:
    """Returns the services whose files differ from the installed botocore; writes those if asked."""
    changed = []
    for service in (*SERVICES, *OTHER_SERVICES):
        path, wanted = MODELS / f"{service}.json", text(Loader().load_service_model(service, "service-2"))
        if not path.exists() or path.read_text() != wanted:
            changed.append(service)
            if write:
                path.write_text(wanted)
    return changed


if __name__ == "__main__":
    check = "--check" in sys.argv
    changed = outdated(write=not check)
    print(*changed, sep="\n")
    sys.exit(bool(changed) and check)
