"""The `faradisc` command.

    main.py        the list of commands
    serving.py     `faradisc serve`, with an option for each setting of `server/settings.py`
    databases.py   the options for a database, and access to it
    tables.py      tables on the standard output
    trace_file.py  the lines of a recorded trace
    failing.py     ends a command with an error

An error is one sentence on standard error, with exit code 2 for a wrong command line or setting and 1 for
everything else; advise, check, import, inspect and plan have more codes. Modules that are slow to import are
imported by the command that needs them.
"""
