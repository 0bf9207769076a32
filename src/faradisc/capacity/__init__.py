"""Throughput as the service has it: units, partitions, buckets, admission, scaling. Pure.

Nothing here asks for the time, for chance or for bytes; tests/unit/capacity/test_purity.py holds it to that.
Time is nanoseconds since the epoch, an argument everywhere; units are nano-units. Reading order:

    units         what an operation costs
    config        profiles; everything the service does not publish
    buckets       balances, debt
    partitions    the map of the key space; topology: counts and cuts; splitting: splits under way
    admission     lanes and charges: the hot path
    throttle      what a refused request is told
    resource      a table or global index over time; resource_registry: all of them, and their metrics
    heat, sketch  hot partitions, hot keys; heat_history: the last hour
    ondemand, controlplane, adaptive, autoscaling (alarms, schedules)
    metrics, metric_catalog, insights, events, inspect    what can be seen
"""
