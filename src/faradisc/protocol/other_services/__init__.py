"""Other services of AWS that answer on the same port: Application Auto Scaling and CloudWatch.

    services      what they are called, and on the wire by what they are known
    recognise     whether a request is for one of them, and how it is written
    json_wire, cbor_wire, query_wire
                  bytes -> members -> bytes, for each way to write a request
    answering     one request in, one answer out

DynamoDB's own requests never come here: `front.answer` asks `recognise` only about requests it would
otherwise refuse. What a service does with a request is its package's affair (`scaling`, `monitoring`);
requests are checked against botocore's model of it, as DynamoDB's are, and that model is read when the
first request for the service comes.
"""
