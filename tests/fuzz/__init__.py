"""Hostile requests: valid requests of every operation, altered in many ways.

    values.py, expressions.py     attribute values and expressions, mostly valid
    statements.py, streams.py     PartiQL; the names and iterators of the standing stream
    requests.py                   one valid request of any supported operation
    model_requests.py             requests from the service model alone, of any operation
    mutations.py                  alterations of the document, the bytes and the headers
    world.py                      the database under test, and the checks of every answer
    campaign.py                   rounds of requests from a seed; reduces and stores failures
    corpus/                       requests that once failed, replayed by the fast tests
    targets.py, guided.py         functions that take any bytes, under atheris; seeds.py reads seeds/

One seed determines everything. `PYTHONPATH=tests python -m fuzz --help` runs and replays.
"""
