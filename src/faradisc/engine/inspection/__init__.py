"""How stored data is described and its problems are reported, whatever owns it.

    layouts.py   keys, payloads and log entries as named fields, for `faradisc inspect`
    problems.py  the problems found, and the report
    reading.py   reads a part or a log from end to end, in pages
    words.py     items and keys in words

engine/check/ walks the database; what a table has beside its items says itself how it looks and what is wrong
with it (engine/derived/).
"""
