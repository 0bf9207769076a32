"""Recorded traffic: the trace format, its replay, files of rates, and CloudWatch exports."""
