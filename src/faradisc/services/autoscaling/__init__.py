"""Application Auto Scaling for tables and global indexes, on DynamoDB's own port.

    dimension     what can be scaled, and by which names
    target        one scalable target with its policy and its scheduled actions: plain data
    targets       all of them, and what was done for them; kept over restarts
    tracking_alarms
                  the CloudWatch alarms of a target tracking policy
    worker        the background job: limits, schedules, alarms, and the UpdateTable that follows
    service       the service: what operations work with
    registry      the only list of operations; they stand in `operations/`

The decisions are capacity/autoscaling.py's. Sources: capacity.md section 2.13, vectors V120 to V128;
botocore's model of Application Auto Scaling (2016-02-06) and its documentation of members. Texts of errors
are `Assumed:` unless they say otherwise.
"""
