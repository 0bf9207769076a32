"""Tables and items from a directory: table definitions as people already have them, items as files.

plan.py            what a directory asks for, and every fault in it by file and line
reading.py         which file is what
create_table.py    requests of CreateTable, answers of DescribeTable
cloudformation.py  templates, in JSON and YAML; intrinsics.py their functions
terraform.py       .tf and .tf.json; expressions.py what of the language can be worked out
shapes.py          holds a request against the service model, as texts become the types it wants
items.py           items as DynamoDB JSON, plain JSON, JSON lines or CSV
loading.py         makes the tables and puts the items, through requests like anybody's
"""

from faradisc.tools.seeding.loading import Outcome, load
from faradisc.tools.seeding.plan import Fault, Seed
from faradisc.tools.seeding.reading import read_seed

__all__ = ["Fault", "Outcome", "Seed", "load", "read_seed"]
