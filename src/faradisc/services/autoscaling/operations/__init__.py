"""One file for the operations on each kind of thing; `services/autoscaling/registry.py` lists them."""
