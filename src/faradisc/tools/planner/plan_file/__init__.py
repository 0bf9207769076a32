"""Reading and checking of a plan: YAML, a trace, or a file of rates in; a `Plan` out."""
