"""Writes and reads seed directories for the tests of this folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from faradisc.tools.seeding import Seed, read_seed


def read(directory: Path, files: dict[str, str], **parameters: str) -> Seed:
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return read_seed(directory, parameters)


def errors(seed: Seed) -> list[str]:
    return [str(error) for error in seed.errors]


def only(seed: Seed) -> dict[str, Any]:
    assert errors(seed) == []
    (table,) = seed.tables
    return table.request


REQUEST = {
    "TableName": "music",
    "AttributeDefinitions": [{"AttributeName": "artist", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "artist", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def small(body: str) -> str:
    """Returns the configuration of a small table, with more arguments from line 9 on."""
    return (
        'variable "unset" {}\nresource "aws_dynamodb_table" "t" {\n  billing_mode = "PAY_PER_REQUEST"\n'
        f'  hash_key = "p"\n  attribute {{\n    name = "p"\n    type = "S"\n  }}\n{body}\n}}\n'
    )
