"""What is counted of tables, indexes and requests, and kept in memory. Pure: no clock, no I/O.

metric_catalog        the CloudWatch metrics of namespace AWS/DynamoDB
metric_store          series of metrics by minute
request_metrics       latencies, errors and other counts of requests, published every minute
alarm_rule            when a metric puts an alarm into which state
sketch                the heaviest keys of a stream in bounded memory
contributor_insights  the most accessed and most throttled keys of a table or index
heat_history          how hot partitions were in the last hour
"""
