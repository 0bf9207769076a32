"""Other AWS services on the same port: Application Auto Scaling and CloudWatch.

    services      their names and versions
    recognise     which service a request is for, and in which wire format
    cbor_wire, query_wire
                  bytes to members and back, for each wire format
    answering     answers one request

`front.answer` asks `recognise` only about requests that DynamoDB would reject. The operations are in
`services/autoscaling` and `services/cloudwatch`. Requests are checked against botocore's model of their
service, which is read at the first request for it.
"""
