"""Requests on disk: one JSON file per case, readable and editable by hand.

    {"why": "...", "requests": [{"method": "POST", "target": "/", "headers": {...}, "body": "..."}]}

A body that is not UTF-8 is written as {"base64": "..."}; target and headers are Latin-1.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from faradisc.protocol.http import HttpRequest

from .world import HEADERS

FOLDER = Path(__file__).parent / "corpus"


def cases() -> list[Path]:
    return sorted(FOLDER.glob("*.json"))


def save(name: str, requests: Sequence[HttpRequest], *, why: str) -> Path:
    path = FOLDER / f"{name}.json"
    document = {"why": why, "requests": [_to_json(request) for request in requests]}
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def load(path: Path) -> list[HttpRequest]:
    document = json.loads(path.read_text(encoding="utf-8"))
    return [_from_json(request) for request in document["requests"]]


def _to_json(request: HttpRequest) -> dict[str, Any]:
    """Leaves out the usual headers."""
    headers: dict[str, str | None] = {
        name.decode("latin-1"): text.decode("latin-1")
        for name, text in request.headers.items()
        if HEADERS.get(name) != text
    }
    headers |= {name.decode(): None for name in HEADERS if name not in request.headers}
    try:
        body: Any = request.body.decode()
    except UnicodeDecodeError:
        body = {"base64": b64encode(request.body).decode()}
    return {
        "method": request.method,
        "target": request.target.decode("latin-1"),
        "headers": headers,
        "body": body,
    }


def _from_json(raw: dict[str, Any]) -> HttpRequest:
    headers = dict(HEADERS)
    for name, text in raw["headers"].items():
        if text is None:
            headers.pop(name.encode("latin-1"), None)
        else:
            headers[name.encode("latin-1")] = text.encode("latin-1")
    body = raw["body"]
    content = body.encode() if isinstance(body, str) else b64decode(body["base64"])
    return HttpRequest(raw["method"], raw["target"].encode("latin-1"), headers, content)
