"""The nodes of a shared store: which are alive, which one runs a job, and rows that all keep in memory.

An embedded store has one process and none of this. Source: many-nodes.md section 1.
"""
