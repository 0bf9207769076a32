"""Decides what a caller may do, as IAM does. Pure: no I/O, no clock; the server brings requests and policies.

model.py       requests, compiled policies, decisions and their sentences
documents.py   from JSON to statements, with the errors of a malformed document
patterns.py    wildcards, ARNs and policy variables
conditions.py  condition operators
principals.py  whom a statement of a resource policy or trust policy names
compiling.py   `compile_policy`: a document, once
evaluate.py    `evaluate`: a request against policies, in the order of the documentation's flow chart
"""
