"""PartiQL: SELECT, INSERT, UPDATE, DELETE and EXISTS over one table.

    lexer, syntax, parser, conditions, assignments, values    text to statements, cached per text
    keywords                            the words that cannot be bare identifiers
    binder                              parameters into the trees of the expression language
    planner                             the keys that a WHERE clause fixes: get, query or scan
    columns                             the columns of a SELECT list
    token                               NextToken
    errors                              error texts

Statements are converted to conditions, updates and key conditions of `faradisc.language.expressions`; the
operations run those through the same reads and the same write path as all other operations. Pure: no I/O, no
clock. Of a table, only its key schema is used.

Source: expressions.md section 7, errors.md section 8.
"""
