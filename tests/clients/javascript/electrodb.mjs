// ElectroDB, unchanged, against the server in ENDPOINT. Prints one JSON object of findings.
import { CreateTableCommand, DeleteTableCommand, DynamoDBClient, waitUntilTableExists, waitUntilTableNotExists }
  from "@aws-sdk/client-dynamodb";
import electrodb from "electrodb";

const { Entity, Service, createConversions } = electrodb;
const client = new DynamoDBClient({
  endpoint: process.env.ENDPOINT,
  region: "eu-central-1",
  credentials: { accessKeyId: "tour", secretAccessKey: "tour" },
});
const table = "Tour.ElectroDB";
const found = {};

const keys = ["pk", "sk", "gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk"];
const index = (name) => ({
  IndexName: name,
  KeySchema: [{ AttributeName: `${name}pk`, KeyType: "HASH" }, { AttributeName: `${name}sk`, KeyType: "RANGE" }],
  Projection: { ProjectionType: "ALL" },
});
await client.send(new CreateTableCommand({
  TableName: table,
  BillingMode: "PAY_PER_REQUEST",
  KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }, { AttributeName: "sk", KeyType: "RANGE" }],
  AttributeDefinitions: keys.map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
  GlobalSecondaryIndexes: [index("gsi1"), index("gsi2")],
}));
await waitUntilTableExists({ client, maxWaitTime: 30 }, { TableName: table });

const employee = new Entity({
  model: { entity: "employee", version: "1", service: "office" },
  attributes: {
    employee: { type: "string", required: true },
    team: { type: "string", required: true },
    office: { type: "string", required: true },
    salary: { type: "number", required: true },
    skills: { type: "set", items: "string" },
    history: {
      type: "list", items: { type: "map", properties: { role: { type: "string" }, year: { type: "number" } } },
    },
    address: { type: "map", properties: { city: { type: "string" }, code: { type: "string" } } },
    joined: { type: "string", default: () => "2026-01-01", readOnly: true },
  },
  indexes: {
    employee: { pk: { field: "pk", composite: ["employee"] }, sk: { field: "sk", composite: [] } },
    coworkers: {
      index: "gsi1", collection: "workplace",
      pk: { field: "gsi1pk", composite: ["office"] }, sk: { field: "gsi1sk", composite: ["team", "employee"] },
    },
    teams: {
      index: "gsi2", collection: "assignments",
      pk: { field: "gsi2pk", composite: ["employee"] }, sk: { field: "gsi2sk", composite: [] },
    },
  },
}, { client, table });
const task = new Entity({
  model: { entity: "task", version: "1", service: "office" },
  attributes: {
    task: { type: "string", required: true },
    project: { type: "string", required: true },
    employee: { type: "string", required: true },
    office: { type: "string", required: true },
    points: { type: "number", default: 1 },
    status: { type: ["open", "closed"], default: "open" },
  },
  indexes: {
    task: { pk: { field: "pk", composite: ["project"] }, sk: { field: "sk", composite: ["task"] } },
    workplace: {
      index: "gsi1", collection: "workplace",
      pk: { field: "gsi1pk", composite: ["office"] }, sk: { field: "gsi1sk", composite: ["project", "task"] },
    },
    assigned: {
      index: "gsi2", collection: "assignments",
      pk: { field: "gsi2pk", composite: ["employee"] }, sk: { field: "gsi2sk", composite: ["project", "task"] },
    },
  },
}, { client, table });
const office = new Service({ employee, task }, { client, table });

const failure = async (work) => {
  try {
    await work();
    return null;
  } catch (error) {
    return [error.code, error.cause.name];
  }
};

const ada = {
  employee: "ada", team: "engines", office: "london", salary: 10, skills: ["code", "poetry"],
  history: [{ role: "intern", year: 1 }], address: { city: "größe ☃", code: "W1" },
};
found.create = (await employee.create(ada).go()).data.joined;
found.createAgain = await failure(() => employee.create(ada).go());
const got = (await employee.get({ employee: "ada" }).go({ consistent: true })).data;
found.roundTrip = got.address.city === ada.address.city && [...got.skills].sort().join() === "code,poetry"
  && got.history[0].year === 1;
found.missing = (await employee.get({ employee: "none" }).go()).data;

await employee.put(["bob", "cyd"].map((name, i) =>
  ({ employee: name, team: "looms", office: "london", salary: 20 + i }))).go();
const batch = await employee.get([{ employee: "ada" }, { employee: "cyd" }, { employee: "none" }]).go();
found.batch = [batch.data.map((item) => item.employee).sort(), batch.unprocessed.length];
const written = await task.put(Array.from({ length: 30 }, (_, i) => ({
  task: String(i).padStart(2, "0"), project: "p", employee: i % 2 ? "ada" : "bob", office: "london", points: i,
}))).go();
found.batchWrite = written.unprocessed.length;

found.query = (await task.query.task({ project: "p" }).gte({ task: "27" }).go()).data.map((item) => item.task);
found.between = (await task.query.task({ project: "p" }).between({ task: "03" }, { task: "05" }).go({ order: "desc" }))
  .data.map((item) => item.task);
found.begins = (await task.query.task({ project: "p" }).begins({ task: "1" }).go()).data.length;
found.where = (await task.query.assigned({ employee: "ada" })
  .where(({ points, status }, { gt, eq }) => `${gt(points, 20)} AND ${eq(status, "open")}`).go({ pages: "all" }))
  .data.map((item) => item.points);
let cursor = null, pages = 0, paged = 0;
do {
  const page = await task.query.task({ project: "p" }).go({ limit: 7, cursor });
  cursor = page.cursor;
  pages += 1;
  paged += page.data.length;
} while (cursor !== null);
found.pages = [pages, paged];
found.count = (await task.query.task({ project: "p" }).go({ count: 13 })).data.length;
found.attributes = (await employee.get({ employee: "bob" }).go({ attributes: ["salary"] })).data;
const conversions = createConversions(task);
const composite = { project: "p", task: "12" };
const resumed = await task.query.task({ project: "p" })
  .go({ cursor: conversions.fromComposite.toCursor({ ...composite, employee: "bob", office: "london" }), limit: 1 });
found.resumed = resumed.data.map((item) => item.task);

found.update = (await employee.update({ employee: "ada" }).set({ team: "looms" })
  .add({ salary: 5, skills: ["chess"] }).append({ history: [{ role: "lead", year: 2 }] })
  .data(({ address }, { set }) => set(address.code, "W2")).composite({ office: "london" })
  .go({ response: "all_new" })).data;
found.update.skills = [...found.update.skills].sort();
found.remove = (await employee.update({ employee: "ada" }).remove(["address"]).delete({ skills: ["poetry"] })
  .go({ response: "updated_old" })).data.address.code;
found.moved = (await employee.query.coworkers({ office: "london", team: "looms" }).go()).data
  .map((item) => item.employee);
found.patchMissing = await failure(() => employee.patch({ employee: "none" }).add({ salary: 1 })
  .composite({ employee: "none" }).go());
found.conditional = await failure(() => task.patch(composite).set({ status: "closed" })
  .where(({ points }, { lt }) => lt(points, 3)).go());
const upserted = { task: "new", project: "q", employee: "cyd", office: "paris" };
await task.upsert(upserted).add({ points: 3 }).go();
found.upsert = (await task.upsert(upserted).add({ points: 4 }).go({ response: "all_new" })).data.points;
found.ifNotExists = (await task.upsert(upserted).ifNotExists({ status: "closed" }).go({ response: "all_new" }))
  .data.status;

const workplace = await office.collections.workplace({ office: "london" }).go({ pages: "all" });
found.collection = [workplace.data.employee.length, workplace.data.task.length];
const assignments = await office.collections.assignments({ employee: "bob" })
  .where(({ points }, { gte }) => gte(points, 24)).go({ pages: "all" });
found.filteredCollection = [assignments.data.employee.length, assignments.data.task.map((item) => item.points)];

found.transaction = (await office.transaction.write(({ employee, task }) => [
  employee.create({ employee: "dan", team: "looms", office: "paris", salary: 1 }).commit(),
  task.patch(composite).set({ status: "closed" }).commit(),
  task.delete({ project: "p", task: "29" }).commit(),
  employee.check({ employee: "bob" }).where(({ salary }, { eq }) => eq(salary, 20)).commit(),
]).go()).canceled;
const refused = await office.transaction.write(({ employee, task }) => [
  employee.create({ employee: "dan", team: "looms", office: "paris", salary: 2 }).commit({ response: "all_old" }),
  task.delete({ project: "p", task: "28" }).commit(),
]).go();
found.canceled = [
  refused.canceled, refused.data.map((item) => [item.rejected, item.code]), refused.data[0].item.salary,
];
found.transactionGet = (await office.transaction.get(({ employee, task }) => [
  employee.get({ employee: "dan" }).commit(),
  task.get(composite).commit(),
  task.get({ project: "p", task: "29" }).commit(),
]).go()).data.map(({ item }) => item && (item.salary ?? item.status));

const employees = await employee.scan.go({ pages: "all" });
const tasks = await task.scan.go({ pages: "all" });
found.scan = [employees.data.length, tasks.data.length];
found.match = (await task.match({ employee: "cyd" }).go()).data.map((item) => item.task);
found.delete = (await task.delete({ project: "p", task: "28" }).go({ response: "all_old" })).data.points;
found.removeMissing = await failure(() => task.remove({ project: "p", task: "28" }).go());

await client.send(new DeleteTableCommand({ TableName: table }));
found.deleted = (await waitUntilTableNotExists({ client, maxWaitTime: 30 }, { TableName: table })).state;
console.log(JSON.stringify(found));
