"""A simulation names the policies of the statements that decide, and of no others."""

from __future__ import annotations

from fixtures.identity_world import IdentityWorld, allow, document


def test_simulation_names_the_deciding_policies(identity_world: IdentityWorld) -> None:
    deny = {"Effect": "Deny", "Action": "dynamodb:DeleteItem", "Resource": "*"}
    results = identity_world.iam.simulate_custom_policy(
        PolicyInputList=[document(allow("dynamodb:*")), document(deny), document(allow("dynamodb:GetItem"))],
        ActionNames=["dynamodb:GetItem", "dynamodb:DeleteItem", "s3:GetObject"],
    )["EvaluationResults"]
    assert {
        each["EvalActionName"]: [statement["SourcePolicyId"] for statement in each["MatchedStatements"]]
        for each in results
    } == {
        "dynamodb:GetItem": ["PolicyInputList.1", "PolicyInputList.3"],
        "dynamodb:DeleteItem": ["PolicyInputList.2"],
        "s3:GetObject": [],
    }
