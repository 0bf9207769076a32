"""Transactions: all actions happen, or none does.

    reading, writing                 TransactGetItems and TransactWriteItems
    tokens                           client tokens: a transaction runs once per token
    conflicts                        conflicts that are injected to test programs with

Uses the evaluation, charges and commit of engine/tables.
"""
