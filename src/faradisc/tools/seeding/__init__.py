"""Tables and items from a directory of definitions and files of items.

reading.py         reads a directory, each file by `tools.readers`
applying.py        creates the tables and puts the items by ordinary requests
calling.py         makes these requests to a database of this process
"""

from faradisc.tools.readers.seed import LocatedError, Seed
from faradisc.tools.seeding.applying import SeedingOutcome, apply
from faradisc.tools.seeding.reading import read_seed

__all__ = ["LocatedError", "Seed", "SeedingOutcome", "apply", "read_seed"]
