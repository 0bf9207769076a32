"""A Kinesis endpoint that answers PutRecords over HTTP and records the documents."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fixtures.doubles import QuietRequests, serving


class KinesisDouble:
    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[dict[str, Any]] = []
        self.records: list[dict[str, Any]] = []
        """The accepted documents in order."""
        self.partition_keys: list[str] = []
        self.fail_requests = 0
        """Number of requests that are answered with 500."""
        self.fail_records: set[int] = set()
        """Positions of records that fail in the next request."""
        self.never: str = ""
        """Documents with this text are always rejected."""
        self.missing: set[str] = set()
        """Names of streams that do not exist."""

    def put_records(self, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self.requests.append(request)
        if self.fail_requests:
            self.fail_requests -= 1
            return 500, {"__type": "InternalFailure", "message": "later"}
        documents = [b64decode(record["Data"]).decode() for record in request["Records"]]
        if self.never and any(self.never in document for document in documents):
            return 400, {"__type": "InvalidArgumentException", "message": "no"}
        missed, self.fail_records = self.fail_records, set()
        results: list[dict[str, Any]] = []
        for at, document in enumerate(documents):
            if at in missed:
                results.append({"ErrorCode": "ProvisionedThroughputExceededException", "ErrorMessage": "x"})
                continue
            self.records.append(json.loads(document))
            self.partition_keys.append(request["Records"][at]["PartitionKey"])
            results.append({"SequenceNumber": str(len(self.records)), "ShardId": "shardId-000000000000"})
        return 200, {"FailedRecordCount": len(missed), "Records": results}


@contextmanager
def kinesis_double() -> Iterator[KinesisDouble]:
    class Requests(QuietRequests):
        def do_POST(self) -> None:
            operation = self.headers["X-Amz-Target"].removeprefix("Kinesis_20131202.")
            request = json.loads(self.body())
            if request["StreamName"] in double.missing:
                status, answer = 400, {"__type": "ResourceNotFoundException", "message": "no such stream"}
            elif operation == "PutRecords":
                status, answer = double.put_records(request)
            else:
                assert operation == "DescribeStreamSummary"
                status, answer = 200, {"StreamDescriptionSummary": {"StreamStatus": "ACTIVE"}}
            self.answer(status, json.dumps(answer).encode(), content_type="application/x-amz-json-1.1")

    with serving(Requests) as port:
        double = KinesisDouble(f"http://127.0.0.1:{port}")
        yield double
