"""Rules for key attributes, in items that are written and in keys of requests.

Source of the texts: errors.md section 6.3.
"""

from __future__ import annotations

from collections.abc import Container

from faradisc.engine.vectors.schema import VectorSchema, check_vector
from faradisc.errors import ValidationException, invalid
from faradisc.language.expressions import Condition, KeyCondition
from faradisc.limits import PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX
from faradisc.model.codec.sortkey import raw_bytes
from faradisc.model.values.attribute import AttributeValue, Item, type_of
from faradisc.model.values.schema import IndexSchema, KeySchema, TableSchema

KEY_MISMATCH = "The provided key element does not match the schema"


def missing_key(name: str) -> ValidationException:
    """Returns the error of an item without a key attribute."""
    return invalid(f"Missing the key {name} in the item")


_EMPTY_LITERAL = {"S": "string", "B": "binary"}


def empty_key_message(name: str, kind: str) -> str:
    return (
        "One or more parameter values are not valid. The AttributeValue for a key attribute "
        f"cannot contain an empty {_EMPTY_LITERAL[kind]} value. Key: {name}"
    )


def is_empty(value: AttributeValue) -> bool:
    return value.get("S") == "" or value.get("B") == ""


def has_empty_key(item: Item, schema: TableSchema) -> bool:
    """Whether a key attribute of the table or of one of its indexes is an empty string or binary."""
    names = {*schema.key.names}
    for index in schema.local_indexes + schema.global_indexes:
        names.update(index.key.names)
    return any(name in item and is_empty(item[name]) for name in names)


def _check_sizes(key: Item, schema: KeySchema) -> None:
    for name in schema.names:
        _check_size(key[name], of_hash=name in schema.hash)


def _check_size(value: AttributeValue, *, of_hash: bool) -> None:
    if len(raw_bytes(value)) <= (PARTITION_KEY_BYTES_MAX if of_hash else SORT_KEY_BYTES_MAX):
        return
    if of_hash:
        text = f"Size of hashkey has exceeded the maximum size limit of{PARTITION_KEY_BYTES_MAX} bytes"
    else:
        text = f"Aggregated size of all range keys has exceeded the size limit of {SORT_KEY_BYTES_MAX} bytes"
    raise invalid(text)


def check_key(key: Item, schema: KeySchema) -> None:
    """Checks a `Key` of a request: exactly the key attributes, of the right types, not empty, not too long.

    Raises ValidationException.
    """
    names = schema.names
    if len(key) == len(names) and schema.is_plain(key):
        return
    if len(key) != len(names):
        raise ValidationException(KEY_MISMATCH)
    for name in names:
        value = key.get(name)
        if value is None or schema.types[name] not in value:
            raise ValidationException(KEY_MISMATCH)
    for name in names:
        value = key[name]
        if is_empty(value):
            raise ValidationException(empty_key_message(name, type_of(value)))
    _check_sizes(key, schema)


def check_searched_key(condition: KeyCondition, schema: KeySchema, *, measured: bool | None = None) -> None:
    """Checks the values that key attributes are compared with by `=`. Raises ValidationException.

    measured: whether the lengths of all keys count; None for those of the partition key.
    Assumed: other comparisons take empty values.
    """
    last = condition.operands if condition.operator == "=" else ()
    for name, value in zip(
        schema.names, (*condition.hash_values, *condition.range_equal, *last), strict=False
    ):
        if is_empty(value):
            raise ValidationException(empty_key_message(name, type_of(value)))
    if measured is not False:
        for value in condition.hash_values:
            _check_size(value, of_hash=True)
    for value in (*condition.range_equal, *condition.operands) if measured else ():
        _check_size(value, of_hash=False)


def check_filter_names(condition: Condition, key: KeySchema, parameter: str = "Filter Expression") -> None:
    """Checks that a filter beside a key condition does not use key attributes. Raises ValidationException."""
    for name in key.names:
        if name in condition.top_level:
            raise ValidationException(
                f"{parameter} can only contain non-primary key attributes: Primary key attribute: {name}"
            )


def check_item_keys(item: Item, schema: KeySchema) -> None:
    """Checks the table's key attributes of a new item that is not plain. Raises ValidationException."""
    for name in schema.names:
        value = item.get(name)
        if value is None:
            raise missing_key(name)
        expected = schema.types[name]
        if expected not in value:
            raise invalid(f"Type mismatch for key {name} expected: {expected} actual: {type_of(value)}")
    for name in schema.names:
        if is_empty(item[name]):
            raise ValidationException(empty_key_message(name, type_of(item[name])))
    _check_sizes(item, schema)


def check_batch_put_keys(item: Item, schema: KeySchema) -> None:
    """Checks them for BatchWriteItem, which has one text for every mismatch. Raises ValidationException."""
    if schema.is_plain(item):
        return
    for name in schema.names:
        if schema.types[name] not in item.get(name, ()):
            raise ValidationException(KEY_MISMATCH)
    if not schema.is_plain(item):
        check_item_keys(item, schema)


def check_index_keys(item: Item, index: IndexSchema) -> None:
    """Checks the keys of a secondary index in an item, or its vector. Raises ValidationException."""
    schema = index.key
    if type(index) is VectorSchema:
        check_vector(item, index)
    if schema.is_plain(item):
        return
    for name in schema.names:
        value = item.get(name)
        if value is None:
            continue
        expected = schema.types[name]
        if expected not in value:
            raise _index_key_mismatch(name, expected, value, index)
        if is_empty(value):
            raise ValidationException(
                "One or more parameter values are not valid. A value specified for a secondary index key "
                "is not supported. The AttributeValue for a key attribute cannot contain an empty "
                f"{_EMPTY_LITERAL[expected]} value. IndexName: {index.name}, IndexKey: {name}"
            )
        _check_size(value, of_hash=name in schema.hash)


def check_index_key_types(item: Item, index: IndexSchema) -> None:
    """Checks the types of the keys of a secondary index in an item. Raises ValidationException."""
    for name in index.key.names:
        if name in item and index.key.types[name] not in item[name]:
            raise _index_key_mismatch(name, index.key.types[name], item[name], index)


def _index_key_mismatch(
    name: str, expected: str, value: AttributeValue, index: IndexSchema
) -> ValidationException:
    return ValidationException(
        "One or more parameter values were invalid: Type mismatch for Index Key "
        f"{name} Expected: {expected} Actual: {type_of(value)} IndexName: {index.name}"
    )


def check_updated_index_keys(old: Item, new: Item, index: IndexSchema, given: Container[str] = ()) -> None:
    """Checks the keys of a secondary index that an update has changed, or its vector.

    given: the attributes whose new values the request contains; others are copied or computed.
    Raises ValidationException.
    """
    schema = index.key
    if type(index) is VectorSchema and new.get(index.vector) != old.get(index.vector):
        check_vector(new, index)
    for name in schema.names:
        value = new.get(name)
        if value is None or value == old.get(name):
            continue
        expected = schema.types[name]
        if expected not in value:
            if name in given:
                raise _index_key_mismatch(name, expected, value, index)
            raise ValidationException(
                "The update expression attempted to update the secondary index key to unsupported type"
            )
        if is_empty(value):
            raise ValidationException(
                "One or more parameter values are not valid. The update expression attempted to update "
                "a secondary index key to a value that is not supported. The AttributeValue for a key "
                f"attribute cannot contain an empty {_EMPTY_LITERAL[schema.types[name]]} value."
            )
        limit = PARTITION_KEY_BYTES_MAX if name in schema.hash else SORT_KEY_BYTES_MAX
        if len(raw_bytes(value)) > limit:
            raise ValidationException(
                "The update expression attempted to update the secondary index key beyond allowed size limits"
            )
