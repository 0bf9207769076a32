"""The live page of a server: what the admin API says of a table's throughput, drawn.

JSON in, bytes of a page out; nothing is asked from here, so whoever serves the pages also decides who may
see them. The drawing is that of the planner's report (faradisc.charts), the past of the heat map that of
engine/metrics/heat_history.py.

    pages      the list of tables, one table, a mistake
    parts      the sections of a table's page
    refresh    the script that keeps a page current
"""

from faradisc.console.pages import CONTENT_TYPE, error_page, index_page, table_page

__all__ = ["CONTENT_TYPE", "error_page", "index_page", "table_page"]
