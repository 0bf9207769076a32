const { CreateTableCommand, DynamoDBClient, GetItemCommand, PutItemCommand } = require("@aws-sdk/client-dynamodb");

test("an item is read back", async () => {
  const dynamodb = new DynamoDBClient({});
  await dynamodb.send(
    new CreateTableCommand({
      TableName: "Music",
      KeySchema: [{ AttributeName: "Artist", KeyType: "HASH" }],
      AttributeDefinitions: [{ AttributeName: "Artist", AttributeType: "S" }],
      BillingMode: "PAY_PER_REQUEST",
    }),
  );
  const Item = { Artist: { S: "Ella Fitzgerald" }, Songs: { N: "1" } };
  await dynamodb.send(new PutItemCommand({ TableName: "Music", Item }));
  const Key = { Artist: Item.Artist };
  expect((await dynamodb.send(new GetItemCommand({ TableName: "Music", Key }))).Item).toEqual(Item);
});
