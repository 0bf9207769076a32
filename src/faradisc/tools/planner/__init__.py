"""`faradisc plan`: what a design would do, before anyone pays for it.

Traffic, modelled in a plan file or recorded in a trace, runs in virtual time against the same capacity core
(faradisc.capacity) that the server enforces; what comes of it is an `Outcome`. Reading order:

    outcome                 what one run yields: the report, the CSV tables and the tests all read this
    document, mistakes      YAML with line numbers; what is wrong, where, and what to write instead
    plan, loading           what a plan file means (plan_keys, plan_traffic: its larger members)
    keys, rates, retries    models of which keys are asked for, how often, and how clients insist
    trace, traced, replay   recorded traffic, written by the server, read back with bad lines counted
    world, scaling          the tables of a plan as resources of the core; auto scaling at work on them
    streams                 traffic as streams of equal requests with their charges
    events                  the engine that runs every request
    fluid, shares, balance  the engine that runs a second at a time (fluid_replay: traces through it)
    observe, keywatch       what is seen of a run, minute by minute and key by key
    prices, cost            what every mode would cost
    verdicts, story         what it means, in words
    run                     a plan in, an outcome out
    tables, summary         an outcome as CSV, and as text
    report                  an outcome as one HTML page

Nothing here asks for the time or for chance: time is the plan's, chance is seeded by the plan.
"""
