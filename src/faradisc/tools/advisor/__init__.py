"""`faradisc advise`: what to change in tables and traffic, by the best practices of modelling.

definitions.py  tables as DescribeTable, CreateTable or a trace describe them
key_names.py    what the name of a partition key says of its values
traffic.py      the summary of traffic that rules read
recording.py    the summary of a recorded trace
serving.py      the summary of a running endpoint: descriptions, metrics, hot keys
findings.py     what a rule finds, with its effect in units and money
rules/          a file for each rule, and the table of rules
report.py       findings as text and JSON

Rules are pure functions of a summary. Prices are those of the planner, limits those of the capacity model.
"""
