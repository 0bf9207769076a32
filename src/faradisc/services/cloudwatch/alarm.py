"""One metric alarm: what was asked for, and the state it is in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from faradisc.capacity.config import SECOND_NS
from faradisc.clock import epoch_seconds
from faradisc.engine.metrics.alarm_rule import AlarmRule, State
from faradisc.services.cloudwatch.documents import from_document, to_document

METRIC_DELAY_NS = 60 * SECOND_NS
"""A period is looked at so long after its end, as auto scaling's points are (capacity.md section 2.13)."""

_ACTIONS: Mapping[State, str] = {
    "OK": "OKActions",
    "ALARM": "AlarmActions",
    "INSUFFICIENT_DATA": "InsufficientDataActions",
}


@dataclass(slots=True)
class Alarm:
    scope: str
    """Namespace of the catalog: what an account and a region are here."""
    region: str
    account: str
    name: str
    settings: dict[str, Any]
    """The members of PutMetricAlarm as given, without Tags."""
    configured_ns: int
    updated_ns: int
    transitioned_ns: int
    state: State = "INSUFFICIENT_DATA"
    reason: str = "Unchecked: Initial alarm creation"
    reason_data: str | None = None
    looked_ns: int = 0
    """End of the last period that was looked at; 0: none yet."""
    tags: dict[str, str] = field(default_factory=dict)
    owner: str | None = None
    """ARN of the scaling policy that the alarm belongs to, and that acts on it."""
    driven: bool = False
    """Its state is set by its owner and follows from the settings only by way of it."""

    @property
    def arn(self) -> str:
        return f"arn:aws:cloudwatch:{self.region}:{self.account}:alarm:{self.name}"

    @property
    def period_s(self) -> int:
        """Of the metric; of a metric query, the longest period in it."""
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
    def periods(self) -> int:
        count: int = self.settings["EvaluationPeriods"]
        return count

    @property
    def rule(self) -> AlarmRule:
        settings = self.settings
        return AlarmRule(
            settings["ComparisonOperator"],
            Fraction(settings["Threshold"]),
            self.period_s,
            self.periods,
            settings.get("DatapointsToAlarm"),
            settings.get("TreatMissingData", "missing"),
        )

    @property
    def actions_enabled(self) -> bool:
        enabled: bool = self.settings.get("ActionsEnabled", True)
        return enabled

    def actions(self) -> list[str]:
        """ARNs of what the present state is to set off."""
        return self.settings.get(_ACTIONS[self.state], []) if self.actions_enabled else []

    def describe(self) -> dict[str, Any]:
        """A MetricAlarm of the model."""
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
            **({} if "Metrics" in self.settings else {"Dimensions": []}),
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
