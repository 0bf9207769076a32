"""Words that cannot be bare identifiers in a statement; in double quotes every name can.

The list is PartiQL's: the reserved words of SQL-92 and those PartiQL adds. It is not the list of 573
reserved words of the expression language, which does not hold for statements (expressions.md section 9;
the developer guide's own statements use `Total` bare).

Source: the open grammar of PartiQL (sources.md); errors.md section 8 has `inner`, `index`, `new`, `old` and
some more. Assumed: the rest of the list.
"""

from __future__ import annotations

from typing import Final

_SQL_92: Final = """
absolute action add all allocate alter and any are as asc assertion at authorization avg begin between bit
bit_length by cascade cascaded case cast catalog char character character_length char_length check close
coalesce collate collation column commit connect connection constraint constraints continue convert
corresponding count create cross current current_date current_time current_timestamp current_user cursor date
deallocate dec decimal declare default deferrable deferred delete desc describe descriptor diagnostics
disconnect distinct domain double drop else end escape except exception exec execute exists external extract
false fetch first float for foreign found from full get global go goto grant group having identity immediate
in indicator initially inner input insensitive insert int integer intersect interval into is isolation join
key language last left level like local lower match max min module names national natural nchar next no not
null nullif numeric octet_length of on only open option or order outer output overlaps pad partial position
precision prepare preserve primary prior privileges procedure public read real references relative restrict
revoke right rollback rows schema scroll section select session session_user set size smallint some space sql
sqlcode sqlerror sqlstate substring sum system_user table temporary then time timestamp to transaction
translate translation trim true union unique unknown update upper usage user using value values varchar
varying view when whenever where with work write zone
"""
_PARTIQL: Final = """
bag bigint blob bool boolean can_cast can_lossless_cast clob conflict date_add date_diff do index int2 int4
int8 integer2 integer4 integer8 let limit list missing modified new nothing offset old pivot remove returning
sexp string struct symbol tuple unpivot
"""

KEYWORDS: Final = frozenset((_SQL_92 + _PARTIQL).upper().split())
"""Upper case."""

NO_TERMS: Final = frozenset({"AS", "AT", "BY", "FOR", "ASC", "DESC"})
"""Keywords that are tokens of their own kind: where a term is due they are not "unexpected keywords"."""

_FUNCTIONS: Final = """
exists count avg max min sum substring char_length character_length octet_length bit_length upper lower size
sexp list bag
"""
FUNCTIONS: Final = frozenset(_FUNCTIONS.upper().split())
"""Keywords that are names of functions."""
AGGREGATES: Final = frozenset({"AVG", "COUNT", "MAX", "MIN", "SUM"})

LITERALS: Final = frozenset({"TRUE", "FALSE", "NULL", "MISSING"})

PRECEDENCE: Final = {
    **dict.fromkeys(
        [
            f"{word}{after}"
            for word in ("UNION", "EXCEPT", "INTERSECT")
            for after in ("", " ALL", " DISTINCT")
        ],
        5,
    ),
    "OR": 10,
    "AND": 20,
    **dict.fromkeys(("=", "<>", "IS", "IS NOT", "IN", "NOT IN"), 40),
    **dict.fromkeys(("<", "<=", ">", ">=", "BETWEEN", "NOT BETWEEN", "LIKE", "NOT LIKE"), 50),
    **dict.fromkeys(("+", "-", "||"), 60),
    **dict.fromkeys(("*", "/", "%"), 70),
}
"""Of the operators between two operands. NOT, before one, has `NOT_PRECEDENCE`; signs bind closest."""
NOT_PRECEDENCE: Final = 30
SELECT_PRECEDENCE: Final = 6
"""Of what a SELECT consists of: operators of sets, which bind looser, stand between SELECTs."""


def _types(words: str, arity: int) -> dict[str, tuple[str, int]]:
    return {word.replace("_", " "): (word.title().replace("_", ""), arity) for word in words.split()}


TYPES: Final = {
    **_types("MISSING NULL BOOLEAN SMALLINT INTEGER4 INTEGER8 INTEGER REAL DOUBLE_PRECISION TIMESTAMP", 0),
    **_types("DATE STRING SYMBOL CLOB BLOB STRUCT TUPLE LIST SEXP BAG ANY", 0),
    **_types("FLOAT TIME CHARACTER CHARACTER_VARYING", 1),
    **_types("DECIMAL NUMERIC", 2),
}
"""Types after IS, in upper case: the name in error texts, and how many numbers may follow in parentheses."""
TYPE_ALIASES: Final = {
    "VARCHAR": "CHARACTER VARYING",
    "CHAR": "CHARACTER",
    "DEC": "DECIMAL",
    "INT": "INTEGER",
    "INT2": "SMALLINT",
    "INTEGER2": "SMALLINT",
    "INT4": "INTEGER4",
    "INT8": "INTEGER8",
    "BIGINT": "INTEGER8",
    "BOOL": "BOOLEAN",
}
