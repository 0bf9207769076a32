"""The report of `faradisc plan`: outcomes in, one HTML page out.

The page stands alone: no network, no font, no library; its charts are SVG from faradisc.charts. Equal
outcomes give equal bytes. A page stays below `PAGE_BYTES_MAX`: where there is too much to draw, columns,
rows of heat maps and rows of tables become fewer, peaks being kept (`detail`).

    document   the page, its order, its size
    overview   the verdict, budgets, totals, cost, assumptions
    compare    several plans beside each other
    resource   one table or index: its charts and tables
    lanes      consumption, refusals, banks over time
    heat       the heat map of its partitions
    scaling    auto scaling
    keys       hot keys; splits and refusals to split
"""

from faradisc.tools.planner.report.document import PAGE_BYTES_MAX, render

__all__ = ["PAGE_BYTES_MAX", "render"]
