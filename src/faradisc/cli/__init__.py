"""The `faradisc` command.

    main.py     the commands and how they report mistakes
    serving.py  `faradisc serve`, its options made from `server/settings.py`
    waiting.py  `faradisc wait`

Every mistake of the user is one sentence on standard error, with exit code 2 for a wrong command line or
setting and 1 for everything else. Modules that cost time to import are imported by the command that
needs them.
"""
