"""One file per API action; registry.py is the only list of them."""
