// The tests that the package of OneTable carries (those of its metrics, compiled), unchanged, against the server in
// ENDPOINT. They expect the globals of Jest and of their own setup, which starts another database; `node:test` runs
// them here, with the assertions of Jest. Prints TAP.
const fs = require("node:fs");
const path = require("node:path");
const { after, test } = require("node:test");
const { CreateTableCommand, DeleteTableCommand, DynamoDBClient } = require("@aws-sdk/client-dynamodb");
const { expect } = require("expect");

const TableName = "CustomMetrics";
const client = new DynamoDBClient({
  endpoint: process.env.ENDPOINT,
  region: "eu-central-1",
  credentials: { accessKeyId: "tour", secretAccessKey: "tour" },
});
Object.assign(globalThis, { test, expect, jest: { setTimeout() {} }, DynamoDBClient: client, TableName });

async function main() {
  await client.send(new CreateTableCommand({
    TableName,
    BillingMode: "PAY_PER_REQUEST",
    KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }, { AttributeName: "sk", KeyType: "RANGE" }],
    AttributeDefinitions: ["pk", "sk"].map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
  }));
  after(() => client.send(new DeleteTableCommand({ TableName })));
  const folder = path.join(path.dirname(require.resolve("dynamodb-onetable")), "metrics", "test");
  for (const name of fs.readdirSync(folder).filter((file) => file.endsWith(".js"))) {
    require(path.join(folder, name));
  }
}

main();
