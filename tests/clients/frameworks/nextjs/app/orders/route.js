import { DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";

const client = new DynamoDBClient({});

export async function POST(request) {
  const { id } = await request.json();
  await client.send(new PutItemCommand({ TableName: "orders", Item: { id: { S: id } } }));
  return Response.json({ stored: id }, { status: 201 });
}
