"""Six queries of the four tables: a description, the operation and its request."""

from __future__ import annotations

from typing import Any

QUERIES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (
        "One product, two attributes of it",
        "get_item",
        {
            "TableName": "ProductCatalog",
            "Key": {"Id": {"N": "205"}},
            "ProjectionExpression": "Title, Safety.Tests.Brakes",
        },
    ),
    (
        "Red bicycles under 400, by Scan",
        "scan",
        {
            "TableName": "ProductCatalog",
            "FilterExpression": "ProductCategory = :bike AND contains(Color, :red) AND Price < :price",
            "ExpressionAttributeValues": {
                ":bike": {"S": "Bike"},
                ":red": {"S": "Red"},
                ":price": {"N": "400"},
            },
            "ProjectionExpression": "Id, Title, Price",
        },
    ),
    (
        "The threads of a forum, latest post first, by the local index",
        "query",
        {
            "TableName": "Thread",
            "IndexName": "LastPostIndex",
            "KeyConditionExpression": "ForumName = :forum",
            "ExpressionAttributeValues": {":forum": {"S": "Tables and items"}},
            "ScanIndexForward": False,
        },
    ),
    (
        "The replies to a thread since November",
        "query",
        {
            "TableName": "Reply",
            "KeyConditionExpression": "Id = :thread AND ReplyDateTime >= :since",
            "ExpressionAttributeValues": {
                ":thread": {"S": "Tables and items#Thread 1: which key?"},
                ":since": {"S": "2026-11-01"},
            },
        },
    ),
    (
        "All that User A said beginning with 'Allowed', by the global index",
        "query",
        {
            "TableName": "Reply",
            "IndexName": "PostedBy-Message-Index",
            "KeyConditionExpression": "PostedBy = :who AND begins_with(Message, :start)",
            "ExpressionAttributeValues": {":who": {"S": "User A"}, ":start": {"S": "Allowed"}},
        },
    ),
    (
        "One more view of a thread, and a tag, if it is still unanswered",
        "update_item",
        {
            "TableName": "Thread",
            "Key": {
                "ForumName": {"S": "Tables and items"},
                "Subject": {"S": "Thread 1: which key?"},
            },
            "UpdateExpression": "SET #views = #views + :one ADD Tags :tag",
            "ConditionExpression": "Answered = :no",
            "ExpressionAttributeNames": {"#views": "Views"},
            "ExpressionAttributeValues": {
                ":one": {"N": "1"},
                ":tag": {"SS": ["order"]},
                ":no": {"BOOL": False},
            },
            "ReturnValues": "UPDATED_NEW",
        },
    ),
)
