"""PartiQL: SELECT, INSERT, UPDATE, DELETE and EXISTS over one table.

    lexer, keywords, expressions, grammar, tree      text to a tree of all that PartiQL's grammar knows
    parser, conditions, assignments, values, paths   the tree to a statement (syntax), cached per text
    binder                              parameters into the trees of the expression language
    planner                             the key ranges that a WHERE clause selects: get, query or scan
    columns                             the columns of a SELECT list
    token                               NextToken
    errors                              error texts

Statements are converted to conditions, updates and key conditions of `faradisc.language.expressions`; the
operations run those through the same reads and the same write path as all other operations. Pure: no I/O, no
clock. Of a table, only its key schema is used.

Source: expressions.md section 7, errors.md section 8.
"""
