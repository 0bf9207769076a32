"""The traffic of a plan: key distributions, arrival rates, request streams and retry policies."""
