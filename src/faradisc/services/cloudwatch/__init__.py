"""The part of Amazon CloudWatch that a database needs, on DynamoDB's own port: metrics and alarms.

    service       the service, with which operations work
    sources       the metrics of tables, and those that clients put
    custom        metrics that clients put; documents: small registries in the store
    statistics    the names of statistics, and their values at a point
    queries       metric queries; tokens, arithmetic and series_math: metric math
    paging        pages of sorted lists
    alarm, alarms, reasons
                  one alarm; all of them, with their history; the words for their states
    evaluation    the background job that evaluates alarms
    notifications sends the actions of alarms to a webhook
    registry      the list of operations, which are in `operations/`

Sources: botocore's model of CloudWatch (2010-08-01), its documentation of members, capacity.md section 2.14,
metrics.md. Texts of errors are `Assumed:` unless they say otherwise.
"""
