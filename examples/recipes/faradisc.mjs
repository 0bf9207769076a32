// Starts a server for tests and stops it. It needs uv, or a command in FARADISC_COMMAND, for example
// "docker run --rm -e FARADISC_TRUST_NETWORK=1 -p 127.0.0.1:8000:8000 faradisc" or ".venv/bin/faradisc". Copy this file; it is no package.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** Returns the server's address and a function that stops it. Sets the environment from which the SDK takes both. */
export async function startFaradisc(options = ["--memory", "--port", "0"]) {
  const [program, ...words] = (process.env.FARADISC_COMMAND ?? "uvx faradisc").split(" ");
  const server = spawn(program, [...words, "serve", ...options], { stdio: ["ignore", "pipe", "inherit"] });
  const url = await new Promise((resolve, reject) => {
    server.once("error", reject);
    server.once("exit", (code) => reject(new Error(`faradisc ended with ${code} before it was ready`)));
    createInterface({ input: server.stdout }).on("line", (line) => {
      const [word, address] = line.trim().split(/\s+/);
      if (word === "endpoint") resolve(address);
    });
  });
  process.env.AWS_ENDPOINT_URL_DYNAMODB = url;
  process.env.AWS_REGION ??= "us-east-1";
  process.env.AWS_ACCESS_KEY_ID ??= "test";
  process.env.AWS_SECRET_ACCESS_KEY ??= "test";
  const stop = () =>
    new Promise((stopped) => {
      server.once("exit", stopped);
      server.kill("SIGTERM");
    });
  return { url, stop };
}
