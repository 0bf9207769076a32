"""The SQL of the engine keeps to what a PostgreSQL distributed by part, such as Citus, can run.

Columns have three types. Nothing is locked, sent or changed but rows; and a statement names the part, or the
caller, whose rows it needs. Exceptions are listed here, each with its reason.
"""

from __future__ import annotations

import ast
import re
from importlib.resources import files

import pytest

PACKAGE = files("faradisc.storage.postgres")
SCHEMA = re.sub(
    r"--.*", "", "".join(PACKAGE.joinpath(f"{name}.sql").read_text() for name in ("schema", "functions"))
)
COLUMN_TYPES = {"bigint", "bytea", "timestamptz"}
ARGUMENT_TYPES = {"bigint", "bytea", "boolean", "bigint[]", "bytea[]"}
TABLE = re.compile(r"\b(?:FROM|JOIN|INTO|UPDATE)\s+(kv(?:_part|_log|_garbage|_caller|_changed)?)\b(?!\()")
ONE_PART = re.compile(r"\b(?:part|id) = (?:\$1|in_part|p|parts\[\w+(?:\[i\])?\]|caller)(?![\w.])")
INSERTED = re.compile(
    r"INSERT INTO \w+ (?:\(part(?:, gen)?\) )?VALUES \((?:\$1|in_part|parts\[\w+(?:\[i\])?\]|uuid_send)(?!\w)"
)
FORBIDDEN = {
    "an advisory lock": r"pg_(?:try_)?advisory",
    "a message": r"\b(?:LISTEN|NOTIFY|pg_notify)\b",
    "a trigger or a rule": r"\bCREATE (?:OR REPLACE )?(?:CONSTRAINT )?(?:TRIGGER|RULE)\b",
    "a lock of a table": r"\bLOCK TABLE\b",
    "a modifying CTE": r"\bAS (?:NOT )?(?:MATERIALIZED )?\(\s*(?:INSERT|UPDATE|DELETE|MERGE)\b",
    "MERGE": r"\bMERGE INTO\b",
}
AT_RUN_TIME = {
    "DDL": r"\b(?:CREATE|ALTER|DROP|TRUNCATE|VACUUM|REINDEX)\b",
    "a statement made of text": r"\bEXECUTE\b",
}
OF_PLACES = {"joining.py", "moving.py", "place.py", "placement.py", "recovery.py", "routed.py", "shares.py"}
"""A store of several places has an undivided PostgreSQL at each."""
ANY_PART = {
    "DELETE FROM kv_caller WHERE at <": "forgets old callers, wherever they are, and needs no one state",
    "SELECT part, gen INTO p, g FROM kv_garbage LIMIT 1": "looks for work; the work itself names its part",
    "SELECT part, seq FROM kv_part p WHERE seq > 0": "lists the parts, for jobs",
    "SELECT u.n, p.epoch, kv.ver, kv.v": "reads many parts of one PostgreSQL; ShardedStore does not use it",
    "BEGIN ISOLATION LEVEL REPEATABLE READ": "a snapshot, which ShardedStore does not have",
}


def functions() -> dict[str, str]:
    """Returns the body of each function of the schema."""
    return dict(re.findall(r"CREATE OR REPLACE FUNCTION (\w+)\(.*?\$\$(.*?)\$\$;", SCHEMA, re.DOTALL))


def strings() -> list[str]:
    """Returns the SQL in the engine's modules; what is formatted into it is left out."""
    found: list[str] = []
    for path in sorted(PACKAGE.iterdir(), key=lambda each: each.name):
        if not path.name.endswith(".py") or path.name in OF_PLACES:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    keywords = re.compile(r"\s*(?:SELECT|INSERT|UPDATE|DELETE|BEGIN|WITH|CREATE|ALTER|DROP|LOCK)\b")
    return [each for each in found if keywords.match(each)]


def offences(sql: str) -> list[str]:
    """Returns what is wrong with statements that run while a store is open."""
    found = [name for name, pattern in {**FORBIDDEN, **AT_RUN_TIME}.items() if re.search(pattern, sql)]
    for statement in (" ".join(each.split()) for each in sql.split(";")):
        if not TABLE.search(statement) or any(known in statement for known in ANY_PART):
            continue
        if not ONE_PART.search(statement) and not INSERTED.search(statement):
            found.append(f"names no part: {statement}")
    return found


def test_columns_and_arguments_have_types_that_are_everywhere_the_same() -> None:
    tables = re.findall(r"CREATE TABLE (?:IF NOT EXISTS )?\w+ \((.*?)\n?\)(?: WITH|;)", SCHEMA, re.DOTALL)
    columns = [
        column.split()[1]
        for table in tables
        for column in re.split(r",\s*(?![^(]*\))", table.strip())
        if not column.startswith("PRIMARY")
    ]
    assert (len(tables), len(columns)) == (10, 38)
    assert set(columns) == COLUMN_TYPES
    heads = re.findall(r"CREATE OR REPLACE FUNCTION \w+\((.*?)\)\s*(?:RETURNS|LANGUAGE)", SCHEMA, re.DOTALL)
    arguments = {each.partition(" DEFAULT")[0].split()[-1] for head in heads for each in head.split(",")}
    assert len(heads) == len(functions()) + 1 == 8
    assert arguments <= ARGUMENT_TYPES


def test_statements_change_nothing_but_rows_and_name_one_part() -> None:
    assert [name for name, pattern in FORBIDDEN.items() if re.search(pattern, SCHEMA)] == []
    for name, body in functions().items():
        assert (name, offences(body)) == (name, [])
    created = [each for each in strings() if each.startswith("CREATE SCHEMA")]
    assert len(created) == 1
    for sql in strings():
        assert (sql, offences(sql)) == (sql, []) or sql in created
    for known in ANY_PART:
        assert any(known in " ".join(sql.split()) for sql in [*functions().values(), *strings()])


def test_an_update_of_a_sharded_commit_takes_no_number_of_a_sequence() -> None:
    """Citus refuses functions that change something in an UPDATE."""
    updates = re.findall(r"UPDATE [^;]*;", functions()["kv_commit"])
    assert len(updates) == 5
    assert not any("nextval" in each for each in updates)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT pg_advisory_xact_lock(1)",
        "NOTIFY changed",
        "WITH gone AS (DELETE FROM kv WHERE part = $1 RETURNING k) SELECT k FROM gone",
        "SELECT ver FROM kv WHERE k = $1",
        "UPDATE kv_part SET seq = 1",
        "UPDATE kv_part SET seq = 1 WHERE part = ANY ($1)",
        "SELECT FROM kv JOIN kv_part p ON kv.part = p.part",
        "DELETE FROM kv WHERE ctid = ANY (ARRAY (SELECT ctid FROM kv LIMIT 1))",
        "INSERT INTO kv SELECT part, gen, k, ver, v FROM unnest($1::bytea[]) AS u(part)",
        "ALTER TABLE kv ADD more bigint",
        "EXECUTE 'SELECT 1'",
    ],
)
def test_the_rules_are_able_to_fail(sql: str) -> None:
    assert offences(sql) != []
