"""One file for the operations on each kind of thing; `scaling/registry.py` lists them."""
