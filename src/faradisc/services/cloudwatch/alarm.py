"""A metric alarm or a composite one: its settings and its state."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from faradisc.capacity.config import SECOND_NS
from faradisc.clock import epoch_seconds
from faradisc.metrics.alarm_rule import AlarmRule, State
from faradisc.metrics.metric_catalog import NAMESPACE
from faradisc.records import asdict, dataclass, field
from faradisc.services.cloudwatch.composite import CompositeRule, parse_rule
from faradisc.services.cloudwatch.documents import from_document, to_document

METRIC_DELAY_NS = 60 * SECOND_NS
"""From the end of a period to its evaluation, as in auto scaling (capacity.md section 2.13)."""

ACTIONS: Mapping[State, str] = {
    "OK": "OKActions",
    "ALARM": "AlarmActions",
    "INSUFFICIENT_DATA": "InsufficientDataActions",
}


@dataclass(slots=True)
class Alarm:
    scope: str
    """Namespace of the catalog, for an account and a region."""
    region: str
    account: str
    name: str
    settings: dict[str, Any]
    """The members of PutMetricAlarm or PutCompositeAlarm as given, without Tags."""
    configured_ns: int
    updated_ns: int
    transitioned_ns: int
    state: State = "INSUFFICIENT_DATA"
    reason: str = "Unchecked: Initial alarm creation"
    reason_data: str | None = None
    looked_ns: int = 0
    """End of the last evaluated period; 0: none yet."""
    tags: dict[str, str] = field(default_factory=dict)
    owner: str | None = None
    """ARN of the scaling policy that the alarm drives."""
    driven: bool = False
    """Whether its owner sets its state."""

    @property
    def arn(self) -> str:
        return f"arn:aws:cloudwatch:{self.region}:{self.account}:alarm:{self.name}"

    @property
    def kind(self) -> str:
        """AlarmType of the model."""
        return "CompositeAlarm" if "AlarmRule" in self.settings else "MetricAlarm"

    @property
    def is_composite(self) -> bool:
        return self.kind == "CompositeAlarm"

    @property
    def composite_rule(self) -> CompositeRule:
        return parse_rule(self.settings["AlarmRule"])

    @property
    def period_s(self) -> int:
        """The period of the metric, or the longest one of a metric query; 0 of a composite alarm."""
        if self.is_composite:
            return 0
        if "Metrics" not in self.settings:
            period: int = self.settings["Period"]
            return period
        periods = [query.get("Period", 0) for query in self.settings["Metrics"]]
        periods += [
            query["MetricStat"]["Period"] for query in self.settings["Metrics"] if "MetricStat" in query
        ]
        longest: int = max(60, *periods)
        return longest

    @property
    def rule(self) -> AlarmRule:
        settings = self.settings
        return AlarmRule(
            settings["ComparisonOperator"],
            Fraction(settings["Threshold"]),
            self.period_s,
            settings["EvaluationPeriods"],
            settings.get("DatapointsToAlarm"),
            settings.get("TreatMissingData") or ("ignore" if NAMESPACE in self._namespaces() else "missing"),
        )

    def _namespaces(self) -> set[str]:
        """Returns the namespaces of the metrics that the alarm evaluates."""
        queries = [
            query["MetricStat"]["Metric"]
            for query in self.settings.get("Metrics", ())
            if "MetricStat" in query
        ]
        return {metric["Namespace"] for metric in (queries or [self.settings]) if "Namespace" in metric}

    @property
    def actions_enabled(self) -> bool:
        enabled: bool = self.settings.get("ActionsEnabled", True)
        return enabled

    def actions(self) -> list[str]:
        """Returns the ARNs of the actions of the present state."""
        return self.settings.get(ACTIONS[self.state], []) if self.actions_enabled else []

    def describe(self) -> dict[str, Any]:
        """Returns a MetricAlarm or a CompositeAlarm of the model."""
        described: dict[str, Any] = {
            "AlarmName": self.name,
            "AlarmArn": self.arn,
            "AlarmConfigurationUpdatedTimestamp": epoch_seconds(self.configured_ns),
            "ActionsEnabled": True,
            "OKActions": [],
            "AlarmActions": [],
            "InsufficientDataActions": [],
            "StateValue": self.state,
            "StateReason": self.reason,
            "StateUpdatedTimestamp": epoch_seconds(self.updated_ns),
            "StateTransitionedTimestamp": epoch_seconds(self.transitioned_ns),
            **({} if "Metrics" in self.settings or self.is_composite else {"Dimensions": []}),
            **self.settings,
        }
        if self.reason_data is not None:
            described["StateReasonData"] = self.reason_data
        return described

    def to_json(self) -> dict[str, Any]:
        return to_document(asdict(self))

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Alarm:
        return cls(**from_document(stored))
