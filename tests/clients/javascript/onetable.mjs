// OneTable, unchanged, against the server in ENDPOINT. Prints one JSON object of findings.
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Table } from "dynamodb-onetable";

const client = new DynamoDBClient({
  endpoint: process.env.ENDPOINT,
  region: "eu-central-1",
  credentials: { accessKeyId: "tour", secretAccessKey: "tour" },
});
const schema = {
  format: "onetable:1.1.0",
  version: "0.0.1",
  indexes: {
    primary: { hash: "pk", sort: "sk" },
    gs1: { hash: "gs1pk", sort: "gs1sk", project: "keys", follow: true },
    gs2: { hash: "gs2pk", sort: "gs2sk" },
    ls1: { type: "local", sort: "rank" },
  },
  models: {
    Account: {
      pk: { type: String, value: "account#${id}" },
      sk: { type: String, value: "account#" },
      id: { type: String, generate: "ulid", validate: /^[0-9A-Z]{26}$/ },
      name: { type: String, required: true, unique: true },
      status: { type: String, default: "active" },
    },
    User: {
      pk: { type: String, value: "account#${account}" },
      sk: { type: String, value: "user#${email}" },
      gs1pk: { type: String, value: "email#${email}" },
      gs1sk: { type: String, value: "user#" },
      gs2pk: { type: String, value: "role#${role}" },
      gs2sk: { type: String, value: "user#${email}" },
      rank: { type: String },
      account: { type: String, required: true },
      email: { type: String, required: true },
      login: { type: String, unique: true, scope: "${account}" },
      role: { type: String, enum: ["user", "admin"], required: true, default: "user" },
      balance: { type: Number, default: 0 },
      born: { type: Date },
      photo: { type: "binary" },
      tags: { type: Set },
      phones: { type: Array },
      secret: { type: String, crypt: true },
      address: { type: Object, schema: { city: { type: String }, code: { type: String, map: "zip" } } },
    },
  },
  queries: {},
  params: { isoDates: true, timestamps: true },
};
const table = new Table({
  client, name: "Tour.OneTable", schema, partial: true, logger: false,
  crypto: { primary: { cipher: "aes-256-gcm", password: "16719023772912837917" } },
});
const Account = table.getModel("Account");
const User = table.getModel("User");
const found = {};

const failure = async (work) => {
  try {
    await work();
    return null;
  } catch (error) {
    return [error.name, error.code];
  }
};

await table.createTable({ wait: 30 });
found.exists = await table.exists();
const described = (await table.describeTable()).Table;
found.indexes = [
  described.GlobalSecondaryIndexes.map((index) => [index.IndexName, index.Projection.ProjectionType]).sort(),
  described.LocalSecondaryIndexes.map((index) => index.IndexName),
];
await table.saveSchema();
found.schema = (await table.readSchema()).version;

// Unique attributes: an item of its own each, written in one transaction with the item.
const account = await Account.create({ name: "Acme" });
found.created = account.id.length === 26 && account.created instanceof Date && account.status === "active";
found.unique = await failure(() => Account.create({ name: "Acme" }));
const other = await Account.create({ name: "Bolts" });
found.uniqueUpdate = await failure(() => Account.update({ id: other.id, name: "Acme" }));
found.renamed = (await Account.update({ id: account.id, name: "Acme 2" }, { return: "get" })).name;
found.nameIsFree = (await Account.create({ name: "Acme" })).name;
await Account.remove({ id: other.id });
found.freedByRemove = (await Account.create({ name: "Bolts" })).name;

const ada = {
  account: account.id, email: "ada@example.com", login: "ada", role: "admin", balance: 10.5, rank: "9",
  born: new Date("1815-12-10T00:00:00Z"), photo: new Uint8Array([0, 255, 7]), tags: new Set(["x", "y"]),
  phones: ["1", "2"], secret: "größe ☃", address: { city: "london", code: "W1" },
};
await User.create(ada);
found.again = await failure(() => User.create({ ...ada, login: "other" }));
found.scoped = [
  await failure(() => User.create({ account: account.id, email: "x@example.com", login: "ada" })),
  await failure(() => User.create({ account: other.id, email: "x@example.com", login: "ada" })),
];
const got = await User.get({ account: account.id, email: ada.email }, { consistent: true });
found.roundTrip = got.born.getTime() === ada.born.getTime() && Buffer.from(got.photo).equals(Buffer.from(ada.photo))
  && got.tags.has("y") && got.phones.join() === "1,2" && got.secret === ada.secret && got.address.code === "W1"
  && got.balance === 10.5;
const rawKey = { pk: `account#${account.id}`, sk: `user#${ada.email}` };
const raw = await table.getItem(rawKey, { hidden: true, parse: false });
found.raw = [raw._type.S, raw.born.S, raw.address.M.zip?.S, raw.secret.S === ada.secret];
found.missing = (await User.get({ account: account.id, email: "none@example.com" })) === undefined;

// A batch and the pages of a query, forwards and backwards.
const batch = {};
for (let i = 0; i < 20; i++) {
  const email = `user${String(i).padStart(2, "0")}@example.com`;
  await table.putItem({
    pk: `account#${account.id}`, sk: `user#${email}`, gs1pk: `email#${email}`, gs1sk: "user#", gs2pk: "role#user",
    gs2sk: `user#${email}`, _type: "User", account: account.id, email, role: "user", balance: i,
    rank: String.fromCharCode(116 - i),
  }, { batch, exists: null });
}
found.batchWrite = await table.batchWrite(batch);
const reads = {};
for (const email of ["user03@example.com", "none@example.com", ada.email]) {
  await User.get({ account: account.id, email }, { batch: reads });
}
found.batchGet = (await table.batchGet(reads, { parse: true, hidden: false })).map((user) => user.email).sort();

let next, previous, pages = 0, emails = [];
do {
  const page = await User.find({ account: account.id }, { limit: 6, next });
  next = page.next;
  previous = page.prev ?? previous;
  pages += 1;
  emails = emails.concat(page.map((user) => user.email));
} while (next);
found.pages = [pages, emails.length, new Set(emails).size];
found.previous = (await User.find({ account: account.id }, { limit: 6, prev: previous })).length;
found.reverse = (await User.find({ account: account.id }, { limit: 2, reverse: true })).map((user) => user.email);
found.begins = (await User.find({ account: account.id, sk: { begins: "user#user1" } })).length;
found.between = (await User.find({ account: account.id, sk: { between: ["user#user03", "user#user06"] } }))
  .map((user) => user.balance);
found.where = (await User.find({ account: account.id },
  { where: "(${balance} > {17}) or (attribute_exists(${address.city}) and ${role} = {admin})" }))
  .map((user) => user.balance);
found.whereSubstitution = (await User.find({ account: account.id },
  { where: "${balance} IN (@{...values})", substitutions: { values: [3, 4, 99] } })).length;
found.count = (await User.find({ account: account.id, role: "user" }, { count: true })).count;
found.fields = Object.keys((await User.find({ account: account.id }, { limit: 1, fields: ["email", "balance"] }))[0]);
found.globalIndex = (await User.find({ role: "user", gs2sk: { begins: "user#user1" } },
  { index: "gs2", where: "${balance} >= {18}" })).map((user) => user.balance);
found.role = (await User.find({ gs2pk: "role#user" }, { index: "gs2", reverse: true, limit: 1 }))[0].email;
found.follow = (await User.get({ email: ada.email }, { index: "gs1", hidden: true })).balance;
found.localIndex = (await User.find({ account: account.id, rank: { ">=": "r" } }, { index: "ls1" }))
  .map((user) => user.balance);

// Updates and their conditions.
const key = { account: account.id, email: "user05@example.com" };
const updated = await User.update({ ...key, role: "admin" },
  { add: { balance: 2.5 }, push: { phones: ["3"] }, return: "get" });
found.update = [updated.balance, updated.phones, updated.role];
// An update of a part of a map: the map has to exist, and its other attributes stay.
found.noMap = await failure(() => User.update({ ...key, address: { city: "paris" } }));
const adaKey = { account: account.id, email: ada.email };
const changed = await User.update({ ...adaKey, address: { city: "paris" } },
  { set: { balance: "${balance} - {0.25}", "phones[0]": "{four}" }, remove: ["born"] });
found.nested = [changed.address, changed.balance, changed.phones, changed.born === undefined];
const untagged = await User.update(adaKey, { delete: { tags: new Set(["x"]) }, return: "get" });
found.tags = [...untagged.tags];
found.whereFailed = await failure(() => User.update(key, { add: { balance: 1 }, where: "${balance} > {100}" }));
found.updateMissing = await failure(() => User.update({ account: account.id, email: "none@example.com", balance: 1 }));
found.validation = await failure(() => User.create({ account: account.id, email: "y@example.com", role: "king" }));
const upserted = await User.upsert({ account: "elsewhere", email: "new@example.com", role: "admin", balance: 1 },
  { return: "get" });
found.upsert = [upserted.balance, upserted.created instanceof Date];

const transaction = {};
await Account.update({ id: account.id, status: "closed" }, { transaction, where: "${status} = {active}" });
await User.remove({ account: other.id, email: "x@example.com" }, { transaction });
await User.update({ ...key, balance: 100 }, { transaction });
await table.transact("write", transaction);
const refused = {};
await User.update({ ...key, balance: 200 }, { transaction: refused });
await Account.update({ id: account.id, status: "open" }, { transaction: refused, where: "${status} = {active}" });
found.canceled = await failure(() => table.transact("write", refused));
const snapshot = {};
await Account.get({ id: account.id }, { transaction: snapshot });
await User.get(key, { transaction: snapshot });
found.transactionGet = (await table.transact("get", snapshot, { parse: true, hidden: true }))
  .map((item) => item.status ?? item.balance);

const collection = await table.fetch(["Account", "User"], { pk: `account#${account.id}` });
found.collection = [collection.Account.length, collection.User.length];
let scanned = 0;
next = undefined;
do {
  const page = await User.scan({}, { limit: 10, next });
  next = page.next;
  scanned += page.length;
} while (next);
found.scan = scanned;
const segments = await Promise.all([0, 1, 2].map((segment) => User.scan({}, { segment, segments: 3 })));
found.segments = segments.flat().length;

found.removeOne = await failure(() => User.remove({ role: "user" }, { index: "gs2", fallback: true }));
await User.remove({ role: "user" }, { index: "gs2", many: true });
found.left = (await User.scan({})).map((user) => user.email).sort();
await table.deleteTable("DeleteTableForever");
found.deleted = !(await table.exists());
console.log(JSON.stringify(found));
