"""The nodes of a shared store: which are alive, which one runs a job, and rows that all keep in memory.

    nodes, cluster                   the nodes, and one of them as its database sees it
    leases                           who runs a job or a work; its commits fail when another one does
    followed, broadcast              rows that every node follows; messages to all

An embedded store has one process and none of this. Source: many-nodes.md section 1.
"""
