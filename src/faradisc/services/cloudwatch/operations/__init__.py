"""One file per operation, or per few that are alike; `services/cloudwatch/registry.py` lists them."""
