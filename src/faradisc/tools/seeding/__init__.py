"""Tables and items from a directory of definitions and files of items.

seed.py            the content of a directory, and its errors by file and line
reading.py         reads a directory
create_table.py    CreateTable requests and answers of DescribeTable
cloudformation.py  CloudFormation templates, JSON and YAML; intrinsics.py evaluates their functions
terraform.py       `terraform show -json`, and configurations with literal values
shapes.py          checks a request against the service model and converts texts to its types
items.py           items as DynamoDB JSON, plain JSON, JSON lines or CSV
applying.py        creates the tables and puts the items by ordinary requests
calling.py         makes these requests to a database of this process
"""

from faradisc.tools.seeding.applying import SeedingOutcome, apply
from faradisc.tools.seeding.reading import read_seed
from faradisc.tools.seeding.seed import LocatedError, Seed

__all__ = ["LocatedError", "Seed", "SeedingOutcome", "apply", "read_seed"]
