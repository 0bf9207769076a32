"""The throughput model: capacity units, partitions, token buckets, admission, scaling. Pure.

Callers pass in time (nanoseconds since the epoch), random numbers and sizes;
tests/unit/capacity/test_purity.py checks that nothing here reads them. Balances are nano-units. Reading
order:

    units              what an operation costs
    config             profiles; everything that the service does not publish
    buckets            token buckets with debt
    partitions         key ranges with their limits; partition_sizes: corrected counts of what they hold
    topology           how many partitions, and where they are cut; splitting: splits under way
    admission          limiters and charges: the hot path; limiter_setup: their buckets
    throttle           how a throttled request is answered
    provisioning       rates, modes, warm throughput
    resource           a table or global index over time; usage: its consumption by minute
    resource_registry  all resources of an account and region, and their metrics
    sharing            what one of several processes admits of a resource's rates
    heat, key_watch    hot partitions and their keys
    adaptive           adaptive capacity as of 2017
    controlplane       limits on changes of throughput
    autoscaling        target tracking; schedules: at(...), rate(...), cron(...)
    events, inspect    what the admin API shows
"""
