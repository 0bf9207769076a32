"""Benchmarks: Faradisc and other servers over sockets, on one machine, in one run. README.md explains
them."""
