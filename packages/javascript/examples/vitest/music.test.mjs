import { CreateTableCommand, DynamoDBClient, ListTablesCommand, PutItemCommand, ScanCommand } from "@aws-sdk/client-dynamodb";
import { expect, test } from "vitest";

const dynamodb = new DynamoDBClient({});

test("a file begins with an empty database", async () => {
  expect((await dynamodb.send(new ListTablesCommand({}))).TableNames).toEqual([]);
});

test("an item is read back", async () => {
  await dynamodb.send(
    new CreateTableCommand({
      TableName: "Names",
      KeySchema: [{ AttributeName: "Name", KeyType: "HASH" }],
      AttributeDefinitions: [{ AttributeName: "Name", AttributeType: "S" }],
      BillingMode: "PAY_PER_REQUEST",
    }),
  );
  const Item = { Name: { S: "Ella" } };
  await dynamodb.send(new PutItemCommand({ TableName: "Names", Item }));
  expect((await dynamodb.send(new ScanCommand({ TableName: "Names" }))).Items).toEqual([Item]);
});
