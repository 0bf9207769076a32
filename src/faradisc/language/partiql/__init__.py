"""PartiQL: SELECT, INSERT, UPDATE, DELETE and EXISTS over one table.

    lexer, syntax, parser, conditions, values    text to statements, cached per distinct text
    keywords                            the words that cannot be bare identifiers
    binder                              parameters into the trees of the expression language
    planner                             which keys a WHERE clause fixes: get, query or scan
    columns                             what a SELECT list shows
    token                               NextToken
    faults                              what a statement can be refused for

There is no second engine here. A statement ends as conditions, updates and key conditions of
`faradisc.language.expressions`, and the operations run those through the reads and the one write path that
all other operations use. Pure: no I/O, no clock; tables are known by their key schema only.

Source: expressions.md section 7, errors.md section 8.
"""
