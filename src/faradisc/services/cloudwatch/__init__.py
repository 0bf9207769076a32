"""Amazon CloudWatch as far as a database needs it: metrics read, alarms watched. On DynamoDB's own port.

    service       the service: what operations work with
    sources       where points come from: the tables' metrics, and those that clients put
    statistics    which statistics there are, and what a point says of them
    queries, arithmetic
                  metric queries and metric math
    alarm, alarms, reasons
                  one alarm; all of them, with their history; the words for their states
    evaluation    the background job that moves alarms from state to state
    registry      the only list of operations; they stand in `operations/`

Sources: botocore's model of CloudWatch (2010-08-01), its documentation of members, capacity.md section 2.14,
metrics.md. Texts of errors are `Assumed:` unless they say otherwise.
"""
