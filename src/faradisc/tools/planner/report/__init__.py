"""The report of `faradisc plan`: outcomes in, one HTML page out.

The page stands alone: no network, no font, no library; its charts are SVG from faradisc.charts. Equal
outcomes give equal bytes. A page has at most `PAGE_BYTES_MAX`: where there is too much to draw, columns, rows
of heat maps and rows of tables become fewer, and peaks are kept (`detail`).

    document     the page, its order, its size
    overview     the headline, budgets, totals, cost, assumptions
    compare      several plans or variants side by side
    resource     one table or index: its charts and tables
    throughput   consumption, throttling, burst capacity over time
    heat         the heat map of its partitions
    scaling      auto scaling
    tables       every table, for the page and for the terminal
    terminal     outcomes as text, by rich
"""

from faradisc.tools.planner.report.document import PAGE_BYTES_MAX, render

__all__ = ["PAGE_BYTES_MAX", "render"]
