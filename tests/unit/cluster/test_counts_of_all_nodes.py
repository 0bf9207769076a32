"""Every node has the metrics of all, whichever counted them."""

from __future__ import annotations

from typing import Any

from faradisc.operations.call import Call
from faradisc.services.cloudwatch.documents import DocumentStore
from faradisc.storage.immediate import run
from fixtures.nodes import ACCOUNT, REGION, SharedNodes, TestNode

MINUTE_S = 60.0


def cloudwatch(node: TestNode, operation: str, **request: Any) -> dict[str, Any]:
    call = Call(operation, request, True, REGION, ACCOUNT)
    return run(node.database.other_service("cloudwatch").execute(call))


def two_with_a_table() -> SharedNodes:
    nodes = SharedNodes(1)
    schema = {
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
    }
    nodes.nodes[0].call("CreateTable", TableName="t", BillingMode="PAY_PER_REQUEST", **schema)
    nodes.start()
    nodes.pass_time(MINUTE_S - nodes.clock.now_ns() / 1e9 % MINUTE_S + 1, *nodes.nodes)
    return nodes


def consumed(node: TestNode, name: str = "ConsumedWriteCapacityUnits") -> float:
    statistics = cloudwatch(
        node,
        "GetMetricStatistics",
        Namespace="AWS/DynamoDB",
        MetricName=name,
        Dimensions=[{"Name": "TableName", "Value": "t"}],
        StartTime=node.database.backend.clock.now_ns() / 1e9 - 3600,
        EndTime=node.database.backend.clock.now_ns() / 1e9,
        Period=3600,
        Statistics=["Sum"],
    )
    return sum(point["Sum"] for point in statistics["Datapoints"])


def test_metrics_are_those_of_all_nodes() -> None:
    nodes = two_with_a_table()
    first, second = nodes.nodes
    for node, count in ((first, 3), (second, 4)):
        for number in range(count):
            node.call("PutItem", TableName="t", Item={"p": {"S": str(number)}})
    nodes.pass_time(MINUTE_S + 10, first, second)
    assert consumed(first) == consumed(second) == 7
    third = nodes.start()
    nodes.pass_time(5, *nodes.nodes)
    assert consumed(third) == 7


def test_metrics_that_are_settings_are_not_added_up() -> None:
    nodes = two_with_a_table()
    nodes.pass_time(600, *nodes.nodes)
    for node in nodes.nodes:
        (_, registry) = node.database.accounts()[0]
        series = registry.metrics.series["AccountMaxReads", ()]
        assert {statistic.count for _, statistic in series.points} == {1}


def test_metrics_that_clients_put_are_on_every_node() -> None:
    nodes = two_with_a_table()
    first, second = nodes.nodes
    datum = {"MetricName": "m", "Value": 5.0, "Timestamp": nodes.clock.now_ns() / 1e9}
    cloudwatch(first, "PutMetricData", Namespace="n", MetricData=[datum])
    nodes.pass_time(5, first, second)
    for node in nodes.nodes:
        (found,) = cloudwatch(node, "ListMetrics")["Metrics"][-1:]
        assert found == {"Namespace": "n", "MetricName": "m", "Dimensions": []}


ALARM = {
    "AlarmName": "busy",
    "Namespace": "AWS/DynamoDB",
    "MetricName": "ConsumedWriteCapacityUnits",
    "Dimensions": [{"Name": "TableName", "Value": "t"}],
    "Statistic": "Sum",
    "Period": 60,
    "EvaluationPeriods": 1,
    "Threshold": 5.0,
    "ComparisonOperator": "GreaterThanOrEqualToThreshold",
}


def state(node: TestNode) -> str:
    (alarm,) = cloudwatch(node, "DescribeAlarms")["MetricAlarms"]
    return str(alarm["StateValue"])


def changes(node: TestNode) -> list[str]:
    """Returns the changes of the alarm's state, the latest first."""
    history = cloudwatch(node, "DescribeAlarmHistory", AlarmName="busy")["AlarmHistoryItems"]
    return [each["HistorySummary"] for each in history if each["HistoryItemType"] == "StateUpdate"]


def test_an_alarm_is_evaluated_once_over_the_metrics_of_all_nodes() -> None:
    nodes = two_with_a_table()
    first, second = nodes.nodes
    cloudwatch(first, "PutMetricAlarm", **ALARM)
    for node in nodes.nodes:
        for number in range(3):
            node.call("PutItem", TableName="t", Item={"p": {"S": str(number)}})
    nodes.pass_time(2.2 * MINUTE_S, first, second)
    assert state(first) == state(second) == "ALARM"
    assert changes(first)[0] == "Alarm updated from OK to ALARM"
    assert changes(first) == changes(second) == list(dict.fromkeys(changes(first)))


def test_a_state_that_is_set_by_hand_on_another_node_stays_until_the_next_period() -> None:
    nodes = two_with_a_table()
    first, second = nodes.nodes
    cloudwatch(first, "PutMetricAlarm", **ALARM)
    nodes.pass_time(2, first, second)
    for node, by_hand in zip(nodes.nodes, ("ALARM", "OK"), strict=True):  # whichever evaluates the alarm
        cloudwatch(node, "SetAlarmState", AlarmName="busy", StateValue=by_hand, StateReason="drill")
        nodes.pass_time(2, first, second)
        assert state(first) == state(second) == by_hand


def test_an_alarm_that_two_nodes_change_has_the_state_of_one_and_no_node_keeps_another() -> None:
    nodes = two_with_a_table()
    first, second = nodes.nodes
    cloudwatch(first, "PutMetricAlarm", **ALARM)
    nodes.pass_time(2, first, second)
    cloudwatch(second, "PutMetricAlarm", **{**ALARM, "Threshold": 9.0})
    nodes.pass_time(2, first, second)
    for node in nodes.nodes:
        (alarm,) = cloudwatch(node, "DescribeAlarms")["MetricAlarms"]
        assert alarm["Threshold"] == 9.0
    cloudwatch(first, "DeleteAlarms", AlarmNames=["busy"])
    nodes.pass_time(2, first, second)
    assert cloudwatch(second, "DescribeAlarms")["MetricAlarms"] == []


def test_documents_are_read_again_by_a_node_that_missed_the_log() -> None:
    nodes = SharedNodes(2)
    part = b"\x00\x00\x00\x00\x63"
    here, there = (DocumentStore(node.store, part) for node in nodes.nodes)
    run(here.load())
    run(there.load())
    run(here.write({("a",): {"n": 1}, ("b",): {"n": 1}}))
    assert run(there.changed()) == [(("a",), {"n": 1}), (("b",), {"n": 1})]
    for number in range(5):
        run(here.write({("a",): {"n": number}}, [("b",)] if number == 0 else []))
    run(nodes.nodes[0].store.trim(part, 6))
    assert sorted(run(there.changed()), key=str) == [(("a",), {"n": 4}), (("b",), None)]
    assert run(here.changed()) == []
