"""`python -m faradisc` is the `faradisc` command."""

from faradisc.cli.main import main

if __name__ == "__main__":
    main()
