"""Checks a request against the service model and converts its values.

Templates often have numbers and booleans as texts, and YAML reads an unquoted 5 as a number where the service
needs a string.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

from faradisc.protocol.service_model import OTHER_SERVICES, Shape, load, operation_named
from faradisc.tools.readers.seed import SeedError, TableSeed


def fitted(operation: str, request: dict[str, Any]) -> dict[str, Any]:
    """Returns the request with every value converted to the type of its shape. Raises SeedError."""
    found = operation_named(operation) or next(
        (load(each).operations[operation] for each in OTHER_SERVICES if operation in load(each).operations),
        None,
    )
    assert found is not None, f"the service model has {operation}"
    fit: dict[str, Any] = _fit(request, found.input, operation)
    return fit


def add_later(table: TableSeed, operation: str, member: str, value: Any) -> None:
    """Adds a request for the time when the table is ACTIVE. Raises SeedError."""
    request = {"TableName": table.name, member: value}
    table.later.append((operation, fitted(operation, request)))


def enable_insights(table: TableSeed, index: Any, mode: Any) -> None:
    """Adds the contributor insights of a table or an index of it. Raises SeedError."""
    given = {"TableName": table.name, "IndexName": index, "ContributorInsightsMode": mode}
    request = {name: value for name, value in given.items() if value}
    found = fitted("UpdateContributorInsights", {**request, "ContributorInsightsAction": "ENABLE"})
    table.later.append(("UpdateContributorInsights", found))


def _fit(value: Any, shape: Shape, path: str) -> Any:
    match shape.type:
        case "structure":
            return _structure(value, shape, path)
        case "list":
            if not isinstance(value, list):
                raise SeedError(f"{path} must be a list.")
            assert shape.element is not None
            return [_fit(each, shape.element, f"{path}[{at}]") for at, each in enumerate(value)]
        case "map":
            if not isinstance(value, dict):
                raise SeedError(f"{path} must be a map.")
            assert shape.element is not None
            return {str(name): _fit(each, shape.element, f"{path}.{name}") for name, each in value.items()}
        case "boolean":
            return _boolean(value, path)
        case "integer" | "long":
            return _integer(value, path)
        case "double" | "float":
            return _number(value, path)
        case "string" if isinstance(value, bool | int | float):
            return str(value).lower() if isinstance(value, bool) else str(value)
        case "string" if not isinstance(value, str):
            raise SeedError(f"{path} must be a string.")
    return value


def _structure(value: Any, shape: Shape, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SeedError(f"{path} must be a structure.")
    fit: dict[str, Any] = {}
    for name, member in value.items():
        if name not in shape.members:
            raise SeedError(f"{path} has no member {name}.")
        fit[name] = _fit(member, shape.members[name], f"{path}.{name}")
    missing = [name for name in shape.required if name not in fit]
    if missing:
        raise SeedError(f"{path} has no {', '.join(missing)}.")
    return fit


def _boolean(value: Any, path: str) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise SeedError(f"{path} must be true or false.")


def _integer(value: Any, path: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str | float):
        try:
            return int(value) if isinstance(value, str) else _whole(value)
        except ValueError:
            pass
        try:
            return _whole(float(value))
        except ValueError:
            pass
    raise SeedError(f"{path} must be an integer.")


def _whole(number: float) -> int:
    """Raises ValueError for a fraction, an infinity and NaN."""
    if not isfinite(number) or number != int(number):
        raise ValueError
    return int(number)


def _number(value: Any, path: str) -> float:
    try:
        number = (
            float(value) if isinstance(value, str | float | int) and not isinstance(value, bool) else None
        )
    except (ValueError, OverflowError):
        number = None
    if number is None or not isfinite(number):
        raise SeedError(f"{path} must be a number.")
    return int(number) if number == int(number) else number
