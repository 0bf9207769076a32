// The AWS SDK for JavaScript v3, unchanged, against the server in ENDPOINT. Prints one JSON object of findings.
import {
  ConditionalCheckFailedException,
  CreateTableCommand,
  DeleteTableCommand,
  DynamoDBClient,
  ExecuteStatementCommand,
  paginateListTables,
  TransactionCanceledException,
  waitUntilTableExists,
  waitUntilTableNotExists,
} from "@aws-sdk/client-dynamodb";
import { DescribeStreamCommand, DynamoDBStreamsClient, GetRecordsCommand, GetShardIteratorCommand }
  from "@aws-sdk/client-dynamodb-streams";
import {
  BatchGetCommand,
  BatchWriteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  paginateQuery,
  paginateScan,
  PutCommand,
  TransactWriteCommand,
  UpdateCommand,
} from "@aws-sdk/lib-dynamodb";

const settings = {
  endpoint: process.env.ENDPOINT,
  region: "eu-central-1",
  credentials: { accessKeyId: "tour", secretAccessKey: "tour" },
};
const client = new DynamoDBClient(settings);
const documents = DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });
const TableName = "Tour.JavaScript";
const found = {};

await client.send(new CreateTableCommand({
  TableName,
  BillingMode: "PAY_PER_REQUEST",
  KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }, { AttributeName: "sk", KeyType: "RANGE" }],
  AttributeDefinitions: [
    { AttributeName: "pk", AttributeType: "S" },
    { AttributeName: "sk", AttributeType: "N" },
    { AttributeName: "kind", AttributeType: "S" },
  ],
  GlobalSecondaryIndexes: [{
    IndexName: "by-kind",
    KeySchema: [{ AttributeName: "kind", KeyType: "HASH" }, { AttributeName: "sk", KeyType: "RANGE" }],
    Projection: { ProjectionType: "ALL" },
  }],
  StreamSpecification: { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" },
}));
const waited = await waitUntilTableExists({ client, maxWaitTime: 30 }, { TableName });
found.waiter = waited.state;
const streamArn = waited.reason.Table.LatestStreamArn;

const item = {
  pk: "a", sk: 1, kind: "even", text: "größe ☃", bytes: new Uint8Array([0, 255, 7]), yes: true, nothing: null,
  list: [1, "two", { three: 3 }], set: new Set(["x", "y"]), numbers: new Set([1, 2.5]), big: 12345678901234567890n,
};
await documents.send(new PutCommand({ TableName, Item: item }));
const got = (await documents.send(new GetCommand({ TableName, Key: { pk: "a", sk: 1 } }))).Item;
found.roundTrip = got.text === item.text && [...got.bytes].join() === "0,255,7" && got.list[2].three === 3
  && got.set.has("y") && got.numbers.has(2.5) && got.nothing === null && got.big === item.big;

await documents.send(new BatchWriteCommand({
  RequestItems: {
    [TableName]: Array.from({ length: 20 }, (_, i) => ({
      PutRequest: { Item: { pk: "b", sk: i, kind: i % 2 ? "odd" : "even" } },
    })),
  },
}));
const batch = await documents.send(new BatchGetCommand({
  RequestItems: { [TableName]: { Keys: [{ pk: "b", sk: 3 }, { pk: "b", sk: 99 }] } },
}));
found.batch = batch.Responses[TableName].length;

let pages = 0, queried = 0;
for await (const page of paginateQuery({ client: documents, pageSize: 3 }, {
  TableName,
  IndexName: "by-kind",
  KeyConditionExpression: "kind = :k",
  ExpressionAttributeValues: { ":k": "odd" },
})) { pages += 1; queried += page.Count; }
found.query = [pages, queried];
let scanned = 0;
for await (const page of paginateScan({ client: documents, pageSize: 7 }, { TableName })) scanned += page.Count;
found.scan = scanned;

const updated = await documents.send(new UpdateCommand({
  TableName,
  Key: { pk: "a", sk: 1 },
  UpdateExpression: "SET #l[3] = :x ADD hits :one",
  ExpressionAttributeNames: { "#l": "list" },
  ExpressionAttributeValues: { ":x": "four", ":one": 1 },
  ReturnValues: "UPDATED_NEW",
}));
found.update = [updated.Attributes.hits, updated.Attributes.list];
try {
  await documents.send(new PutCommand({
    TableName,
    Item: { pk: "a", sk: 1 },
    ConditionExpression: "attribute_not_exists(pk)",
    ReturnValuesOnConditionCheckFailure: "ALL_OLD",
  }));
} catch (error) {
  found.condition = [error instanceof ConditionalCheckFailedException, error.Item.kind.S, error.message];
}
try {
  await documents.send(new TransactWriteCommand({
    TransactItems: [
      { Put: { TableName, Item: { pk: "t", sk: 1 } } },
      { ConditionCheck: { TableName, Key: { pk: "no", sk: 1 }, ConditionExpression: "attribute_exists(pk)" } },
    ],
  }));
} catch (error) {
  found.transaction = [error instanceof TransactionCanceledException, error.CancellationReasons.map((r) => r.Code)];
}
const selected = await client.send(new ExecuteStatementCommand({
  Statement: `SELECT kind FROM "${TableName}" WHERE pk = ? AND sk = ?`,
  Parameters: [{ S: "b" }, { N: "4" }],
}));
found.partiql = selected.Items[0].kind.S;

const streams = new DynamoDBStreamsClient(settings);
const { StreamDescription } = await streams.send(new DescribeStreamCommand({ StreamArn: streamArn }));
let records = 0;
for (const shard of StreamDescription.Shards) {
  const { ShardIterator } = await streams.send(new GetShardIteratorCommand({
    StreamArn: streamArn, ShardId: shard.ShardId, ShardIteratorType: "TRIM_HORIZON",
  }));
  records += (await streams.send(new GetRecordsCommand({ ShardIterator }))).Records.length;
}
found.records = records;

found.tables = [];
for await (const page of paginateListTables({ client, pageSize: 1 }, {})) found.tables.push(...page.TableNames);
await client.send(new DeleteTableCommand({ TableName }));
found.deleted = (await waitUntilTableNotExists({ client, maxWaitTime: 30 }, { TableName })).state;
console.log(JSON.stringify(found));
