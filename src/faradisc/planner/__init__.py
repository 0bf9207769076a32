"""`faradisc plan`: what a design would do, before anyone pays for it.

Traffic, modelled in a plan file or recorded in a trace, runs in virtual time against the same capacity core
(faradisc.capacity) that the server enforces; what comes of it is an `Outcome`. Reading order:

    outcome                 what one run yields: the report, the CSV tables and the tests all read this
    document, plan, loading the plan file: YAML with line numbers, its meaning, its mistakes
    keys, rates             models of which keys are asked for, and how often
    trace                   recorded traffic, written by the server, read back with bad lines counted
    world                   the tables of a plan as resources of the core, auto scaling at work on them
    events, fluid           the two engines
    observe, keywatch       what is seen of a run, minute by minute and key by key
    prices, cost            what every mode would cost
    run                     a plan in, an outcome out
    tables, summary         an outcome as CSV, and as text
    report                  an outcome as one HTML page

Nothing here asks for the time or for chance: time is the plan's, chance is seeded by the plan.
"""
