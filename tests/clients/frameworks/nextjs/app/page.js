import { DynamoDBClient, ScanCommand } from "@aws-sdk/client-dynamodb";

export const dynamic = "force-dynamic";

export default async function Page() {
  const { Items } = await new DynamoDBClient({}).send(new ScanCommand({ TableName: "orders" }));
  return <p>{`orders: ${Items.map((each) => each.id.S).sort().join(", ")}`}</p>;
}
