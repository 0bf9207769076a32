"""What is in deploy/: each file has the shape of its schema, and names settings and metrics that exist.

The schemas are ours and strict: a member that they do not know is an error, so a mistyped one is found.
"""

from __future__ import annotations

import configparser
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from faradisc.metrics.metric_catalog import METRICS
from faradisc.server.exposition import _snake
from faradisc.server.settings import SETTINGS, ServerSettings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
TEXT = {"type": "string", "minLength": 1}
NUMBER = {"type": "integer", "minimum": 0}
FLAG = {"type": "boolean"}


def of(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    """Returns the schema of an object with these members and no others."""
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
        "additionalProperties": False,
    }


def many(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": schema, "minItems": 1}


def texts() -> dict[str, Any]:
    return {"type": "object", "additionalProperties": TEXT, "minProperties": 1}


SELECTOR = of({"matchLabels": texts()})
PROBE = of(
    {
        "httpGet": of({"path": {"pattern": "^/health/(live|ready)$"}, "port": {"const": "http"}}),
        "periodSeconds": NUMBER,
    },
    timeoutSeconds=NUMBER,
    failureThreshold=NUMBER,
)
CONTAINER = of(
    {
        "name": TEXT,
        "image": TEXT,
        "args": many(TEXT),
        "env": many(of({"name": TEXT, "value": TEXT})),
        "ports": many(of({"name": TEXT, "containerPort": NUMBER})),
        "startupProbe": PROBE,
        "livenessProbe": PROBE,
        "readinessProbe": PROBE,
        "resources": of({"requests": texts(), "limits": texts()}),
        "securityContext": of(
            {
                "allowPrivilegeEscalation": {"const": False},
                "readOnlyRootFilesystem": FLAG,
                "capabilities": of({"drop": many(TEXT)}),
            }
        ),
        "volumeMounts": many(of({"name": TEXT, "mountPath": TEXT}, readOnly=FLAG)),
    }
)
POD = of(
    {
        "terminationGracePeriodSeconds": NUMBER,
        "securityContext": of({"runAsNonRoot": {"const": True}, "runAsUser": NUMBER, "fsGroup": NUMBER}),
        "topologySpreadConstraints": many(
            of(
                {
                    "maxSkew": NUMBER,
                    "topologyKey": TEXT,
                    "whenUnsatisfiable": {"enum": ["DoNotSchedule", "ScheduleAnyway"]},
                    "labelSelector": SELECTOR,
                }
            )
        ),
        "containers": many(CONTAINER),
        "volumes": many(of({"name": TEXT}, secret=of({"secretName": TEXT}), emptyDir={"const": {}})),
    }
)
METADATA = of({"name": {"type": "string", "pattern": "^[a-z0-9-]{1,63}$"}}, labels=texts())
SPECS: dict[tuple[str, str], dict[str, Any]] = {
    ("v1", "Secret"): {"type": TEXT, "stringData": texts()},
    ("apps/v1", "Deployment"): {
        "spec": of(
            {
                "replicas": NUMBER,
                "selector": SELECTOR,
                "strategy": of(
                    {
                        "type": {"const": "RollingUpdate"},
                        "rollingUpdate": of({"maxUnavailable": NUMBER, "maxSurge": NUMBER}),
                    }
                ),
                "template": of({"metadata": of({"labels": texts()}, annotations=texts()), "spec": POD}),
            }
        )
    },
    ("v1", "Service"): {
        "spec": of(
            {"selector": texts(), "ports": many(of({"name": TEXT, "port": NUMBER, "targetPort": TEXT}))}
        )
    },
    ("policy/v1", "PodDisruptionBudget"): {"spec": of({"maxUnavailable": NUMBER, "selector": SELECTOR})},
    ("postgresql.cnpg.io/v1", "Cluster"): {
        "spec": of(
            {
                "instances": {"type": "integer", "minimum": 2},
                "bootstrap": of({"initdb": of({"database": TEXT, "owner": TEXT})}),
                "postgresql": of(
                    {
                        "parameters": of({"max_connections": TEXT, "max_prepared_transactions": TEXT}),
                        "synchronous": of({"method": {"enum": ["any", "first"]}, "number": NUMBER}),
                    }
                ),
                "storage": of({"size": {"pattern": "^[0-9]+[MGT]i$"}}),
            }
        )
    },
}
RULE = of(
    {
        "alert": {"type": "string", "pattern": "^Faradisc[A-Za-z]+$"},
        "expr": TEXT,
        "for": {"type": "string", "pattern": "^[0-9]+[smh]$"},
        "labels": of({"severity": {"enum": ["critical", "warning"]}}),
        "annotations": of({"summary": TEXT, "description": TEXT}),
    }
)
RULES = of({"groups": many(of({"name": TEXT, "rules": many(RULE)}))})
PANEL = of(
    {
        "id": NUMBER,
        "type": {"enum": ["timeseries", "stat"]},
        "title": TEXT,
        "datasource": of({"type": {"const": "prometheus"}, "uid": {"const": "${datasource}"}}),
        "gridPos": of(
            {"x": NUMBER, "y": NUMBER, "w": {"type": "integer", "minimum": 1, "maximum": 24}, "h": NUMBER}
        ),
        "fieldConfig": of({"defaults": of({"unit": TEXT}), "overrides": {"const": []}}),
        "targets": many(of({"refId": {"pattern": "^[A-Z]$"}, "expr": TEXT, "legendFormat": TEXT})),
    }
)


def documents(name: str) -> list[Any]:
    return list(YAML(typ="safe").load_all((DEPLOY / name).read_text()))


def check(document: Any, schema: dict[str, Any]) -> None:
    errors = sorted(Draft202012Validator(schema).iter_errors(document), key=lambda error: error.json_path)
    assert not errors, [f"{error.json_path}: {error.message}" for error in errors]


@pytest.mark.parametrize("name", ["kubernetes/faradisc.yaml", "kubernetes/postgres.yaml"])
def test_manifests_have_the_shape_of_their_kind(name: str) -> None:
    for document in documents(name):
        specific = SPECS[document["apiVersion"], document["kind"]]
        check(document, of({"apiVersion": TEXT, "kind": TEXT, "metadata": METADATA, **specific}))


def test_the_deployment_starts_servers_whose_settings_exist() -> None:
    by_kind = {each["kind"]: each for each in documents("kubernetes/faradisc.yaml")}
    pod = by_kind["Deployment"]["spec"]["template"]
    [container] = pod["spec"]["containers"]
    environment = {each["name"]: each["value"] for each in container["env"]}
    assert environment.keys() <= {setting.environment for setting in SETTINGS}
    assert container["args"] == ["serve"]
    names = {each["name"] for each in pod["spec"]["volumes"]}
    assert {each["name"] for each in container["volumeMounts"]} == names
    secret = by_kind["Secret"]
    mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    assert environment["FARADISC_STORE"] in {f"{mounts['store']}/{key}" for key in secret["stringData"]}
    assert pod["metadata"]["labels"] == by_kind["Deployment"]["spec"]["selector"]["matchLabels"]
    assert by_kind["Service"]["spec"]["selector"] == pod["metadata"]["labels"]
    hosts = [f"{each['metadata']['name']}-rw" for each in documents("kubernetes/postgres.yaml")]
    places = secret["stringData"]["places"].split()
    assert [place.partition("@")[2].partition("/")[0] for place in places] == hosts
    ServerSettings(store=" ".join(places), host=environment["FARADISC_HOST"], trust_network=True, admin="on")


def test_the_rules_and_the_dashboard_use_metrics_that_exist() -> None:
    [rules] = documents("prometheus/faradisc.rules.yaml")
    check(rules, RULES)
    dashboard = json.loads((DEPLOY / "grafana/faradisc.json").read_text())
    check(dashboard["panels"], many(PANEL))
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    assert [each["name"] for each in dashboard["templating"]["list"]] == ["datasource"]
    used = {rule["expr"] for group in rules["groups"] for rule in group["rules"]}
    used |= {target["expr"] for panel in dashboard["panels"] for target in panel["targets"]}
    names = {name for expression in used for name in re.findall(r"faradisc_\w+", expression)}
    own = set(re.findall(r'"(faradisc_\w+)"', (ROOT / "src/faradisc/server/exposition.py").read_text()))
    known = own | {_snake(metric) for metric in METRICS}
    assert {re.sub(r"_(total|bucket|count)$", "", name) for name in names} <= known
    for expression in used:
        assert expression.count("(") == expression.count(")")
    for rule in (rule for group in rules["groups"] for rule in group["rules"]):
        for page in re.findall(r"docs/[\w/]+\.md", rule["annotations"]["description"]):
            assert (ROOT / page).exists()


def test_the_unit_starts_a_server() -> None:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string((DEPLOY / "systemd/faradisc.service").read_text())
    assert parser.sections() == ["Unit", "Service", "Install"]
    service = parser["Service"]
    assert shlex.split(service["ExecStart"])[1:] == ["serve"]
    name, _, value = service["Environment"].partition("=")
    assert name in {setting.environment for setting in SETTINGS}
    assert value == f"/var/lib/{service['StateDirectory']}"


@pytest.mark.parametrize(("member", "value"), [("replicas", "three"), ("replica", 3)])
def test_the_schemas_are_able_to_fail(member: str, value: Any) -> None:
    [deployment] = [each for each in documents("kubernetes/faradisc.yaml") if each["kind"] == "Deployment"]
    deployment["spec"][member] = value
    with pytest.raises(AssertionError, match=member):
        check(deployment["spec"], SPECS["apps/v1", "Deployment"]["spec"])
