"""aiobotocore and aioboto3, unchanged, against the server named on the command line; prints findings as JSON.

Runs in an environment of its own, because aiobotocore pins an older botocore than the server reads.
"""

import asyncio
import json
import sys

import aioboto3

SETTINGS = {
    "endpoint_url": sys.argv[1],
    "region_name": "us-west-2",
    "aws_access_key_id": "tour",
    "aws_secret_access_key": "tour",
}
NAME = "Tour.Async"


async def main() -> dict[str, object]:
    found: dict[str, object] = {}
    session = aioboto3.Session()
    async with session.client("dynamodb", **SETTINGS) as client:
        await client.create_table(
            TableName=NAME,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "N"},
            ],
        )
        await client.get_waiter("table_exists").wait(TableName=NAME)
        puts = [
            client.put_item(TableName=NAME, Item={"pk": {"S": "a"}, "sk": {"N": str(i)}}) for i in range(50)
        ]
        await asyncio.gather(*puts)
        add = {
            "TableName": NAME,
            "Key": {"pk": {"S": "counter"}, "sk": {"N": "0"}},
            "UpdateExpression": "ADD n :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
        await asyncio.gather(*(client.update_item(**add) for _ in range(40)))
        counter = await client.get_item(TableName=NAME, Key=add["Key"])
        found["counter"] = counter["Item"]["n"]["N"]
        pages = client.get_paginator("query").paginate(
            TableName=NAME,
            KeyConditionExpression="pk = :a",
            ExpressionAttributeValues={":a": {"S": "a"}},
            PaginationConfig={"PageSize": 20},
        )
        found["pages"] = [page["Count"] async for page in pages]
        try:
            await client.put_item(
                TableName=NAME, Item=add["Key"], ConditionExpression="attribute_not_exists(pk)"
            )
        except client.exceptions.ConditionalCheckFailedException as error:
            found["condition"] = error.response["Error"]["Message"]
    async with session.resource("dynamodb", **SETTINGS) as dynamodb:
        table = await dynamodb.Table(NAME)
        async with table.batch_writer() as batch:
            for number in range(60):
                await batch.put_item(Item={"pk": "b", "sk": number, "tags": {"x", "y"}})
        found["scan"] = (await table.scan(Select="COUNT"))["Count"]
        await table.delete()
    return found


print(json.dumps(asyncio.run(main())))
