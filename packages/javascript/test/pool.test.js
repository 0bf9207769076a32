"use strict";
const assert = require("node:assert");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { after, before, test } = require("node:test");
const { findCommand, freshDatabase, startPool, startServer } = require("../index.js");

let pool;
before(async () => (pool = await startPool()));
after(() => pool.stop());

/** Calls an operation of DynamoDB without an SDK. */
async function call(url, operation, document) {
  const answer = await fetch(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/x-amz-json-1.0",
      "X-Amz-Target": `DynamoDB_20120810.${operation}`,
      Authorization: "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
      "X-Amz-Date": "20260101T000000Z",
    },
    body: JSON.stringify(document),
  });
  const body = await answer.json();
  assert.strictEqual(answer.status, 200, JSON.stringify(body));
  return body;
}

const MUSIC = {
  TableName: "Music",
  KeySchema: [{ AttributeName: "Artist", KeyType: "HASH" }],
  AttributeDefinitions: [{ AttributeName: "Artist", AttributeType: "S" }],
  BillingMode: "PAY_PER_REQUEST",
};

test("a worker has one server, which is empty for each file", async () => {
  const url = await freshDatabase("1");
  assert.strictEqual(process.env.AWS_ENDPOINT_URL_DYNAMODB, url);
  await call(url, "CreateTable", MUSIC);
  assert.deepStrictEqual((await call(url, "ListTables", {})).TableNames, ["Music"]);
  assert.strictEqual(await freshDatabase("1"), url);
  assert.deepStrictEqual((await call(url, "ListTables", {})).TableNames, []);
});

test("workers do not see each other's tables", async () => {
  const urls = await Promise.all(["2", "3"].map(freshDatabase));
  assert.notStrictEqual(urls[0], urls[1]);
  await call(urls[0], "CreateTable", MUSIC);
  assert.deepStrictEqual((await call(urls[1], "ListTables", {})).TableNames, []);
});

test("a server stops", async () => {
  const server = await startServer();
  await server.stop();
  await assert.rejects(fetch(server.url));
});

test("an option that is wrong is reported with the server's words", async () => {
  await assert.rejects(startServer({ options: ["--throughput", "much"] }), /not ready: it ended with 2\n.*much/s);
});

test("FARADISC_BIN comes before the PATH, which comes before Python", () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "faradisc-test-"));
  try {
    const program = path.join(folder, process.platform === "win32" ? "faradisc.exe" : "faradisc");
    assert.throws(() => findCommand({ PATH: folder }), /pip install faradisc/);
    assert.throws(() => findCommand({ PATH: folder, FARADISC_BIN: program }), /does not exist/);
    fs.writeFileSync(program, "");
    assert.deepStrictEqual(findCommand({ PATH: folder }), [program]);
    const other = path.join(folder, "other");
    fs.writeFileSync(other, "");
    assert.deepStrictEqual(findCommand({ PATH: folder, FARADISC_BIN: other }), [other]);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});

test("an interpreter that has the package runs it", { skip: process.platform === "win32" }, () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "faradisc-test-"));
  try {
    const python = path.join(folder, "python3");
    fs.writeFileSync(python, "#!/bin/sh\n[ \"$2\" = 'import faradisc' ]\n", { mode: 0o755 });
    execFileSync(python, ["-c", "import faradisc"]);
    assert.deepStrictEqual(findCommand({ PATH: folder }), [python, "-m", "faradisc"]);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});
