"""A request as code: boto3, the AWS CLI, JavaScript and PartiQL. What is copied runs as it is.

Values are written as the languages write them, escaped by their own rules: `repr` for Python, JSON for
JavaScript, `shlex` for the shell, doubled quotes for PartiQL.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from pprint import pformat
from typing import Any, Final

from faradisc.tools.console.values import Value, to_client

_CLI_NAMES: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def boto3_code(operation: str, request: Mapping[str, Any], endpoint: str | None, region: str) -> str:
    """Returns a Python script that prints the answer."""
    where = f", endpoint_url={endpoint!r}" if endpoint else ""
    method = _CLI_NAMES.sub("_", operation).lower()
    lines = "".join(
        f"    {name}={pformat(to_client(value), width=96, sort_dicts=False)},\n".replace(
            "\n", "\n    "
        ).rstrip(" ")
        for name, value in request.items()
    )
    return (
        f"import boto3\n\nclient = boto3.client('dynamodb', region_name={region!r}{where})\n"
        f"answer = client.{method}(\n{lines})\nprint(answer)\n"
    )


def cli_code(operation: str, request: Mapping[str, Any], endpoint: str | None, region: str) -> str:
    """Returns a command of the AWS CLI, version 2, for a POSIX shell."""
    command = ["aws", "dynamodb", _CLI_NAMES.sub("-", operation).lower(), "--region", region]
    if endpoint:
        command += ["--endpoint-url", endpoint]
    for name, value in request.items():
        flag = _CLI_NAMES.sub("-", name).lower()
        match value:
            case True:
                command.append(f"--{flag}")
            case False:
                command.append(f"--no-{flag}")
            case str() | int():
                command += [f"--{flag}", str(value)]
            case _:
                command += [f"--{flag}", json.dumps(value, ensure_ascii=False)]
    shown = [shlex.quote(word) for word in command]
    lines, line = [], shown[0]
    for word in shown[1:]:
        if word.startswith("--"):
            lines.append(line)
            line = f"  {word}"
        else:
            line += f" {word}"
    return " \\\n".join([*lines, line]) + "\n"


def javascript_code(operation: str, request: Mapping[str, Any], endpoint: str | None, region: str) -> str:
    """Returns a module for the AWS SDK for JavaScript, version 3."""
    configuration = {"region": region, **({"endpoint": endpoint} if endpoint else {})}
    body = _BINARY.sub(
        r"Buffer.from(\1, 'base64')", json.dumps(_marked(request), ensure_ascii=False, indent=2)
    )
    return (
        f"import {{ DynamoDBClient, {operation}Command }} from '@aws-sdk/client-dynamodb';\n\n"
        f"const client = new DynamoDBClient({json.dumps(configuration)});\n"
        f"const answer = await client.send(new {operation}Command({body}));\nconsole.log(answer);\n"
    )


_BINARY: Final = re.compile(r'\{\s*"\\u0000binary": ("[A-Za-z0-9+/=]*")\s*\}')


def _marked(value: Any) -> Any:
    """Returns a request with binary values marked, for `Buffer.from`."""
    if isinstance(value, dict):
        return {
            name: {"\0binary": each}
            if name == "B" and isinstance(each, str)
            else [{"\0binary": one} for one in each]
            if name == "BS" and isinstance(each, list)
            else _marked(each)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [_marked(each) for each in value]
    return value


def partiql_code(operation: str, request: Mapping[str, Any]) -> str | None:
    """Returns a SELECT statement that reads the same items; None for what PartiQL cannot say."""
    if operation not in ("Query", "Scan") or request.get("Select") == "COUNT":
        return None
    names, values = request.get("ExpressionAttributeNames", {}), request.get("ExpressionAttributeValues", {})

    def said(expression: str) -> str:
        # In one pass: a value may contain what looks like the name of an attribute.
        return re.sub(
            r"([:#])\w+",
            lambda found: literal(values[found[0]]) if found[1] == ":" else quoted(names[found[0]]),
            _functions(expression),
        )

    columns = said(request["ProjectionExpression"]) if "ProjectionExpression" in request else "*"
    source = quoted(request["TableName"])
    if request.get("IndexName"):
        source += f".{quoted(request['IndexName'])}"
    conditions = [
        said(request[each]) for each in ("KeyConditionExpression", "FilterExpression") if each in request
    ]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    order = ""
    if request.get("ScanIndexForward") is False:
        sort = re.search(r"AND (?:begins_with\()?(#\w+)", request["KeyConditionExpression"])
        if sort is None:
            return None
        order = f" ORDER BY {quoted(names[sort[1]])} DESC"
    return f"SELECT {columns} FROM {source}{where}{order}"


def _functions(expression: str) -> str:
    absent = re.sub(r"attribute_not_exists\((#\w+)\)", r"\1 IS MISSING", expression)
    return re.sub(r"attribute_exists\((#\w+)\)", r"\1 IS NOT MISSING", absent)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(value: Value) -> str:
    """Returns a value as PartiQL writes it. Raises KeyError for binary, which has no literal."""
    kind, content = next(iter(value.items()))
    match kind:
        case "S":
            return "'" + str(content).replace("'", "''") + "'"
        case "N":
            return str(content)
        case "BOOL":
            return "true" if content else "false"
        case "NULL":
            return "null"
        case "L":
            return f"[{', '.join(map(literal, content))}]"
        case "M":
            return "{" + ", ".join(f"{literal({'S': n})}: {literal(v)}" for n, v in content.items()) + "}"
        case "SS" | "NS":
            return f"<<{', '.join(literal({kind[0]: each}) for each in content)}>>"
    raise KeyError(kind)
