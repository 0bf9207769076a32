"""`python -m bench.bare_server serve ...`: `faradisc serve` with one more of the administrator's pages.

    POST /_faradisc/counting {"counting": false}    count and enforce nothing, until it is true again

Whichever it is, the collector has its turn first: what comes after begins with nothing to collect. Answered
when it is done, so whoever waits for the answer and has no other request on its way has changed over cleanly.
"""

import gc

import orjson

from bench import bare
from faradisc.cli.main import main
from faradisc.protocol.http import HttpResponse
from faradisc.server import admin

PATH = "/_faradisc/counting"


async def _change_over(visit: admin.Visit) -> HttpResponse:
    bare.count(orjson.loads(visit.request.body)["counting"])
    gc.collect()
    said = orjson.dumps({"counting": bare.is_counting()})
    return HttpResponse(200, said, b"application/json", None, None)


if __name__ == "__main__":
    admin._PAGES["counting"] = {"POST": _change_over}
    main()
