"""Reads files of others: definitions of tables, and items.

recognising.py     what a file is, by its first bytes and its structure
definitions.py     one file of definitions, of any kind, into a Seed
seed.py            what is found: tables with their settings, items, errors by file and line
create_table.py    CreateTable requests and answers of DescribeTable
cloudformation.py  CloudFormation and SAM templates; stacks.py reads nested ones, intrinsics.py evaluates
                   functions, loops.py Fn::ForEach, yaml_reading.py their YAML
serverless.py      serverless.yml, whose resources are a template
terraform.py       `terraform show -json` and configurations; hcl.py evaluates their expressions
workbench.py       NoSQL Workbench models
attached.py        scaling and alarms of other resources, as requests for the tables they name
items.py           items as JSON, JSON lines, BatchWriteItem requests; csv_items.py as CSV
inputs.py          exports with manifests and files of items, for imports
shapes.py          checks a request against the service model and converts texts to its types

Nothing here changes a database.
"""
