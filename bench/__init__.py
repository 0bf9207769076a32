"""Benchmarks: Faradisc against its peers over sockets, on one machine, in one run. Start at README.md."""
