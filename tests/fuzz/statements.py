"""PartiQL statements against the standing tables, with parameters where a statement has `?`."""

from __future__ import annotations

from random import Random
from typing import Any

from .tables import TABLES, Keys, Standing
from .values import key_scalar, value

Statement = tuple[str, list[dict[str, Any]]]
"""Text and parameters."""

_FREE = ("title", "doc", "n", "kind", "rank")
_COMPARATORS = ("=", "<>", "<", "<=", ">", ">=")


class _Writer:
    """Writes one statement and collects its parameters."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self.parameters: list[dict[str, Any]] = []

    def name(self, attribute: str) -> str:
        return f'"{attribute}"'

    def value(self, typed: dict[str, Any]) -> str:
        """A literal where the type has one, or a parameter."""
        ((kind, content),) = typed.items()
        if self._rng.random() < 0.5:
            if kind == "S":
                return "'" + content.replace("'", "''") + "'"
            if kind == "N":
                return str(content)
            if kind == "BOOL":
                return "true" if content else "FALSE"
            if kind == "NULL":
                return "null"
            if kind == "L" and content:
                return "[" + ", ".join(self.value(element) for element in content) + "]"
            if kind == "M":
                return (
                    "{"
                    + ", ".join(f"'{name}': {self.value(member)}" for name, member in content.items())
                    + "}"
                )
        self.parameters.append(typed)
        return "?"

    def equals(self, item: dict[str, Any]) -> str:
        return " AND ".join(f"{self.name(name)} = {self.value(typed)}" for name, typed in item.items())

    def condition(self) -> str:
        rng = self._rng
        name = self.name(rng.choice(_FREE))
        match rng.randrange(11):
            case 0:
                return f"{name} BETWEEN {self.value({'N': '1'})} AND {self.value({'N': '5'})}"
            case 1:
                return f"{name} IN [{self.value({'S': 'a'})}, {self.value({'N': '2'})}]"
            case 2:
                return f"begins_with({name}, {self.value({'S': 'a'})})"
            case 3:
                return f"contains({name}, {self.value({'S': 'a'})})"
            case 4:
                return f"{name} IS {rng.choice(('MISSING', 'NOT MISSING', 'NULL', 'NOT NULL'))}"
            case 5:
                return (
                    f"(NOT {name} = {self.value(value(rng, 1))} OR size({name}) > {self.value({'N': '1'})})"
                )
            case 6:
                return f"attribute_type({name}, {self.value({'S': 'S'})})"
            case 7:
                return f"attribute_exists({name}) {rng.choice(('=', '<>', '<'))} {self.value(value(rng, 1))}"
            case 8:
                return f"{name} IS {rng.choice(('INT', 'NUMERIC', 'STRUCT', 'VARCHAR(1)', 'NOT LIST'))}"
            case 9:
                return (
                    f"{name} {rng.choice(('+ 1 =', 'LIKE', '= `1` OR', '<> MISSING OR', 'IN [1] OR'))} {name}"
                )
            case _:
                return f"{name} {rng.choice(_COMPARATORS)} {self.value(value(rng, 1))}"


def any_statement(rng: Random) -> Statement:
    return rng.choice((_select, _select, _insert, _update, _delete))(rng)


def a_read(rng: Random) -> Statement:
    """A SELECT of one item, as batches and transactions want it."""
    table = rng.choice(TABLES)
    writer = _Writer(rng)
    text = f'SELECT * FROM "{table.name}" WHERE {writer.equals(table.key(rng))}'
    return text, writer.parameters


def a_write(rng: Random) -> Statement:
    return rng.choice((_insert, _update, _delete))(rng)


def _select(rng: Random) -> Statement:
    table = rng.choice(TABLES)
    index = rng.choice((None, *table.indexes))
    keys = table.keys if index is None else table.indexes[index]
    writer = _Writer(rng)
    columns = rng.choice(("*", "title", "title, doc.a[0]", '"n", "kind"'))
    source = f'"{table.name}"' + (f'."{index}"' if index else "")
    return f"SELECT {columns} FROM {source}{_where(rng, writer, keys)}", writer.parameters


def _where(rng: Random, writer: _Writer, keys: Keys) -> str:
    conditions = []
    if rng.random() < 0.8:
        conditions.append(writer.equals({name: key_scalar(rng, kind) for name, kind in keys.hash.items()}))
    if rng.random() < 0.5:
        conditions.append(writer.condition())
    text = " WHERE " + rng.choice((" AND ", " and ")).join(conditions) if conditions else ""
    if conditions and rng.random() < 0.1:
        text += " OR " + conditions[0]
    if len(conditions) == 2 and keys.range and rng.random() < 0.3:
        text += f" ORDER BY {writer.name(next(iter(keys.range)))} {rng.choice(('ASC', 'DESC', ''))}"
    return text


def _insert(rng: Random) -> Statement:
    table = rng.choice(TABLES)
    writer = _Writer(rng)
    members = ", ".join(f"'{name}': {writer.value(typed)}" for name, typed in table.item(rng).items())
    return f'INSERT INTO "{table.name}" VALUE {{{members}}}', writer.parameters


def _update(rng: Random) -> Statement:
    table = rng.choice(TABLES)
    writer = _Writer(rng)
    changes = " ".join(_change(rng, writer, name) for name in rng.sample(_FREE, rng.randrange(1, 3)))
    text = f'UPDATE "{table.name}" {changes} WHERE {writer.equals(table.key(rng))}'
    if rng.random() < 0.3:
        text += f" AND {writer.condition()}"
    if rng.random() < 0.4:
        text += f" RETURNING {rng.choice(('ALL', 'MODIFIED'))} {rng.choice(('OLD', 'NEW'))} *"
    return text, writer.parameters


def _change(rng: Random, writer: _Writer, name: str) -> str:
    target = writer.name(name)
    match rng.randrange(5):
        case 0:
            return f"REMOVE {target}"
        case 1:
            return f"SET {target} = {target} + {writer.value({'N': '1'})}"
        case 2:
            return f"SET {target} = list_append({target}, {writer.value({'L': [value(rng, 1)]})})"
        case 3:
            return f"SET {target} = if_not_exists({target}, {writer.value(value(rng, 1))})"
        case _:
            return f"SET {target} = {writer.value(value(rng, 2))}"


def _delete(rng: Random) -> Statement:
    table: Standing = rng.choice(TABLES)
    writer = _Writer(rng)
    text = f'DELETE FROM "{table.name}" WHERE {writer.equals(table.key(rng))}'
    if rng.random() < 0.3:
        text += f" AND {writer.condition()}"
    if rng.random() < 0.3:
        text += " RETURNING ALL OLD *"
    return text, writer.parameters
