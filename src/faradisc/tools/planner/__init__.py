"""`faradisc plan`: what a design would do and cost.

Traffic, modelled in a plan file or recorded in a trace, runs in virtual time against the capacity model of
the server (faradisc.capacity). The result of a run is an `Outcome`.
Traces, files of rates and exports from CloudWatch are read in tools/traces.

    plan_file    the plan file: reading, checking, variants; plans of traces and of files of rates
    workload     key distributions, arrival rates, retries, streams of requests
    simulation   tables of the capacity model, auto scaling, both engines, the recorder
    run          a plan in, an outcome out
    results      the outcome: costs, hot keys, headline, chance, what if, CSV
    report       outcomes as one HTML page, and as text

Nothing here reads the clock or draws true random numbers: the plan gives the time and the seed.
"""
