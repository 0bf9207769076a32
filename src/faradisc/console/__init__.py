"""The live web pages of a server: the admin API's data on the throughput of tables, as HTML.

Turns JSON into the bytes of a page; does no I/O, so the server decides who may see the pages. Charts come
from faradisc.charts, the history of the heat map from engine/metrics/heat_history.py.

    pages      the list of tables, one table, an error
    parts      the sections of a table's page
    refresh    the script that keeps a page current
"""

from faradisc.console.pages import CONTENT_TYPE, error_page, index_page, table_page

__all__ = ["CONTENT_TYPE", "error_page", "index_page", "table_page"]
