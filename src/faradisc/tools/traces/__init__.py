"""Recorded traffic: the format of traces, files of rates, and exports from CloudWatch.

A server writes traces, the planner runs them, and the advisor reads them.
"""
