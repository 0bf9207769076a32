"""The live page of a server: what the admin API says of a table's throughput, drawn.

JSON in, bytes of a page out; nothing is asked from here, so whoever serves the pages also decides who may
see them. The drawing is that of the planner's report (faradisc.charts).

    pages      the list of tables, one table, a mistake
    parts      the sections of a table's page
    history    what was seen of partitions in the last minutes: the heat map's past
    refresh    the script that keeps a page current

Why a history is kept here and not in the engine: nobody pays for it while nobody looks.
"""

from faradisc.console.history import History
from faradisc.console.pages import CONTENT_TYPE, error_page, index_page, table_page

__all__ = ["CONTENT_TYPE", "History", "error_page", "index_page", "table_page"]
