"""Two tables that PartiQL tests read and write, and statements in one line.

    "songs"    artist:S year:N; local index "by_rank" (rank, KEYS_ONLY); global index "by_genre"
               (genre, rank; with title)
    "people"   id:S

Statements name them so; the real names are filled in.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from boto3.dynamodb.types import TypeSerializer

from fixtures.schemas import item, plain

SONGS: list[dict[str, Any]] = [
    {
        "artist": "ayla",
        "year": 1999,
        "title": "One",
        "rank": 3,
        "genre": "folk",
        "live": True,
        "tags": {"a", "b"},
        "notes": {"label": "x", "tracks": [{"len": 10}, {"len": 20}], "dashed-name": 1},
    },
    {"artist": "ayla", "year": 2001, "title": "Two", "rank": 1, "genre": "rock", "label": None},
    {"artist": "ayla", "year": 2005, "title": "Three", "rank": 2, "genre": "folk", "price": Decimal("9.5")},
    {
        "artist": "bo",
        "year": 1999,
        "title": "Four",
        "rank": 5,
        "genre": "folk",
        "scores": {1, 2},
        "data": b"\x00\x01",
    },
    {"artist": "bo", "year": 2010, "title": "Five", "genre": "jazz"},
    {"artist": "cy", "year": 2020, "title": "it's", "rank": 4, "genre": "rock", "list": ["x", ["y"]]},
]
PEOPLE: list[dict[str, Any]] = [
    {"id": "p1", "name": "Ann", "age": 30},
    {
        "id": "p2",
        "name": "Bob",
        "age": 25,
        "mail": {"home": "b@x", "every": ["b@x", "b@y"]},
        "tags": {"a", "b"},
    },
    {"id": "p3", "name": "Cy"},
]
_serialize = TypeSerializer().serialize


class Library:
    """The tables of one test, filled."""

    def __init__(self, dynamodb: Any, create: Callable[..., str]) -> None:
        self.dynamodb = dynamodb
        self.names = {
            "songs": create(
                "artist:S",
                "year:N",
                lsi={"by_rank": ("rank:N", "KEYS_ONLY")},
                gsi={"by_genre": ("genre:S", "rank:N", ["title"])},
            ),
            "people": create("id:S"),
        }
        for name, items in (("songs", SONGS), ("people", PEOPLE)):
            for one in items:
                dynamodb.put_item(TableName=self.names[name], Item=item(**one))

    def text(self, statement: str) -> str:
        """The statement with the real names of the tables."""
        for name, real in self.names.items():
            statement = statement.replace(f'"{name}"', f'"{real}"')
        return statement

    def member(self, statement: str, *parameters: Any, **members: Any) -> dict[str, Any]:
        """One statement of a batch or a transaction; parameters as Python values."""
        if parameters:
            members["Parameters"] = [_serialize(parameter) for parameter in parameters]
        return {"Statement": self.text(statement), **members}

    def answer(self, statement: str, *parameters: Any, **members: Any) -> dict[str, Any]:
        """What ExecuteStatement answers."""
        return self.dynamodb.execute_statement(**self.member(statement, *parameters, **members))

    def run(self, statement: str, *parameters: Any, **members: Any) -> list[dict[str, Any]]:
        """The items ExecuteStatement answers, as Python values."""
        return [plain(found) for found in self.answer(statement, *parameters, **members)["Items"]]

    def titles(self, statement: str, *parameters: Any, **members: Any) -> list[str]:
        """The titles of the songs a statement finds, in the order they come."""
        return [found["title"] for found in self.run(statement, *parameters, **members)]

    def get(self, table: str, **key: Any) -> dict[str, Any] | None:
        """An item as GetItem shows it."""
        found = self.dynamodb.get_item(TableName=self.names[table], Key=item(**key), ConsistentRead=True)
        return plain(found["Item"]) if "Item" in found else None

    def batch(self, *members: dict[str, Any], **request: Any) -> dict[str, Any]:
        return self.dynamodb.batch_execute_statement(Statements=list(members), **request)

    def transact(self, *members: dict[str, Any], **request: Any) -> dict[str, Any]:
        return self.dynamodb.execute_transaction(TransactStatements=list(members), **request)
