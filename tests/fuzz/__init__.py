"""Hostile requests: valid ones of every operation, then broken in every way that comes to mind.

    values.py, expressions.py     attribute values and expressions, mostly valid
    statements.py, streams.py     PartiQL; the names and iterators of the standing stream
    requests.py                   one valid request of any supported operation
    model_requests.py             requests made from the service model alone, of any operation there is
    mutations.py                  what is done to them: to the document, the bytes, the headers
    world.py                      the database they meet, and what every answer is held against
    campaign.py                   rounds of requests from a seed; a failure made small and kept
    corpus/                       what once failed, replayed in the gate
    targets.py, guided.py         functions that take any bytes, under atheris; seeds.py reads seeds/

Everything follows from one seed. `PYTHONPATH=tests python -m fuzz --help` runs and replays.
"""
