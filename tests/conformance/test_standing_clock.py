"""With a clock that stands still, states of 5 ms complete for the request that asks (decision 6)."""

from __future__ import annotations

from typing import Any

from fixtures.in_process import InProcess

KEY: dict[str, Any] = {
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def test_deleted_name_is_free(raw: InProcess) -> None:
    raw.call("CreateTable", TableName="tab", **KEY)
    raw.call("PutItem", TableName="tab", Item={"pk": {"S": "a"}})
    raw.call("DeleteTable", TableName="tab")
    raw.call("CreateTable", TableName="tab", **KEY)
    assert raw.call("Scan", TableName="tab")["Count"] == 0


def test_new_index_is_filled_and_answers(raw: InProcess) -> None:
    raw.call("CreateTable", TableName="tab", **KEY)
    raw.call("PutItem", TableName="tab", Item={"pk": {"S": "a"}, "g": {"S": "x"}})
    create = {
        "IndexName": "by-g",
        "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    definitions = [*KEY["AttributeDefinitions"], {"AttributeName": "g", "AttributeType": "S"}]
    raw.call(
        "UpdateTable",
        TableName="tab",
        AttributeDefinitions=definitions,
        GlobalSecondaryIndexUpdates=[{"Create": create}],
    )
    while raw.run(raw.database.work()):
        pass
    assert raw.call("Scan", TableName="tab", IndexName="by-g")["Count"] == 1


def test_contributor_insights_and_streams_are_enabled(raw: InProcess) -> None:
    raw.call("CreateTable", TableName="tab", **KEY)
    raw.call("UpdateContributorInsights", TableName="tab", ContributorInsightsAction="ENABLE")
    described = raw.call("DescribeContributorInsights", TableName="tab")
    assert described["ContributorInsightsStatus"] == "ENABLED"
    stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    raw.call("UpdateTable", TableName="tab", StreamSpecification=stream)
    arn = raw.call("DescribeTable", TableName="tab")["Table"]["LatestStreamArn"]
    answer = raw.post(
        "DescribeStream",
        b'{"StreamArn":"%b"}' % arn.encode(),
        {"x-amz-target": "DynamoDBStreams_20120810.DescribeStream"},
    )
    assert b'"StreamStatus":"ENABLED"' in answer.body
