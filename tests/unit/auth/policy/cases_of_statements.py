"""Elements of statements: actions, resources, variables, keys, Deny against Allow (iam.md section 10.1)."""

from __future__ import annotations

from policy_cases import (
    ELEMENTS,
    EVALUATION,
    GLOBAL_KEYS,
    GRAMMAR,
    IMPLEMENTED,
    INDEX,
    OBSERVED,
    OWNER,
    PARTIQL,
    REFERENCE,
    SIMULATOR,
    STREAM,
    STREAMS,
    T2,
    TABLES,
    TAGS,
    VARIABLES,
    Case,
    Expected,
    T,
    allow,
    deny,
)

GET = ("alice", "GetItem", T)
PUT = ("alice", "PutItem", T)
QUERY_INDEX = ("alice", "Query", INDEX)
LIST = ("alice", "ListTables", "*")
EVERYTHING = allow("*")


def not_action(effect: str, action: str | list[str], resource: str = "*") -> dict[str, object]:
    return {"Effect": effect, "NotAction": action, "Resource": resource}


def not_resource(effect: str, action: str, resource: str | list[str]) -> dict[str, object]:
    return {"Effect": effect, "Action": action, "NotResource": resource}


ACTIONS = [
    Case("no policy", GET, "implicit", SIMULATOR),
    Case("the action and resource", GET, "allow", IMPLEMENTED, allow("GetItem", T)),
    Case("another action", PUT, "implicit", IMPLEMENTED, allow("GetItem", T)),
    Case("another resource", GET, "implicit", IMPLEMENTED, allow("GetItem", f"{TABLES}/Other")),
    Case("everything", GET, "allow", ELEMENTS, EVERYTHING),
    Case("everything by *:*", GET, "allow", IMPLEMENTED, allow("*:*")),
    Case("all of the service", GET, "allow", ELEMENTS, allow("dynamodb:*")),
    Case("all of another service", GET, "implicit", ELEMENTS, allow("s3:*")),
    Case("the action in other case", GET, "allow", ELEMENTS, allow("DYNAMODB:getitem", T)),
    Case("a pattern in other case", GET, "allow", ELEMENTS, allow("DynamoDB:GET*", T)),
    Case("a pattern that matches", GET, "allow", ELEMENTS, allow("Get*")),
    Case("a pattern that does not", PUT, "implicit", ELEMENTS, allow("Get*")),
    Case("a pattern within the name", GET, "allow", ELEMENTS, allow("*Item")),
    Case("a pattern of single characters", GET, "allow", ELEMENTS, allow("??tItem")),
    Case("too few single characters", GET, "implicit", ELEMENTS, allow("?Item")),
    Case("a part of the name", ("alice", "BatchGetItem", T), "implicit", ELEMENTS, allow("GetItem")),
    Case("a name that begins alike", ("alice", "GetItem", T), "implicit", ELEMENTS, allow("GetItems")),
    Case("one of several actions", PUT, "allow", GRAMMAR, allow(["GetItem", "PutItem"], T)),
    Case("a blank behind the action", GET, "implicit", SIMULATOR, allow("GetItem ")),
    Case("a blank before the action", GET, "implicit", SIMULATOR, allow("dynamodb: GetItem")),
    Case("two actions in one text", GET, "implicit", SIMULATOR, allow("GetItem,dynamodbPutItem")),
    Case("not the listed action", GET, "allow", ELEMENTS, not_action("Allow", "dynamodb:DeleteItem")),
    Case("the listed action", GET, "implicit", ELEMENTS, not_action("Allow", "dynamodb:GetItem")),
    Case(
        "the listed action in other case", GET, "implicit", ELEMENTS, not_action("Allow", "dynamodb:getitem")
    ),
    Case("a listed pattern", GET, "implicit", ELEMENTS, not_action("Allow", "dynamodb:Get*")),
    Case("not actions with a blank", GET, "allow", SIMULATOR, not_action("Allow", "dynamodb:GetItem ")),
    Case("not actions of another service", GET, "allow", ELEMENTS, not_action("Allow", ["iam:*", "sts:*"])),
    Case("not any action", GET, "implicit", ELEMENTS, not_action("Allow", "*")),
    Case(
        "denied but for one action",
        PUT,
        "explicit",
        ELEMENTS,
        [EVERYTHING, not_action("Deny", "dynamodb:Get*")],
    ),
    Case("the one action", GET, "allow", ELEMENTS, [EVERYTHING, not_action("Deny", "dynamodb:Get*")]),
]

EFFECTS = [
    Case("a Deny behind the Allow", GET, "explicit", EVALUATION, [EVERYTHING, deny("GetItem")]),
    Case("a Deny before the Allow", GET, "explicit", EVALUATION, [deny("GetItem"), EVERYTHING]),
    Case("a Deny of another action", GET, "allow", EVALUATION, [EVERYTHING, deny("DeleteItem")]),
    Case("a Deny of another resource", GET, "allow", EVALUATION, [EVERYTHING, deny("*", T2)]),
    Case("a Deny alone", GET, "explicit", EVALUATION, deny("GetItem", T)),
    Case("a Deny alone, of another action", GET, "implicit", EVALUATION, deny("PutItem", T)),
    Case("two Allows", GET, "allow", EVALUATION, [allow("GetItem", T), allow("GetItem", T)]),
    Case("one statement without a list", GET, "allow", GRAMMAR, allow("GetItem", T)),
    Case(
        "a Deny with a false condition",
        GET,
        "allow",
        EVALUATION,
        [EVERYTHING, deny("*", Bool={"aws:SecureTransport": "false"})],
        context={"aws:securetransport": "true"},
    ),
    Case(
        "a Deny with a true condition",
        GET,
        "explicit",
        IMPLEMENTED,
        [EVERYTHING, deny("*", Bool={"aws:SecureTransport": "false"})],
        context={"aws:securetransport": "false"},
    ),
    Case(
        "two conditions, one false",
        GET,
        "implicit",
        EVALUATION,
        allow("*", Bool={"aws:SecureTransport": "true"}, StringEquals={"aws:username": "bob"}),
        context={"aws:securetransport": "true"},
    ),
    Case(
        "two keys of one operator, one false",
        GET,
        "implicit",
        EVALUATION,
        allow("*", StringEquals={"aws:username": "alice", "aws:PrincipalTag/team": "blue"}),
    ),
    Case(
        "two keys of one operator",
        GET,
        "allow",
        EVALUATION,
        allow("*", StringEquals={"aws:username": "alice", "aws:PrincipalTag/team": "red"}),
    ),
]

WILDCARD_TABLES = allow("*", f"{TABLES}/*")
RESOURCES = [
    Case("all tables", GET, "allow", ELEMENTS, WILDCARD_TABLES),
    Case("all tables, an index", QUERY_INDEX, "allow", ELEMENTS, WILDCARD_TABLES),
    Case("the table, not its index", QUERY_INDEX, "implicit", OBSERVED, allow("Query", T)),
    Case("table and indexes", QUERY_INDEX, "allow", PARTIQL, allow("Query", [T, f"{T}/index/*"])),
    Case(
        "indexes, not the table", ("alice", "Query", T), "implicit", ELEMENTS, allow("Query", f"{T}/index/*")
    ),
    Case("a prefix of tables, an index", QUERY_INDEX, "allow", OBSERVED, allow("Query", f"{TABLES}/Game*")),
    Case("a prefix of the table", GET, "implicit", ELEMENTS, allow("GetItem", f"{TABLES}/Game")),
    Case("more than the table", GET, "implicit", ELEMENTS, allow("GetItem", f"{T}X")),
    Case("a table in other case", GET, "implicit", ELEMENTS, allow("GetItem", f"{TABLES}/games")),
    Case(
        "any stream", ("alice", "GetRecords", STREAM), "allow", STREAMS, allow("GetRecords", f"{T}/stream/*")
    ),
    Case(
        "the stream, colons in its label",
        ("alice", "GetRecords", STREAM),
        "allow",
        STREAMS,
        allow("*", STREAM),
    ),
    Case("a stream is no table", GET, "implicit", STREAMS, allow("GetItem", f"{T}/stream/*")),
    Case(
        "a pattern of Regions",
        GET,
        "allow",
        ELEMENTS,
        allow("*", f"arn:aws:dynamodb:us-east-?:{OWNER}:table/Games"),
    ),
    Case("any Region", GET, "allow", ELEMENTS, allow("*", f"arn:aws:dynamodb:*:{OWNER}:table/Games")),
    Case(
        "another Region", GET, "implicit", ELEMENTS, allow("*", f"arn:aws:dynamodb:eu-*:{OWNER}:table/Games")
    ),
    Case("any account", GET, "allow", ELEMENTS, allow("*", "arn:aws:dynamodb:us-east-1:*:table/Games")),
    Case(
        "another account", GET, "implicit", ELEMENTS, allow("*", "arn:aws:dynamodb:us-east-1:2*:table/Games")
    ),
    Case(
        "another service", GET, "implicit", ELEMENTS, allow("*", f"arn:aws:sqs:us-east-1:{OWNER}:table/Games")
    ),
    Case(
        "another partition",
        GET,
        "implicit",
        ELEMENTS,
        allow("*", f"arn:aws-cn:dynamodb:us-east-1:{OWNER}:table/Games"),
    ),
    Case("a run stays in its part", GET, "implicit", ELEMENTS, allow("*", "arn:aws:dynamodb:*/Games")),
    Case(
        "a run of the Region's part only",
        GET,
        "implicit",
        ELEMENTS,
        allow("*", "arn:aws:dynamodb:us*s:x:table/Games"),
    ),
    Case("an ARN that ends early", GET, "allow", SIMULATOR, allow("*", "arn:aws:dynamodb:us-east-1")),
    Case("an ARN that ends early with a run", GET, "allow", SIMULATOR, allow("*", "arn:aws:dynamodb:*")),
    Case(
        "an ARN that ends early, another Region",
        GET,
        "implicit",
        SIMULATOR,
        allow("*", "arn:aws:dynamodb:us-west-2"),
    ),
    Case(
        "a Deny whose ARN ends early", GET, "explicit", SIMULATOR, [EVERYTHING, deny("*", "arn:aws:dynamodb")]
    ),
    Case("not the listed resource", GET, "allow", ELEMENTS, not_resource("Allow", "dynamodb:GetItem", T2)),
    Case("the listed resource", GET, "implicit", ELEMENTS, not_resource("Allow", "dynamodb:GetItem", T)),
    Case(
        "denied outside the listed resource",
        GET,
        "explicit",
        ELEMENTS,
        [EVERYTHING, not_resource("Deny", "*", T2)],
    ),
    Case("not denied inside it", GET, "allow", ELEMENTS, [EVERYTHING, not_resource("Deny", "*", [T, T2])]),
    Case(
        "an index outside its table",
        QUERY_INDEX,
        "explicit",
        ELEMENTS,
        [EVERYTHING, not_resource("Deny", "*", T)],
    ),
    Case("an action without resources, on a table", LIST, "implicit", SIMULATOR, allow("ListTables", T)),
    Case(
        "an action without resources, on all tables",
        LIST,
        "implicit",
        SIMULATOR,
        allow("ListTables", f"{TABLES}/*"),
    ),
    Case("an action without resources, on all", LIST, "allow", SIMULATOR, allow("ListTables")),
    Case("one of several resources is all", LIST, "allow", SIMULATOR, allow("ListTables", [T, "*"])),
    Case(
        "an action without resources, not on a table", LIST, "allow", SIMULATOR, not_resource("Allow", "*", T)
    ),
    Case(
        "an action without resources, not on all",
        LIST,
        "implicit",
        SIMULATOR,
        not_resource("Allow", "*", "*"),
    ),
    Case("a Deny on a table leaves it", LIST, "allow", SIMULATOR, [EVERYTHING, deny("*", T)]),
    Case(
        "a Deny on all but a table", LIST, "explicit", SIMULATOR, [EVERYTHING, not_resource("Deny", "*", T)]
    ),
    Case("a Deny on all but all", LIST, "allow", SIMULATOR, [EVERYTHING, not_resource("Deny", "*", "*")]),
]

OWN_TABLE = allow("*", f"{TABLES}/${{aws:username}}")
TEAM_TABLE = allow("*", f"{TABLES}/${{aws:PrincipalTag/team}}-*")
SHIFT_TABLE = allow("*", f"{TABLES}/${{aws:PrincipalTag/shift}}")
IN_VARIABLES = [
    Case("the caller's table", ("alice", "GetItem", f"{TABLES}/alice"), "allow", VARIABLES, OWN_TABLE),
    Case("another's table", ("alice", "GetItem", f"{TABLES}/bob"), "implicit", VARIABLES, OWN_TABLE),
    Case(
        "no user name in a session",
        ("session", "GetItem", f"{TABLES}/Reader"),
        "implicit",
        GLOBAL_KEYS,
        OWN_TABLE,
    ),
    Case(
        "literal in 2008",
        ("alice", "GetItem", f"{TABLES}/alice"),
        "implicit",
        VARIABLES,
        OWN_TABLE,
        version="2008-10-17",
    ),
    Case(
        "literal by default",
        ("alice", "GetItem", f"{TABLES}/alice"),
        "implicit",
        VARIABLES,
        OWN_TABLE,
        version=None,
    ),
    Case("a variable and a run", ("alice", "GetItem", f"{TABLES}/red-1"), "allow", VARIABLES, TEAM_TABLE),
    Case(
        "another value and a run", ("alice", "GetItem", f"{TABLES}/blue-1"), "implicit", VARIABLES, TEAM_TABLE
    ),
    Case("no value", ("alice", "GetItem", f"{TABLES}/"), "implicit", VARIABLES, SHIFT_TABLE),
    Case(
        "no value in a Deny",
        ("alice", "GetItem", f"{TABLES}/"),
        "allow",
        VARIABLES,
        [EVERYTHING, SHIFT_TABLE | {"Effect": "Deny"}],
    ),
    Case(
        "no value in NotResource",
        GET,
        "explicit",
        VARIABLES,
        [EVERYTHING, not_resource("Deny", "*", f"{TABLES}/${{aws:PrincipalTag/shift}}")],
    ),
    Case(
        "a default",
        ("alice", "GetItem", f"{TABLES}/day"),
        "allow",
        VARIABLES,
        allow("*", f"{TABLES}/${{aws:PrincipalTag/shift, 'day'}}"),
    ),
    Case(
        "a default that is not needed",
        ("alice", "GetItem", f"{TABLES}/day"),
        "implicit",
        VARIABLES,
        allow("*", f"{TABLES}/${{aws:PrincipalTag/team, 'day'}}"),
    ),
    Case("an escaped star", ("alice", "GetItem", T), "implicit", VARIABLES, allow("*", f"{TABLES}/${{*}}")),
    Case(
        "not in the account's part",
        GET,
        "implicit",
        VARIABLES,
        allow("*", "arn:aws:dynamodb:us-east-1:${aws:PrincipalAccount}:table/Games"),
    ),
    Case(
        "a key of several values",
        GET,
        "implicit",
        VARIABLES,
        allow("*", f"{TABLES}/${{dynamodb:LeadingKeys}}"),
        context={"dynamodb:leadingkeys": ("Games",)},
    ),
    Case(
        "a run in the value",
        GET,
        "implicit",
        SIMULATOR,
        allow("*", f"{TABLES}/${{aws:SourceIdentity}}"),
        context={"aws:sourceidentity": "*"},
    ),
    Case(
        "a run in the value, as it is",
        ("alice", "GetItem", f"{TABLES}/*"),
        "allow",
        SIMULATOR,
        allow("*", f"{TABLES}/${{aws:SourceIdentity}}"),
        context={"aws:sourceidentity": "*"},
    ),
    Case(
        "an injected variable",
        GET,
        "implicit",
        SIMULATOR,
        allow("*", f"{TABLES}/${{aws:SourceIdentity}}"),
        context={"aws:sourceidentity": "${*}"},
    ),
]


def keyed(
    name: str, caller: str, expected: Expected, condition: tuple[str, str, str], source: str, **context: str
) -> Case:
    """Returns a case of one global key: operator, key, value of the policy."""
    operator, key, value = condition
    given = {f"aws:{name}": text for name, text in context.items()}
    made = allow("GetItem", T, **{operator: {key: value}})
    return Case(name, (caller, "GetItem", T), expected, source, identity=made, context=given)


KEYS = [
    keyed("user name", "alice", "allow", ("StringEquals", "aws:username", "alice"), GLOBAL_KEYS),
    keyed("user name of a session", "session", "implicit", ("Null", "aws:username", "false"), GLOBAL_KEYS),
    keyed(
        "user name of a federated user",
        "federated",
        "implicit",
        ("Null", "aws:username", "false"),
        GLOBAL_KEYS,
    ),
    keyed("user id", "alice", "allow", ("StringEquals", "aws:userid", "AIDAALICE"), GLOBAL_KEYS),
    keyed(
        "user id of a session",
        "session",
        "allow",
        ("StringEquals", "aws:userid", "AROAREADER:S"),
        GLOBAL_KEYS,
    ),
    keyed(
        "user id of a session by role",
        "session",
        "allow",
        ("StringLike", "aws:userid", "AROAREADER:*"),
        GLOBAL_KEYS,
    ),
    keyed(
        "ARN of a user",
        "alice",
        "allow",
        ("ArnEquals", "aws:PrincipalArn", "arn:aws:iam::111111111111:user/staff/alice"),
        GLOBAL_KEYS,
    ),
    keyed(
        "ARN of a session is its role's",
        "session",
        "allow",
        ("ArnEquals", "aws:PrincipalArn", "arn:aws:iam::111111111111:role/service/Reader"),
        GLOBAL_KEYS,
    ),
    keyed(
        "ARN of a session is not its own",
        "session",
        "implicit",
        ("ArnLike", "aws:PrincipalArn", "arn:aws:sts::*:assumed-role/*"),
        GLOBAL_KEYS,
    ),
    keyed("account", "alice", "allow", ("StringEquals", "aws:PrincipalAccount", OWNER), GLOBAL_KEYS),
    keyed("type of a user", "alice", "allow", ("StringEquals", "aws:PrincipalType", "User"), GLOBAL_KEYS),
    keyed(
        "type of a session",
        "session",
        "allow",
        ("StringEquals", "aws:PrincipalType", "AssumedRole"),
        GLOBAL_KEYS,
    ),
    keyed("tag", "alice", "allow", ("StringEquals", "aws:PrincipalTag/team", "red"), GLOBAL_KEYS),
    keyed(
        "tag in other case",
        "session",
        "allow",
        ("StringEquals", "aws:PrincipalTag/tenant", "t1"),
        GLOBAL_KEYS,
    ),
    keyed(
        "value of a tag in other case",
        "session",
        "implicit",
        ("StringEquals", "aws:PrincipalTag/tenant", "T1"),
        GLOBAL_KEYS,
    ),
    keyed(
        "a tag that is not there",
        "bob",
        "implicit",
        ("StringLike", "aws:PrincipalTag/team", "*"),
        GLOBAL_KEYS,
    ),
    keyed("no service", "alice", "allow", ("Bool", "aws:PrincipalIsAWSService", "false"), GLOBAL_KEYS),
    keyed("not by a service", "alice", "allow", ("Bool", "aws:ViaAWSService", "false"), GLOBAL_KEYS),
    keyed(
        "issued",
        "session",
        "allow",
        ("DateGreaterThan", "aws:TokenIssueTime", "2023-11-14T22:13:19Z"),
        GLOBAL_KEYS,
    ),
    keyed(
        "issued later",
        "session",
        "implicit",
        ("DateGreaterThan", "aws:TokenIssueTime", "2023-11-14T22:13:20Z"),
        GLOBAL_KEYS,
    ),
    keyed(
        "long-term keys are not issued", "alice", "allow", ("Null", "aws:TokenIssueTime", "true"), GLOBAL_KEYS
    ),
    keyed(
        "MFA of long-term keys", "alice", "allow", ("Null", "aws:MultiFactorAuthPresent", "true"), GLOBAL_KEYS
    ),
    keyed(
        "MFA of a session", "session", "allow", ("Bool", "aws:MultiFactorAuthPresent", "false"), GLOBAL_KEYS
    ),
    keyed(
        "MFA of a session, as given",
        "session",
        "allow",
        ("Bool", "aws:MultiFactorAuthPresent", "true"),
        GLOBAL_KEYS,
        multifactorauthpresent="true",
    ),
    keyed(
        "owner of the resource", "alice", "allow", ("StringEquals", "aws:ResourceAccount", OWNER), GLOBAL_KEYS
    ),
    keyed(
        "another owner",
        "alice",
        "implicit",
        ("StringEquals", "aws:ResourceAccount", "222222222222"),
        GLOBAL_KEYS,
    ),
    keyed("a key in other case", "alice", "allow", ("StringEquals", "AWS:USERNAME", "alice"), ELEMENTS),
    keyed(
        "a key of the request",
        "alice",
        "allow",
        ("StringEquals", "aws:RequestedRegion", "us-east-1"),
        GLOBAL_KEYS,
        requestedregion="us-east-1",
    ),
    keyed(
        "an old request",
        "alice",
        "allow",
        ("DateLessThan", "aws:CurrentTime", "2030-01-01T00:00:00Z"),
        GLOBAL_KEYS,
        currenttime="2026-11-24T00:00:00Z",
    ),
    keyed(
        "a date as seconds",
        "alice",
        "allow",
        ("NumericGreaterThan", "aws:EpochTime", "1700000000"),
        GLOBAL_KEYS,
        epochtime="1764000000",
    ),
    keyed("a key of no service", "alice", "implicit", ("StringEquals", "dynamodb:ResourceTag/x", "y"), TAGS),
]

ASKED = [
    Case(
        "PutItem does not grant a batch",
        ("alice", "BatchWriteItem", T),
        "implicit",
        REFERENCE,
        allow("PutItem", T),
    ),
    Case("a batch does not grant PutItem", PUT, "implicit", REFERENCE, allow("BatchWriteItem", T)),
    Case("no action of transactions", PUT, "implicit", OBSERVED, allow("TransactWriteItems", T)),
    Case(
        "condition checks are an action",
        ("alice", "ConditionCheckItem", T),
        "implicit",
        REFERENCE,
        allow("PutItem", T),
    ),
    Case(
        "PartiQL is not GetItem",
        ("alice", "PartiQLSelect", T),
        "implicit",
        PARTIQL,
        allow(["GetItem", "Query"], T),
    ),
    Case("all of PartiQL", ("alice", "PartiQLSelect", T), "allow", PARTIQL, allow("PartiQL*", T)),
    Case(
        "PartiQL on an index",
        ("alice", "PartiQLSelect", INDEX),
        "allow",
        PARTIQL,
        allow("PartiQLSelect", [T, f"{T}/index/*"]),
    ),
]

CASES = [*ACTIONS, *EFFECTS, *RESOURCES, *IN_VARIABLES, *KEYS, *ASKED]
