"use strict";
// Finds Faradisc, starts servers in memory, and gives each test file an empty one.

const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const http = require("node:http");
const os = require("node:os");
const path = require("node:path");

const POLL_MS = 10;
const STOP_MS = 10_000;
const SERVICES = ["DYNAMODB", "DYNAMODB_STREAMS", "APPLICATION_AUTO_SCALING", "CLOUDWATCH"];

/** Returns the words of the command: FARADISC_BIN, `faradisc` on the PATH, or `python -m faradisc`. Throws Error. */
function findCommand(environment = process.env) {
  if (environment.FARADISC_BIN) {
    if (!fs.existsSync(environment.FARADISC_BIN)) throw new Error(`FARADISC_BIN is ${environment.FARADISC_BIN}, which does not exist`);
    return [path.resolve(environment.FARADISC_BIN)];
  }
  const suffix = process.platform === "win32" ? ".exe" : "";
  const folders = (environment.PATH ?? environment.Path ?? "").split(path.delimiter).filter(Boolean);
  const onPath = (name) => folders.map((folder) => path.join(folder, name + suffix)).find((file) => fs.existsSync(file));
  const program = onPath("faradisc");
  if (program) return [program];
  for (const python of ["python3", "python"].map(onPath).filter(Boolean)) {
    try {
      execFileSync(python, ["-c", "import faradisc"], { stdio: "ignore", env: environment });
      return [python, "-m", "faradisc"];
    } catch {
      // This interpreter does not have it.
    }
  }
  throw new Error("faradisc was not found: pip install faradisc, or set FARADISC_BIN to the program");
}

/** Starts a server in memory on a free port. Rejects, with the server's output, if it ends before it is ready. */
async function startServer({ options = [], environment = process.env } = {}) {
  const [program, ...words] = findCommand(environment);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "faradisc-"));
  const portFile = path.join(folder, "port");
  const log = fs.openSync(path.join(folder, "log"), "w+");
  const child = spawn(program, [...words, "serve", "--memory", "--port", "0", "--port-file", portFile, ...options], {
    stdio: ["ignore", log, log],
    env: environment,
  });
  let failure = null;
  const ended = new Promise((resolve) => {
    child.once("error", (error) => resolve((failure = error.message)));
    child.once("exit", (code, signal) => resolve((failure = `it ended with ${signal ?? code}`)));
  });
  const clean = () => {
    fs.closeSync(log);
    fs.rmSync(folder, { recursive: true, force: true });
  };
  // The server writes the file, in one step, when it is ready.
  while (failure === null && !fs.existsSync(portFile)) await new Promise((next) => setTimeout(next, POLL_MS));
  if (failure !== null) {
    const output = fs.readFileSync(path.join(folder, "log"), "utf8");
    clean();
    throw new Error(`faradisc is not ready: ${failure}\n${output}`);
  }
  const url = `http://127.0.0.1:${fs.readFileSync(portFile, "utf8").trim()}`;
  return {
    url,
    reset: () => post(`${url}/_faradisc/reset`),
    stop: async () => {
      const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
      child.kill("SIGTERM");
      await ended;
      clearTimeout(timer);
      clean();
    },
  };
}

/** Sends an empty JSON document; returns the JSON that is answered. Not by fetch: Jest's jsdom has none. */
function post(url) {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method: "POST", headers: { "Content-Type": "application/json" }, agent: false });
    request.once("error", reject);
    request.once("response", async (response) => {
      try {
        let text = "";
        for await (const piece of response.setEncoding("utf8")) text += piece;
        const document = JSON.parse(text);
        if (response.statusCode === 200) resolve(document);
        else reject(new Error(document.error));
      } catch (error) {
        reject(error);
      }
    });
    request.end("{}");
  });
}

/**
 * Starts what gives out servers, one for each worker of the test runner, and sets FARADISC_POOL to its address.
 * A worker's server starts with its first test file, and is emptied for each later one.
 */
async function startPool(settings = {}) {
  const servers = new Map();
  const broker = http.createServer(async (request, response) => {
    const worker = request.url;
    try {
      if (servers.has(worker)) await (await servers.get(worker)).reset();
      else servers.set(worker, startServer(settings));
      response.end(JSON.stringify({ url: (await servers.get(worker)).url }));
    } catch (error) {
      servers.delete(worker);
      response.writeHead(500).end(JSON.stringify({ error: error.message }));
    }
  });
  await new Promise((listening) => broker.listen(0, "127.0.0.1", listening));
  process.env.FARADISC_POOL = `http://127.0.0.1:${broker.address().port}`;
  return {
    url: process.env.FARADISC_POOL,
    stop: async () => {
      delete process.env.FARADISC_POOL;
      await new Promise((closed) => broker.close(closed));
      const started = await Promise.allSettled(servers.values());
      await Promise.all(started.map((each) => each.value?.stop()));
    },
  };
}

/** Returns the address of an empty database for one test file, and sets the environment of the AWS SDK to it. */
async function freshDatabase(worker = process.env.VITEST_POOL_ID ?? process.env.JEST_WORKER_ID ?? "1") {
  if (!process.env.FARADISC_POOL) throw new Error("the global set-up of faradisc is missing in the configuration");
  const { url } = await post(`${process.env.FARADISC_POOL}/${worker}`);
  for (const service of SERVICES) process.env[`AWS_ENDPOINT_URL_${service}`] = url;
  process.env.AWS_REGION ??= "us-east-1";
  process.env.AWS_ACCESS_KEY_ID ??= "test";
  process.env.AWS_SECRET_ACCESS_KEY ??= "test";
  return url;
}

module.exports = { findCommand, startServer, startPool, freshDatabase };
