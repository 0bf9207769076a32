"""Application Auto Scaling for tables and global indexes, on DynamoDB's own port.

    dimension     what can be scaled, and by which names
    target        one scalable target with its policy and its scheduled actions: plain data
    targets       all targets and scaling activities, stored
    tracking_alarms
                  the CloudWatch alarms of a target tracking policy
    worker        the background job: limits, schedules, alarms, and the UpdateTable that follows
    replicas      the scaling of replicas of global tables, as DynamoDB shows it
    service       the service, with which operations work
    registry      the list of operations, which are in `operations/`

The decisions are capacity/autoscaling.py's. Sources: capacity.md section 2.13, vectors V120 to V128;
botocore's model of Application Auto Scaling (2016-02-06) and its documentation of members. Texts of errors
are `Assumed:` unless they say otherwise.
"""
