"""The `faradisc` command.

    main.py        the commands: in which module and function each is, and how mistakes are reported
    serving.py     `faradisc serve`, its options made from `server/settings.py`
    databases.py   the options that say which database a command is about, and what reaches it
    requests.py    requests to one that is served
    trace_file.py  the lines of a recorded trace
    failing.py     how a command ends that cannot go on

Every mistake of the user is one sentence on standard error, with exit code 2 for a wrong command line or
setting and 1 for everything else, unless the command's own codes say more (check, import, inspect, plan).
Modules that cost time to import are imported by the command that needs them.
"""
