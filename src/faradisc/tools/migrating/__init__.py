"""Changes test suites that are written for another tool so that they use Faradisc."""
