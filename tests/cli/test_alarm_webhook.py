"""`serve --alarm-webhook`: a change of an alarm's state reaches an HTTP server, and the history says so."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from queue import SimpleQueue
from typing import Any

import boto3
import pytest

from fixtures.served import Server

TOPIC = "arn:aws:sns:us-east-1:000000000000:on-call"


class Hook(HTTPServer):
    """Keeps what is posted; the first request is answered with an error."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.received: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self.requests = 0


class Handler(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests += 1
        self.send_response(503 if self.server.requests == 1 else 200)
        self.end_headers()
        if self.server.requests > 1:
            self.server.received.put(json.loads(body))

    def log_message(self, *_: Any) -> None:
        """Prints nothing."""


@pytest.fixture
def hook() -> Iterator[Hook]:
    with Hook() as hook:
        thread = threading.Thread(target=hook.serve_forever)
        thread.start()
        yield hook
        hook.shutdown()
        thread.join()


def test_alarm_notifies_a_webhook_and_its_history_says_so(hook: Hook) -> None:
    with Server("--memory", "--alarm-webhook", f"http://127.0.0.1:{hook.server_port}/alarms") as server:
        cloudwatch = boto3.client(
            "cloudwatch",
            "us-east-1",
            endpoint_url=server.url,
            aws_access_key_id="any",
            aws_secret_access_key="any",
        )
        cloudwatch.put_metric_alarm(
            AlarmName="busy",
            Namespace="Mine",
            MetricName="m",
            Statistic="Sum",
            Period=60,
            EvaluationPeriods=1,
            Threshold=1.0,
            ComparisonOperator="GreaterThanThreshold",
            AlarmActions=[TOPIC],
        )
        cloudwatch.set_alarm_state(AlarmName="busy", StateValue="ALARM", StateReason="drill")
        document = hook.received.get(timeout=60)
        assert (document["Type"], document["TopicArn"]) == ("Notification", TOPIC)
        assert json.loads(document["Message"])["NewStateReason"] == "drill"
        summaries: list[str] = []
        while not summaries:
            history = cloudwatch.describe_alarm_history(AlarmName="busy", HistoryItemType="Action")
            summaries = [item["HistorySummary"] for item in history["AlarmHistoryItems"]]
        assert summaries == [f"Successfully executed action {TOPIC}"]
        assert server.stop() == 0
