"""One file per operation, or per few that are alike; `monitoring/registry.py` lists them."""
