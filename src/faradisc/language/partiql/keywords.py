"""Words that cannot be bare identifiers in a statement; in double quotes every name can.

The list is PartiQL's: the reserved words of SQL-92 and those PartiQL adds. It is not the list of 573
reserved words of the expression language, which does not hold for statements (expressions.md section 9;
the developer guide's own statements use `Total` bare).

Assumed: the list. The reference shows one of its words, `inner` (errors.md section 8).
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
bag blob bool boolean clob let limit list missing offset pivot remove returning sexp string struct symbol
tuple unpivot
"""

KEYWORDS: Final = frozenset((_SQL_92 + _PARTIQL).upper().split())
"""Upper case."""
